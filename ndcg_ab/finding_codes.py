"""Every code that a finding can have: its usual severity, what it means, what to do (docs/findings.md).

The one list of them: the checks name a code of it, the configuration refuses any other, the documentation has an entry
for each, and `ndcg-ab findings` prints them.
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import NamedTuple

SEVERITIES = ("error", "warning", "note", "ignore")  # as a configuration writes them


class Code(NamedTuple):
    """One kind of finding.

    severity: what it usually is; some are less where they can change little, and each entry says when. means: what was
    seen. advice: what to do. is_fixed: nothing could be computed in spite of it, so that it stays an error.
    """

    severity: str
    means: str
    advice: str
    is_fixed: bool = False


CODES: Mapping[str, Code] = {
    # ---- judgments
    "contradicting_judgment": Code(
        "error",
        "A document of one query is judged twice, with different grades.",
        "Decide which grade holds, and take the other line out of the judgments.",
        is_fixed=True,
    ),
    "refused_grade": Code(
        "error",
        "A grade is below 0 where a metric says negative = error, or above the max_grade that a metric names.",
        "Correct the grade, or choose another value of that choice.",
        is_fixed=True,
    ),
    "unknown_gain": Code(
        "error",
        "A gain table has no entry for a grade that occurs, or the gain of a grade is too large to add up.",
        "Add the grade to the table, or choose another gain.",
        is_fixed=True,
    ),
    "fractional_grade": Code(
        "error",
        "The configuration says that grades are integers (judgments: {grades: integer}), and some are not.",
        "Correct the grades, or take the key away where fractions are meant.",
    ),
    "negative_grade": Code(
        "note",
        "Some grades are below 0. They gain nothing; in condensed rankings they count as judged, unless a metric says"
        " negative = unjudged.",
        "Nothing, where such grades mark spam or what is not relevant; trec_eval without -J reads them alike.",
    ),
    "repeated_judgment": Code(
        "note",
        "A judgment is in the file more than once, with the same grade. It counts once.",
        "Look for the step that writes it twice, if the judgments are not pooled from several files.",
    ),
    "more_judgments": Code(
        "note",
        "What a later file of judgments changed: how many grades it adds, how many others it replaces by"
        " judgments_precedence, and how many stay as they were.",
        "Look at the examples where grades change that should not; judgments_precedence says which file counts.",
    ),
    "several_judges": Code(
        "note",
        "Documents are judged by several judges; where they disagree, `combine` says which grade counts.",
        "Look at how far they agree, and whether the verdict is the same under each of them, before relying on it.",
    ),
    "unsaid_grade": Code(
        "note",
        "A function that judges could not say the grade of a document that systems return and nobody else judges: it"
        " stays unjudged.",
        "Nothing, where they are few; else look at the examples: is their title or text missing?",
    ),
    "no_relevant_query": Code(
        "note",
        "A judged query has no grade above 0. no_relevant says what it scores; by default it is left out.",
        "Nothing; where there are many, judge deeper, because they can tell no system from another.",
    ),
    "nothing_counted": Code(
        "note",
        "A query has grades above 0, but none that the metric counts, because relevant_from or the gain leaves them"
        " out.",
        "Check relevant_from and the gain table against the scale of the grades.",
    ),
    "reversed_grades": Code(
        "warning",
        "No grade is 0 or below, and in every system lower grades stand above higher ones, far more often than chance"
        " would have it: 1 may be the best grade, or low scores the better ones.",
        "Where 1 is the best, give a gain to every grade, as `--metric 'ndcg(gain={1:3, 2:2, 3:1, 4:0})@10'`, or, for"
        " metrics that count relevant documents too, turn the grades: `awk '{$4 = 4 - $4} 1' FILE > NEW` for 1 to 4."
        " Where scores are distances, negate them.",
    ),
    # ---- ids
    "no_shared_query": Code(
        "error",
        "A system answers none of the judged queries: the query ids of the two files are different.",
        "Spell query ids alike in both; the message says what would make them meet, where that can be seen.",
    ),
    "near_query": Code(
        "warning",
        "Some queries of a ranking meet none of the judgments as they are spelt, and would if white space, case,"
        " leading zeros, a prefix or an ending were taken off.",
        "Spell them alike in both files. Until then the queries count as unanswered.",
    ),
    "unmatched_document": Code(
        "error",
        "Hardly any document that a system returns is judged, and another spelling of its ids would make them meet; or"
        " not one of many is judged.",
        "Spell document ids alike in the ranking and in the judgments. Where the two are right, and the system simply"
        " returns what nobody judged, set the code to warning.",
    ),
    "no_judged_result": Code(
        "warning",
        "Not one of a system's few results is judged, so that it scores 0 everywhere.",
        "Check the document ids. If they are right, judge some of its results.",
    ),
    "near_document": Code(
        "warning",
        "Some results near the top are unjudged as they are spelt, and would be judged if white space, quotes, case,"
        " zeros in front of a number, a prefix or an ending were taken off.",
        "Spell document ids alike in both files. A part of a collection that was indexed in another way, or a passage"
        " id in the place of a document id, is the usual cause.",
    ),
    "queries_unmatched": Code(
        "warning",
        "The file of queries names none of the judged queries, although slices or weights need it.",
        "Spell query ids alike in it and in the judgments.",
    ),
    "intended_unknown": Code(
        "warning",
        "Some of the queries that the change was meant for are not judged (of scores: not scored). They are left out.",
        "Correct their ids, take them out, or have them judged: the report on what was intended leaves them out.",
    ),
    "unjudged_query": Code(
        "note",
        "A system answers queries that nobody judged. They are not scored.",
        "Nothing, where only a part of the queries was judged.",
    ),
    # ---- on a cluster
    "rows_elsewhere": Code(
        "note",
        "Rows of judgments or rankings stay on a cluster. Every other check is made there. What needs their order, or"
        " all of them here, is not: rising_score, the line of an example, and whether a ranking that is there is a copy"
        " of one that is not (same_ranking). Prefixes and endings of ids (near_document) are weighed by 100 queries.",
        "Nothing.",
    ),
    # ---- which queries, how deep
    "unanswered_query": Code(
        "warning",
        "A system returned nothing for a judged query. unanswered says what that scores; by default 0.",
        "Find out whether it found nothing, or failed. A failed request is no answer of the ranker.",
    ),
    "unanswered_left_out": Code(
        "warning",
        "A metric says unanswered = exclude, and a system left queries unanswered: it gains by not answering what it is"
        " bad at.",
        "Compare with unanswered = zero as well, and look at the queries that both answered.",
    ),
    "failed_query": Code(
        "warning",
        "The place that a ranking comes from failed on a query, and allow_failed_queries let it pass. The query is"
        " missing for that system: it is neither unanswered nor 0, and no difference is taken on it.",
        "Look at the failure that the message quotes, and pull again.",
    ),
    "few_queries": Code(
        "warning",
        "A system answers far fewer queries than another one: less than 80 % as many.",
        "Look whether its file was cut, or its run ended early.",
    ),
    "different_depths": Code(
        "warning",
        "A system returns far fewer results than another one (less than 80 % of those that a metric looks at):"
        " typically, by the median, or in a tenth of the queries that it answers. The metric then compares depths, not"
        " orders.",
        "Pull the same number of results from all systems, or choose a cutoff that all of them reach.",
    ),
    "truncated_last_line": Code(
        "warning",
        "The last line of a file has no end, and looks cut (its tag is the beginning of the others'): the file may have"
        " been cut while it was written or copied.",
        "Compare its size or its number of lines with where it came from.",
    ),
    # ---- what a ranking says of its order
    "duplicate_document": Code(
        "error",
        "A document is twice in the ranking of one query, where it would gain twice. With duplicates = first in"
        " every metric the best placed of them counts, and it is a warning.",
        "Take the copies out where the ranking is made; two rankings written into one file are the usual cause.",
    ),
    "missing_rank": Code(
        "error",
        "A metric says ties = given, and a ranking has no ranks.",
        "Add the ranks, or choose another rule for ties.",
        is_fixed=True,
    ),
    "several_tags": Code(
        "warning",
        "A TREC file has more than one tag (its last column), although it should hold one system's ranking: two"
        " rankings may be in it, one after the other.",
        "Give each ranking a file and a system of its own.",
    ),
    "unread_rank": Code(
        "note",
        "A rank is no number. It is not used, because the scores decide.",
        "Nothing, where the ranks are not meant to decide.",
    ),
    "repeated_rank": Code(
        "warning",
        "Two results of a query have the same rank. Without scores their document ids decide the order; beside scores"
        " the ranks decide nothing, and repeated ones tell of two rankings in one file or of ranks that were never"
        " written.",
        "Number the results of each query 1, 2, 3 …, or leave the column of ranks out.",
    ),
    "rank_gap": Code(
        "warning",
        "The ranks of a query are not all there: they begin above 1, or some between the first and the last are"
        " missing. Results may have been lost, or filtered after they were ranked. It is a note where that is so in"
        " fewer than half of the queries.",
        "Look whether lines were lost, or only a later page of the results was kept.",
    ),
    "rank_below_one": Code(
        "note",
        "Ranks begin at 0, or below. Their order alone counts, so that nothing changes; it is a warning where some"
        " queries begin there and others at 1, or where a rank is below 0.",
        "Nothing, where the system counts from 0; else look at how the ranks are written.",
    ),
    "rank_disagrees": Code(
        "warning",
        "The rank column orders results otherwise than the scores do, within the places that a metric looks at. Scores"
        " decide; the message says what the metric would be by the ranks.",
        "Find out which of the two is right. Distances, of which the smallest is the best, are a usual cause: negate"
        " them. If the ranks are right, ask for the metric with ties = given.",
    ),
    "constant_score": Code(
        "warning",
        "All results of a query have the same score, so that document ids decide the whole order. It is a note where"
        " that is so in fewer than half of the queries.",
        "Write the scores that the system ranks by, or ranks without scores.",
    ),
    "rising_score": Code(
        "warning",
        "A ranking without ranks goes from its lowest score to its highest, in 9 of 10 queries with three results or"
        " more (and at least in three queries). Files usually begin with the best result, so that lower scores may be"
        " the better ones.",
        "Nothing, where the highest score is the best. Distances have to be negated.",
    ),
    "tied_places": Code(
        "warning",
        "Equal scores decide places that a metric looks at. The message says between which values their order could"
        " move the mean; where that is not more than 0.001 it is a note.",
        "Write scores with more digits, or ask for the expected value with ties = average.",
    ),
    # ---- systems beside each other
    "same_ranking": Code(
        "warning",
        "Two systems have the same content: the same documents with the same scores, in any order of rows and any file"
        " format. Every difference between them is 0.",
        "Look whether one file was given twice.",
    ),
    "few_judged": Code(
        "warning",
        "Less than 80 % of the results that a metric looks at have a judgment. The others count as not relevant, which"
        " may be untrue.",
        "Judge more of what the system returns, or ask for unjudged = condense beside it, and see whether the verdict"
        " holds.",
    ),
    "judged_differs": Code(
        "warning",
        "The share of judged results differs between two systems by 10 points or more. Unjudged results count as not"
        " relevant, so that the less judged system is at a disadvantage. One of ten results is where that can be as"
        " large as what is measured: if half of the unjudged were relevant, precision would move by 0.05.",
        "Judge what only the less judged system returns, or ask for unjudged = condense beside it, and see whether the"
        " verdict holds.",
    ),
    "labels_favour": Code(
        "warning",
        "A verdict favours the system that the labels came from: at least 5 points more of its results are judged than"
        " of the other system's, and without that lead the verdict does not hold, either because the interval on the"
        " queries judged fully for both does not show it, or that grades of unjudged results could turn it. Where"
        " the judgments name the favoured system as a source, and not the other one: without what it alone contributed"
        " the verdict is another one.",
        "Judge first what the other system alone shows, and compare again; until then take the verdict for one about"
        " the judgments.",
    ),
    "slices_disagree": Code(
        "warning",
        "The verdict over all queries and those of all tested slices contradict each other.",
        "Look at the slices before deciding.",
    ),
    "looks_clustered": Code(
        "warning",
        "Query ids come in groups (`106_1`, `106_2`, …) or queries repeat a text: turns of a conversation, variants of"
        " one query. As units of their own they make p-values too small and intervals too narrow.",
        "Name what they belong to: `--cluster COLUMN` of the queries, or `--cluster-prefix _` for ids (`cluster_prefix`"
        " under `statistics:`); or set the finding to `ignore` where they are independent.",
    ),
    "cheap_judgments": Code(
        "warning",
        "Something about the cheap judgments, which the message tells as it is told of judgments: ids that do not meet,"
        " queries that a system did not answer, grades below 0. Verdicts do not depend on them.",
        "Mend it where the corrected differences are to be used; a cheap grade that says nothing saves no judgments.",
    ),
    "careful_not_random": Code(
        "warning",
        "By the cheap judgments the systems do better or worse on the carefully judged queries than on the others: the"
        " careful ones are no random sample of all.",
        "Draw the queries for careful judgments at random from those that are judged cheaply; until then read the"
        " careful judgments alone, and nothing about all queries out of the corrected differences.",
    ),
    "one_heavy_query": Code(
        "warning",
        "In a slice, or among the queries that are scored, one query has all the weight: nothing can be tested there.",
        "Look at the weights; `--unweighted` (`weighted: false`) compares without them.",
    ),
    "not_asked": Code(
        "note",
        "A question that an evaluation usually answers was left out, since its rows are too many: what unjudged"
        " documents could do to the verdicts, or what changed in the first places.",
        "Ask for it (`statistics.bounds: true`, `--bounds`) where the verdict hangs on it, or judge more.",
    ),
    # ---- the configuration
    "plain_secret": Code(
        "warning",
        "The configuration holds what looks like a password, a token or a key in plain text. It is taken out of"
        " everything that is kept or shown.",
        "Name it by reference: {env: NAME}, {file: PATH} or {prefect: BLOCK}. Where it has been in a repository,"
        " replace it.",
    ),
    "large_difference": Code(
        "warning",
        "A margin, a smallest effect or a threshold is half of the largest difference that its metric can have, or"
        " more, so that next to nothing fails it or reaches it.",
        "Write it in the metric's unit: two points of a hundred are 0.02. Where it is meant, say so with"
        " `findings: {large_difference: ignore}`.",
    ),
    # ---- scores of another tool
    "scores_given": Code(
        "note",
        "Another tool computed the values. The documents behind them, the order of ties and what is judged are not"
        " known here, and a higher value counts as better.",
        "Nothing. Where a lower value is better, write -METRIC.",
    ),
    "negated_scores": Code(
        "note",
        "The signs of a metric's values were turned, because -METRIC says that lower is better.",
        "Nothing.",
    ),
    "missing_score": Code(
        "warning",
        "A system has no value for a query that another one has a value for. Differences are taken over the queries"
        " that both have, and a system may gain by what it leaves out.",
        "Find out why it is missing; where the system found nothing, its value is 0 and belongs in the file.",
    ),
    "mean_disagrees": Code(
        "warning",
        "The mean that a file gives for all queries is not that of its values per query.",
        "Look whether queries are missing in the file; trec_eval -c counts those that a ranking does not answer.",
    ),
    "rounded_scores": Code(
        "note",
        "Values were rounded before they were written, so that small differences are lost and a query may count as a"
        " tie.",
        "Have the tool write all digits.",
    ),
}


def unknown_code(code: str, known: Iterable[str] = CODES) -> str:
    """What is wrong with a code that nobody knows, with the nearest that there is."""
    near = get_close_matches(code, list(known), n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else "`ndcg-ab findings` prints them all"
    return f"{code!r}: is no code of a finding; {hint}"


def checked_severities(given: Mapping[str, str], added: Iterable[str] = ()) -> dict[str, str]:
    """code -> severity, as a configuration sets them; ValueError names what cannot be set. added: other codes."""
    for code, severity in given.items():
        if code not in CODES and code not in added:
            raise ValueError(unknown_code(str(code)))
        if severity not in SEVERITIES:
            raise ValueError(f"{code} = {severity!r}: must be one of {', '.join(SEVERITIES)}")
        if code in CODES and CODES[code].is_fixed and severity != "error":
            raise ValueError(f"{code} = {severity!r}: is always an error: nothing can be computed in spite of it")
    return dict(given)
