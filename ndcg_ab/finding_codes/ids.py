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
    "near_query": Code(
        "warning",
        "Some query ids of a ranking match no judgment. They would match without white space, case, leading zeros, a"
        " prefix or an ending.",
        "Spell them alike in both files. Until then the queries count as unanswered.",
    ),
    "unmatched_document": Code(
        "error",
        "Hardly any document that a system returns is judged, and another spelling of its ids would match; or none of"
        " many is judged.",
        "Spell document ids alike in the ranking and in the judgments. If both are right, and the system only returns"
        " unjudged documents, set the code to warning.",
    ),
    "no_judged_result": Code(
        "warning",
        "None of a system's few results is judged, so it scores 0 everywhere.",
        "Check the document ids. If they are right, judge some of its results.",
    ),
    "near_document": Code(
        "warning",
        "Some results near the top are unjudged. Their ids would match judged ones without white space, quotes, case,"
        " leading zeros, a prefix or an ending.",
        "Spell document ids alike in both files. The usual cause is a part of the collection that was indexed"
        " differently, or passage ids instead of document ids.",
    ),
    "unicode_form": Code(
        "error",
        "Ids of one file differ from those of another by their Unicode form alone, such as é as one character or two,"
        " so they do not match.",
        "Write the ids of all files in one form: the message has a command. If they are different ids, set the code to"
        " note.",
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
