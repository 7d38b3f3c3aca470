"""List the codes of findings on rankings, compared systems, the configuration, and scores of other tools."""

from collections.abc import Mapping

from ndcg_ab.finding_codes.inputs import Code, error, fixed_error, note, warning

RANKING_CODES: Mapping[str, Code] = {
    # ---- what a ranking says of its order
    "duplicate_document": error(
        "A document is twice in the ranking of one query, where it would gain twice. With duplicates = first in"
        " every metric, the best placed copy counts, and this is a warning.",
        "Remove the copies where the ranking is made; often two rankings are in one file.",
    ),
    # ---- what a document of a ranking is
    "document_chunk": note(
        "The ids of a ranking were cut at the sign of `--document-prefix` (`documents: {prefix: …}`). The best chunk of"
        " a document counts; the count says how many further chunks were left out.",
        "Nothing.",
    ),
    "document_copy": note(
        "A document is repeated in the ranking of one query, and the system has duplicates = first: its best place"
        " counts.",
        "Nothing, if the copies are meant; two rankings in one file look the same.",
    ),
    "own_document_left_out": note(
        "Documents whose id is that of the query were left out of a ranking (`--own drop`, or the preset beir).",
        "Nothing.",
    ),
    "own_document": warning(
        "A system returns the query itself first in a tenth of its queries (at least in three): the document has"
        " the id of the query and no judgment.",
        "If queries are documents of the collection, leave them out: `--own drop` (`documents: {own: drop}`).",
    ),
    "placeholder_document": warning(
        "The first 20 ranks have documents that are no documents: an id such as None, nan, null or NO_RESULT, or one"
        " unjudged id in most of the queries (at least in ten).",
        "Leave these rows out where the ranking is made: a query without results has no row.",
    ),
    # ---- ranks and scores
    "missing_rank": fixed_error(
        "A metric has ties = given, and a ranking has no ranks.",
        "Add the ranks, or choose another rule for ties.",
    ),
    "several_tags": warning(
        "A TREC file has more than one tag (its last column): it may contain two rankings.",
        "Put each ranking into a file of its own, and make it a system of its own.",
    ),
    "file_form": note(
        "A file has a form of another tool, or its columns have names of other tools: it was read by this form.",
        "Check that the form is right. If not, name the format and the columns: --format, --columns.",
    ),
    "comment_line": note(
        "A TREC file has lines that begin with #. Those that do not have the fields of a row are left out as comments.",
        "Nothing, if they are comments. A query id may begin with #: give its lines all fields of a row.",
    ),
    "unread_rank": note(
        "A rank is not a number. No rank is used, because the scores decide.",
        "Nothing, if the ranks are not meant to decide.",
    ),
    "repeated_rank": warning(
        "Two results of a query have the same rank. Without scores, their document ids decide the order. With"
        " scores, this suggests two rankings in one file, or ranks that were never written.",
        "Number the results of each query 1, 2, 3 …, or leave the column of ranks out.",
    ),
    "rank_gap": warning(
        "Some ranks of a query are missing: results may have been lost, or filtered after ranking. It is a note if"
        " this holds for fewer than half of the queries.",
        "Check whether lines were lost, or only a later page of the results was kept.",
    ),
    "rank_below_one": note(
        "Ranks begin at 0 or below. Only their order counts. It is a warning if other queries begin at 1, or if a"
        " rank is below 0.",
        "Nothing, if the system counts from 0; else check how the ranks are written.",
    ),
    "rank_disagrees": warning(
        "The rank column and the scores give different orders within the results that a metric uses. Scores decide;"
        " the message shows the value by the ranks. It is a note if no value differs.",
        "Find out which is right. If scores are distances, negate them. If the ranks are right, use the metric with"
        " ties = given.",
    ),
    "constant_score": warning(
        "All results of a query have the same score, so document ids decide the whole order. It is a note if this"
        " holds for fewer than half of the queries.",
        "Write the scores that the system ranks by, or ranks without scores.",
    ),
    "rising_score": warning(
        "A ranking without ranks goes from its lowest score to its highest, in 9 of 10 queries (at least in three)."
        " Lower scores may be better.",
        "Nothing, if the highest score is the best. If the scores are distances, negate them.",
    ),
    "tied_places": warning(
        "Equal scores decide ranks that a metric uses. The message gives the range of the mean over their orders; if"
        " it is at most 0.001, it is a note.",
        "Write scores with more digits, or use the expected value with ties = average.",
    ),
    # ---- systems beside each other
    "same_ranking": warning(
        "Two systems have the same content: the same documents with the same scores, in any row order and file"
        " format. Every difference between them is 0.",
        "Check whether one file was given twice.",
    ),
    "few_judged": warning(
        "Less than 80 % of the results that a metric uses have a judgment. The others count as not relevant, which"
        " may be wrong.",
        "Judge more of what the system returns, or see whether the verdict holds with unjudged = condense.",
    ),
    "judged_differs": warning(
        "The share of judged results differs between two systems by 10 points or more. Unjudged results count as"
        " not relevant, which disadvantages the system with fewer judged ones.",
        "Judge what only the less judged system returns, or see whether the verdict holds with unjudged = condense.",
    ),
    "labels_favour": warning(
        "A verdict favours the system that the labels came from: at least 5 points more of its results are judged,"
        " and without that advantage the verdict does not hold. If the judgments name it as a source, the verdict is"
        " tested without what it alone contributed.",
        "First judge what only the other system returns, and compare again.",
    ),
    "slices_disagree": warning(
        "The verdict over all queries and those of all tested slices contradict each other.",
        "Look at the slices before deciding.",
    ),
    "looks_clustered": warning(
        "Query ids come in groups (`106_1`, `106_2`, …) or queries repeat a text. Treated as independent, they make"
        " p-values too small and intervals too narrow.",
        "Name the groups: `--cluster COLUMN` of the queries, or `--cluster-prefix _` for ids (`cluster_prefix`"
        " under `statistics:`). If the queries are independent, set the finding to `ignore`.",
    ),
    "cheap_judgments": warning(
        "The proxy judgments (cheap_judgments) have a problem: ids that do not match, unanswered queries, grades"
        " below 0. Verdicts do not depend on them.",
        "Correct it if you use the corrected differences.",
    ),
    "careful_not_random": warning(
        "By the proxy judgments, the systems do better or worse on the carefully judged queries than on the others:"
        " these are not a random sample of all.",
        "Draw the queries for careful judgments at random from all queries with proxy judgments. Until then use the"
        " careful judgments alone.",
    ),
    "one_heavy_query": warning(
        "In a slice, or among the scored queries, one query has all the weight: nothing can be tested there.",
        "Check the weights; `--unweighted` (`weighted: false`) compares without them.",
    ),
    "not_asked": note(
        "What changed in the top results was left out, because there are too many rows.",
        "Compare fewer systems or queries to see it.",
    ),
    "perhaps_complete": note(
        "No judgment has a grade of 0 or below, and less than a tenth of the shown results is judged: perhaps the"
        " judgments name what is relevant and nothing else. Unjudged results then turn almost every decision into"
        " `judge more results`.",
        "If everything that is not judged is not relevant, by design, say so: `--complete-judgments` (`judgments:"
        " {complete: true}`).",
    ),
    # ---- the configuration
    "large_difference": warning(
        "A margin, a smallest effect or a threshold is at least half of the largest possible difference of its metric.",
        "Write it in the metric's unit: two percentage points are 0.02. If it is intended, set `findings:"
        " {large_difference: ignore}`.",
    ),
    # ---- scores of another tool
    "scores_given": note(
        "Another tool computed the values. Their documents, the order of ties and what is judged are unknown here,"
        " and a higher value counts as better.",
        "Nothing. If a lower value is better, write -METRIC.",
    ),
    "negated_scores": note(
        "The signs of a metric's values were reversed, because -METRIC means that lower is better.",
        "Nothing.",
    ),
    "missing_score": warning(
        "A system has no value for a query for which another one has a value. Differences use the queries that both"
        " have.",
        "Find out why it is missing; if the system found nothing, its value is 0 and belongs in the file.",
    ),
    "mean_disagrees": warning(
        "A file's mean over all queries differs from the mean of its values per query.",
        "Check whether queries are missing in the file; trec_eval -c counts queries that a ranking does not answer.",
    ),
    "rounded_scores": note(
        "Values were rounded before they were written, so small differences are lost and a query may count as a tie.",
        "Make the tool write all digits.",
    ),
}
