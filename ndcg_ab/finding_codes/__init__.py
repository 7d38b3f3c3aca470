"""Every code that a finding can have: its usual severity, what it means, what to do (docs/findings.md).

The one list of them: the checks name a code of it, the configuration refuses any other, the documentation has an entry
for each, and `ndcg-ab findings` prints them.
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from ndcg_ab.finding_codes.clicks import CLICK_CODES
from ndcg_ab.finding_codes.code import Code
from ndcg_ab.finding_codes.costs import COST_CODES
from ndcg_ab.finding_codes.documents import DOCUMENT_CODES
from ndcg_ab.finding_codes.draws import DRAW_CODES
from ndcg_ab.finding_codes.ids import ID_CODES

SEVERITIES = ("error", "warning", "note", "ignore")  # as a configuration writes them

CODES: Mapping[str, Code] = {
    # ---- judgments
    "contradicting_judgment": Code(
        "error",
        "A document of one query is judged twice, with different grades.",
        "Decide which grade is right, and remove the other line from the judgments.",
        is_fixed=True,
    ),
    "refused_grade": Code(
        "error",
        "A grade is below 0 and a metric has negative = error, or a grade is above the max_grade of a metric.",
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
        "The configuration requires integer grades (judgments: {grades: integer}), and some grades have fractions.",
        "Correct the grades, or remove the key if fractions are intended.",
    ),
    "negative_grade": Code(
        "note",
        "Some grades are below 0. They gain nothing. Condensed rankings treat them as judged, unless a metric has"
        " negative = unjudged.",
        "Nothing, if these grades mark spam or documents that are not relevant; trec_eval without -J treats them in"
        " the same way.",
    ),
    "repeated_judgment": Code(
        "note",
        "A judgment is in the file more than once, with the same grade. It counts once.",
        "If the judgments are not pooled from several files, look for the step that writes it twice.",
    ),
    "unrated_row": Code(
        "note",
        "A row of the judgments has no grade: its field is empty, or null. It is left out, so the document is"
        " unjudged.",
        "Nothing, if nobody judged these documents. If an empty field means not relevant, write 0.",
    ),
    "more_judgments": Code(
        "note",
        "A later file of judgments changed the judgments: the message counts the grades that it adds, those that it"
        " replaces by judgments_precedence, and those that stay.",
        "Look at the examples for grades that should not change; judgments_precedence chooses the file that counts.",
    ),
    "grade_off_scale": Code(
        "warning",
        "A later file of judgments has grades above or below all grades of the first file, so they change what the"
        " best ranking is worth.",
        "Correct the grades, or bring both files to one scale. If the scale is right, set the code to note.",
    ),
    "several_judges": Code(
        "note",
        "Documents are judged by several judges; if they disagree, `combine` chooses the grade.",
        "Before you rely on the verdict, check how far the judges agree, and whether the verdict is the same under"
        " each of them.",
    ),
    "unsaid_grade": Code(
        "note",
        "A function that judges returned no grade for a document that systems return and nobody else judges: it stays"
        " unjudged.",
        "Nothing, if they are few; else look at the examples: is their title or text missing?",
    ),
    "no_relevant_query": Code(
        "note",
        "A judged query has no grade above 0. no_relevant decides its value; by default it is left out.",
        "Nothing. If there are many, judge deeper: these queries cannot distinguish systems.",
    ),
    "nothing_counted": Code(
        "note",
        "A query has grades above 0, but the metric counts none of them, because of relevant_from or the gain.",
        "Check relevant_from and the gain table against the scale of the grades.",
    ),
    "reversed_grades": Code(
        "warning",
        "No grade is 0 or below, and in every system lower grades rank above higher ones, far more often than by"
        " chance: 1 may be the best grade, or low scores may be better.",
        "If 1 is the best grade, give every grade a gain, as in `--metric 'ndcg(gain={1:3, 2:2, 3:1, 4:0})@10'`. For"
        " metrics that count relevant documents, reverse the grades: `awk '{$4 = 4 - $4} 1' FILE > NEW` for 1 to 4. If"
        " scores are distances, negate them.",
    ),
    "nothing_scored": Code(
        "error",
        "A metric scores no query: no judged document has a grade that it counts. An error if none of them scores one.",
        "Check the grade column of the judgments, and the smallest grade that the metrics count (relevant_from).",
    ),
    "few_scored": Code(
        "warning",
        "A metric scores less than half of the judged queries: in the others no judged document has a grade that it"
        " counts, or no system answers.",
        "Check the grade column and relevant_from. If both are right, judge deeper, or more queries.",
    ),
    # ---- ids
    **ID_CODES,
    **CLICK_CODES,
    **DRAW_CODES,
    **COST_CODES,
    # ---- on a cluster
    "rows_elsewhere": Code(
        "note",
        "Rows of judgments or rankings stay on a cluster. Checks that need their order or all of them here are left"
        " out: rising_score, the line of an example, and whether a ranking there is a copy of a local one"
        " (same_ranking). All other checks run"
        " on the cluster.",
        "Nothing.",
    ),
    # ---- which queries, how deep
    "unanswered_query": Code(
        "warning",
        "A system returned nothing for a judged query. unanswered decides its value; by default 0.",
        "Find out whether it found nothing, or failed. A failed request is not an answer of the ranker.",
    ),
    "unanswered_left_out": Code(
        "warning",
        "A metric has unanswered = exclude, and a system left queries unanswered: it can gain by not answering hard"
        " queries.",
        "Compare with unanswered = zero as well, and look at the queries that both answered.",
    ),
    "failed_query": Code(
        "warning",
        "The source of a ranking failed on a query, and allow_failed_queries permitted it. The query is missing for"
        " that system: it counts neither as unanswered nor as 0, and has no difference.",
        "Look at the failure in the message, and pull again.",
    ),
    "few_queries": Code(
        "warning",
        "A system answers less than 80 % as many queries as another one.",
        "Check whether its file was cut, or its run ended early.",
    ),
    "different_depths": Code(
        "warning",
        "A system returns far fewer results than another one (less than 80 % of the results that a metric uses), by"
        " the median or in a tenth of the queries that it answers. The metric then compares depths, not orders.",
        "Pull the same number of results from all systems, or choose a cutoff that all of them reach.",
    ),
    "truncated_last_line": Code(
        "warning",
        "The last line of a file has no line end, and looks cut (its tag is the beginning of the others'): the file"
        " may have been cut while it was written or copied.",
        "Compare its size or its number of lines with the original.",
    ),
    # ---- what a ranking says of its order
    "duplicate_document": Code(
        "error",
        "A document is twice in the ranking of one query, where it would gain twice. With duplicates = first in every"
        " metric, only the best placed copy counts, and this is a warning.",
        "Remove the copies where the ranking is made; the usual cause is two rankings written into one file.",
    ),
    **DOCUMENT_CODES,
    "missing_rank": Code(
        "error",
        "A metric has ties = given, and a ranking has no ranks.",
        "Add the ranks, or choose another rule for ties.",
        is_fixed=True,
    ),
    "several_tags": Code(
        "warning",
        "A TREC file has more than one tag (its last column), although it should hold one system's ranking: it may"
        " contain two rankings.",
        "Put each ranking into a file of its own, and make it a system of its own.",
    ),
    "file_form": Code(
        "note",
        "A file has a form of another tool, or its columns have names of other tools: it was read by this form.",
        "Check that the form is right. If not, name the format and the columns: --format, --columns.",
    ),
    "comment_line": Code(
        "note",
        "A TREC file has lines that begin with #. Those that do not have the fields of a row are left out as comments.",
        "Nothing, if they are comments. A query id may begin with #: give its lines all fields of a row.",
    ),
    "unread_rank": Code(
        "note",
        "A rank is not a number. It is not used, because the scores decide.",
        "Nothing, if the ranks are not meant to decide.",
    ),
    "repeated_rank": Code(
        "warning",
        "Two results of a query have the same rank. Without scores, their document ids decide the order. With scores,"
        " ranks decide nothing; repeated ranks then suggest two rankings in one file, or ranks that were never"
        " written.",
        "Number the results of each query 1, 2, 3 …, or leave the column of ranks out.",
    ),
    "rank_gap": Code(
        "warning",
        "Some ranks of a query are missing: they begin above 1, or have gaps. Results may have been lost, or filtered"
        " after ranking. It is a note if this holds for fewer than half of the queries.",
        "Check whether lines were lost, or only a later page of the results was kept.",
    ),
    "rank_below_one": Code(
        "note",
        "Ranks begin at 0 or below. Only their order counts, so nothing changes. It is a warning if some queries"
        " begin there and others at 1, or if a rank is below 0.",
        "Nothing, if the system counts from 0; else check how the ranks are written.",
    ),
    "rank_disagrees": Code(
        "warning",
        "The rank column and the scores give different orders within the results that a metric uses. Scores decide;"
        " the message shows the metric's value by the ranks.",
        "Find out which of the two is right. A usual cause is distances, of which the smallest is the best: negate"
        " them. If the ranks are right, use the metric with ties = given.",
    ),
    "constant_score": Code(
        "warning",
        "All results of a query have the same score, so document ids decide the whole order. It is a note if this"
        " holds for fewer than half of the queries.",
        "Write the scores that the system ranks by, or ranks without scores.",
    ),
    "rising_score": Code(
        "warning",
        "A ranking without ranks goes from its lowest score to its highest, in 9 of 10 queries with three results or"
        " more (and at least in three queries). Files usually begin with the best result, so lower scores may be"
        " better.",
        "Nothing, if the highest score is the best. If the scores are distances, negate them.",
    ),
    "tied_places": Code(
        "warning",
        "Equal scores decide ranks that a metric uses. The message gives the range of the mean over their orders; if"
        " it is at most 0.001, it is a note.",
        "Write scores with more digits, or use the expected value with ties = average.",
    ),
    # ---- systems beside each other
    "same_ranking": Code(
        "warning",
        "Two systems have the same content: the same documents with the same scores, in any row order and file"
        " format. Every difference between them is 0.",
        "Check whether one file was given twice.",
    ),
    "few_judged": Code(
        "warning",
        "Less than 80 % of the results that a metric uses have a judgment. The others count as not relevant, which"
        " may be wrong.",
        "Judge more of what the system returns, or add the metric with unjudged = condense, and see whether the"
        " verdict holds.",
    ),
    "judged_differs": Code(
        "warning",
        "The share of judged results differs between two systems by 10 points or more. Unjudged results count as not"
        " relevant, which disadvantages the system with fewer judged ones. From 10 points on, the effect can be as"
        " large as a measured difference: if half of the unjudged results were relevant, precision would change by"
        " 0.05.",
        "Judge what only the less judged system returns, or add the metric with unjudged = condense, and see whether"
        " the verdict holds.",
    ),
    "labels_favour": Code(
        "warning",
        "A verdict favours the system that the labels came from. At least 5 points more of its results are judged"
        " than of the other system's. Without that advantage the verdict does not hold: the interval on the queries"
        " judged fully for both does not show it, or grades of unjudged results could change it. If the judgments name"
        " the favoured system as a source and not the other one, the verdict is instead tested without the judgments"
        " that it alone contributed.",
        "First judge what only the other system returns, and compare again. Until then, the verdict may reflect the"
        " judgments rather than the systems.",
    ),
    "slices_disagree": Code(
        "warning",
        "The verdict over all queries and those of all tested slices contradict each other.",
        "Look at the slices before deciding.",
    ),
    "looks_clustered": Code(
        "warning",
        "Query ids come in groups (`106_1`, `106_2`, …) or queries repeat a text: turns of a conversation, variants"
        " of one query. Treated as independent, they make p-values too small and intervals too narrow.",
        "Name the groups: `--cluster COLUMN` of the queries, or `--cluster-prefix _` for ids (`cluster_prefix` under"
        " `statistics:`). If the queries are independent, set the finding to `ignore`.",
    ),
    "cheap_judgments": Code(
        "warning",
        "The proxy judgments (cheap_judgments) have a problem, which the message describes: ids that do not match,"
        " queries that a system did not answer, grades below 0. Verdicts do not depend on them.",
        "Correct it if you use the corrected differences; an uninformative proxy grade saves no judgments.",
    ),
    "careful_not_random": Code(
        "warning",
        "By the proxy judgments, the systems do better or worse on the carefully judged queries than on the others:"
        " the carefully judged queries are not a random sample of all.",
        "Draw the queries for careful judgments at random from all queries with proxy judgments. Until then use the"
        " careful judgments alone, and draw no conclusion about all queries from the corrected differences.",
    ),
    "one_heavy_query": Code(
        "warning",
        "In a slice, or among the scored queries, one query has all the weight: nothing can be tested there.",
        "Check the weights; `--unweighted` (`weighted: false`) compares without them.",
    ),
    "not_asked": Code(
        "note",
        "What changed in the top results was left out, because there are too many rows.",
        "Compare fewer systems or queries to see it.",
    ),
    "perhaps_complete": Code(
        "note",
        "No judgment has a grade of 0 or below, and less than a tenth of the shown results is judged: such judgments"
        " name what is relevant and nothing else, as known items, clicks or MS MARCO's labels do. Unjudged results"
        " then turn almost every decision into `judge more results`.",
        "If everything that is not judged is not relevant, by design, say so: `--complete-judgments`"
        " (`judgments: {complete: true}`).",
    ),
    # ---- the configuration
    "large_difference": Code(
        "warning",
        "A margin, a smallest effect or a threshold is at least half of the largest possible difference of its"
        " metric, so almost nothing fails or reaches it.",
        "Write it in the metric's unit: two percentage points are 0.02. If it is intended, set `findings:"
        " {large_difference: ignore}`.",
    ),
    # ---- scores of another tool
    "scores_given": Code(
        "note",
        "Another tool computed the values. Their documents, the order of ties and what is judged are unknown here,"
        " and a higher value counts as better.",
        "Nothing. If a lower value is better, write -METRIC.",
    ),
    "negated_scores": Code(
        "note",
        "The signs of a metric's values were reversed, because -METRIC means that lower is better.",
        "Nothing.",
    ),
    "missing_score": Code(
        "warning",
        "A system has no value for a query for which another one has a value. Differences use the queries that both"
        " have, so a system may gain by leaving queries out.",
        "Find out why it is missing; if the system found nothing, its value is 0 and belongs in the file.",
    ),
    "mean_disagrees": Code(
        "warning",
        "A file's mean over all queries differs from the mean of its values per query.",
        "Check whether queries are missing in the file; trec_eval -c counts queries that a ranking does not answer.",
    ),
    "rounded_scores": Code(
        "note",
        "Values were rounded before they were written, so small differences are lost and a query may count as a tie.",
        "Make the tool write all digits.",
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
