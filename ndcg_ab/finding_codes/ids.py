"""Codes of findings about ids: those of one file that do not meet those of another."""

from collections.abc import Mapping

from ndcg_ab.finding_codes.code import Code

ID_CODES: Mapping[str, Code] = {
    "no_shared_query": Code(
        "error",
        "A system answers none of the judged queries: the query ids of the two files do not match.",
        "Spell query ids alike in both files; if possible, the message shows a change that makes them match.",
    ),
    "query_by_text": Code(
        "note",
        "Judgments or a ranking name queries by their texts. The file of queries has an id for (nearly) every text, and"
        " these ids take the place of the texts.",
        "Nothing.",
    ),
    "query_partly_by_text": Code(
        "warning",
        "Some query ids of judgments or of a ranking are texts of the file of queries, and others are not, or a text"
        " belongs to several queries. No text is replaced.",
        "Use ids for all queries, or complete the file of queries.",
    ),
    "id_spelling": Code(
        "error",
        "Ids of a ranking match those of the judgments (without judgments: of the first ranking) only in another"
        " spelling: Unicode form, percent and HTML escapes, spaces and quotes, case, http or https, '-' or '_', leading"
        " zeros, a prefix or a suffix. A warning if a tenth or more of them match as they are, unless the Unicode form"
        " is the only difference.",
        "Write the ids of all files in one spelling. The message has commands if they make the ids equal. If they are"
        " different ids, set the code to note.",
    ),
    "no_judged_result": Code(
        "error",
        "None of a system's results is judged, so it scores 0 everywhere. A warning if there are fewer than 50 results,"
        " or fewer than 5 queries.",
        "Check the document ids. If they are right, judge some of its results, or set the code to warning.",
    ),
    "queries_unmatched": Code(
        "warning",
        "The file of queries contains none of the judged queries, although slices or weights need it.",
        "Spell query ids alike in this file and in the judgments.",
    ),
    "intended_unknown": Code(
        "warning",
        "Some of the queries that the change was meant for are not judged (with scores: not scored). They are left"
        " out.",
        "Correct their ids, remove them, or judge them.",
    ),
    "unjudged_query": Code(
        "note",
        "A system answers queries that nobody judged. They are not scored.",
        "Nothing, if only a part of the queries was judged.",
    ),
}
