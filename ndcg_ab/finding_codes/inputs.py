"""List the codes of findings on judgments, ids, clicks, drawn queries, costs, and the queries that systems answer."""

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple


class Code(NamedTuple):
    """One kind of finding, a problem that a check can find in the data.

    Attributes
    ----------
    severity : str
        The default severity: error, warning or note.
    means : str
        What the finding means for the data, and when it is less severe.
    advice : str
        What the user can do.
    is_fixed : bool
        True if the severity cannot be configured, because nothing can be computed in spite of the finding.
    """

    severity: str
    means: str
    advice: str
    is_fixed: bool = False


# What makes a code, by its default severity; a fixed error can have no other.
note, warning, error = partial(Code, "note"), partial(Code, "warning"), partial(Code, "error")
fixed_error = partial(Code, "error", is_fixed=True)

INPUT_CODES: Mapping[str, Code] = {
    # ---- judgments
    "contradicting_judgment": fixed_error(
        "A document of one query is judged twice, with different grades.",
        "Decide which grade is right, and remove the other line from the judgments.",
    ),
    "refused_grade": fixed_error(
        "A grade is below 0 and a metric has negative = error, or a grade is above the max_grade of a metric.",
        "Correct the grade, or choose another value of that choice.",
    ),
    "unknown_gain": fixed_error(
        "A gain table has no entry for a grade that occurs, or the gain of a grade is too large to add up.",
        "Add the grade to the table, or choose another gain.",
    ),
    "fractional_grade": error(
        "The configuration requires integer grades (judgments: {grades: integer}), and some grades have fractions.",
        "Correct the grades, or remove the key if fractions are intended.",
    ),
    "negative_grade": note(
        "Some grades are below 0. They gain nothing. Condensed rankings treat them as judged, unless a metric has"
        " negative = unjudged.",
        "Nothing, if these grades mark spam or documents that are not relevant.",
    ),
    "repeated_judgment": note(
        "A judgment is in the file more than once, with the same grade. It counts once.",
        "If the judgments are not pooled from several files, look for the step that writes it twice.",
    ),
    "unrated_row": note(
        "A row of the judgments has no grade: its field is empty, or null. It is left out, so the document is"
        " unjudged.",
        "Nothing, if nobody judged these documents. If an empty field means not relevant, write 0.",
    ),
    "more_judgments": note(
        "A later file changed the judgments: the message counts the grades that it adds, replaces and leaves.",
        "Look at the examples for grades that should not change; judgments_precedence chooses the file that counts.",
    ),
    "grade_off_scale": warning(
        "A later file has grades above or below all grades of the first file, which changes what the best ranking"
        " is worth.",
        "Bring both files to one scale. If the scale is right, set the code to note.",
    ),
    "several_judges": note(
        "Documents are judged by several judges; if they disagree, `combine` chooses the grade.",
        "Check how far the judges agree, and whether the verdict is the same under each of them.",
    ),
    "unsaid_grade": note(
        "A function that judges returned no grade for a document that systems return and nobody else judges: it stays"
        " unjudged.",
        "Nothing, if they are few; else look at the examples: is their title or text missing?",
    ),
    "no_relevant_query": note(
        "A judged query has no grade above 0. no_relevant decides its value; by default it is left out.",
        "Nothing. If there are many, judge deeper: these queries cannot distinguish systems.",
    ),
    "nothing_counted": note(
        "A query has grades above 0, but the metric counts none of them, because of relevant_from or the gain.",
        "Check relevant_from and the gain table against the scale of the grades.",
    ),
    "reversed_grades": warning(
        "No grade is 0 or below, and in every system lower grades rank above higher ones, far more often than by"
        " chance: 1 may be the best grade, or low scores may be better.",
        "If 1 is the best grade, give every grade a gain, as in `--metric 'ndcg(gain={1:3, 2:2, 3:1, 4:0})@10'`. For"
        " metrics that count relevant documents, reverse the grades: `awk '{$4 = 4 - $4} 1' FILE > NEW` for 1 to 4. If"
        " scores are distances, negate them.",
    ),
    "nothing_scored": error(
        "A metric scores no query: no judged document has a grade that it counts. An error if none of them scores one.",
        "Check the grade column of the judgments, and the smallest grade that the metrics count (relevant_from).",
    ),
    "few_scored": warning(
        "A metric scores less than half of the judged queries: no judged document has a grade that it counts, or no"
        " system answers.",
        "Check the grade column and relevant_from. If both are right, judge deeper, or more queries.",
    ),
    # ---- ids
    "no_shared_query": error(
        "A system answers none of the judged queries: the query ids of the two files do not match.",
        "Spell query ids alike in both files; the message may show how.",
    ),
    "query_by_text": note(
        "Judgments or a ranking name queries by their texts. The file of queries has an id for (nearly) every text, and"
        " these ids take the place of the texts.",
        "Nothing.",
    ),
    "query_partly_by_text": warning(
        "Some query ids are texts of the file of queries, and others are not, or a text belongs to several queries."
        " No text is replaced.",
        "Use ids for all queries, or complete the file of queries.",
    ),
    "id_spelling": error(
        "Ids of a ranking match those of the judgments (or of the first ranking) only in another spelling: Unicode"
        " form, escapes, spaces, quotes, case, http or https, '-' or '_', leading zeros, a prefix or a suffix. A"
        " warning if a tenth or more of them match as they are, unless the Unicode form is the only difference.",
        "Write the ids of all files in one spelling; the message may have commands. If they are different ids, set"
        " the code to note.",
    ),
    "no_judged_result": error(
        "None of a system's results is judged, so it scores 0 everywhere. A warning if there are fewer than 50 results,"
        " or fewer than 5 queries.",
        "Check the document ids. If they are right, judge some of its results, or set the code to warning.",
    ),
    "queries_unmatched": warning(
        "The file of queries contains none of the judged queries, although slices or weights need it.",
        "Spell query ids alike in this file and in the judgments.",
    ),
    "intended_unknown": warning(
        "Some of the queries that the change was meant for are not judged (with scores: not scored). They are left"
        " out.",
        "Correct their ids, remove them, or judge them.",
    ),
    "unjudged_query": note(
        "A system answers queries that nobody judged. They are not scored.",
        "Nothing, if only a part of the queries was judged.",
    ),
    # ---- clicks
    "click_grades": note(
        "Judgments come from clicks: the message says by which model, and how many documents have a grade. They say"
        " what users clicked, of what some ranking showed them.",
        "Correct them by careful judgments of some queries (docs/clicks.md), if the verdict matters.",
    ),
    "click_unmatched_query": warning(
        "Some events have a text that no query has. They give no grades, and tell only how often each place is"
        " clicked.",
        "Nothing, if the queries are a sample of what users ask; else add these texts to the queries.",
    ),
    "click_incomplete": warning(
        "Impressions or clicks lack the query's text, the document or the place. They are left out.",
        "Log user_query, object_id and position.ordinal with every impression and click.",
    ),
    "click_deep_place": warning(
        "Impressions or clicks have a place beyond 10,000. They are left out.",
        "Look at what is logged as position.ordinal (place, in counts): it is a place in a list.",
    ),
    "click_other_action": note(
        "Events are neither impressions nor clicks, such as add_to_cart. They count nothing.",
        "Nothing; or name them (`actions: [purchase]`, `--action purchase`), if they are what relevance means to you.",
    ),
    "click_one_value": warning(
        "Every document has the same value, as where everything that was shown was clicked: the grades tell nothing"
        " apart.",
        "Look at what is logged as a click and as an impression.",
    ),
    "click_without_impression": warning(
        "Clicks have no impression of the document at their place. Each counts as an impression, too, so that the"
        " place's click rate may be too high.",
        "Look for impressions that are not logged, or logged with other places than clicks.",
    ),
    "click_place_gap": warning(
        "Nothing was ever shown at a place above the deepest one that was shown.",
        "Look for impressions that are not logged, or an advertisement that takes the place.",
    ),
    "click_one_ranking": warning(
        "No document was ever shown at two places of a query: the log holds one ranking, and no model can tell the"
        " effect of the place. The value is the plain click rate.",
        "Use events of more than one ranking, such as an A/B test or some random swaps; or correct the grades by"
        " careful judgments.",
    ),
    "click_not_joined": warning(
        "Documents were shown at places between which too few documents moved. Clicks there do not count, and"
        " documents that were shown nowhere else have no grade.",
        "Use events of more than one ranking, such as an A/B test or some random swaps. `--model rate` grades all"
        " documents, and favours the ranking that was logged.",
    ),
    "click_bot": warning(
        "A client has 100 events or more, and more than 10 times as many as 99 of 100 clients (of 100 or more).",
        "Leave the events of programs out.",
    ),
    "click_one_client": warning(
        "More than half of a document's clicks (of 5 or more) come from one client.",
        "Leave such clients out, or raise the floor.",
    ),
    # ---- queries that were drawn to be judged
    "drawn_queries": note(
        "The judged queries were drawn from a log (column `probability`). Differences are those over the whole log;"
        " means of systems and relative changes are over the queries whose results differ.",
        "Nothing. `--unweighted` (`weighted: false`) takes the judged queries as they are.",
    ),
    "drawn_unjudged": warning(
        "Some of the drawn queries have no judgment. The others stand for them, which is right only if it was left to"
        " chance which are judged.",
        "Judge them; or draw again, as many as can be judged.",
    ),
    "not_drawn": note(
        "Some judged queries were not drawn, or show the same in every system. They are left out.",
        "Nothing; to count them, `--unweighted`, which then says nothing about the log.",
    ),
    "no_longer_zero": warning(
        "The systems show different results for queries whose difference the file of queries takes to be 0. What"
        " they win or lose there is not known. A decision that it could turn is `judge more results`.",
        "Draw again for these rankings and metrics, with `--kept` and the present file.",
    ),
    "proxy_not_whole": note(
        "Queries were drawn from a log, and some of it that differ between systems have no proxy judgments: these"
        " correct no difference.",
        "Let the proxy judge grade the first results of every query of the log that differs.",
    ),
    # ---- what requests cost
    "failed_time": warning(
        "Requests of a system failed while their times were recorded. Quantiles on these requests, and the mean,"
        " are lower bounds (≥). No guardrail on times holds if they could break it.",
        "Find out why they failed, and measure again; a larger `timeout` measures more of the slowest ones.",
    ),
    "missing_cost": warning(
        "A cost is not known for some queries of a system: it is not in the answer, its cell is empty, or the"
        " request failed. These queries are left out of this cost for every system.",
        "Look at the queries in the message. If the cost is known to be 0 there, write 0.",
    ),
    # ---- on a cluster
    "rows_elsewhere": note(
        "Rows of judgments or rankings stay on a cluster. Three checks are left out: rising_score, the line of an"
        " example, and same_ranking between there and here.",
        "Nothing.",
    ),
    # ---- which queries, how deep
    "unanswered_query": warning(
        "A system returned nothing for a judged query. unanswered decides its value; by default 0.",
        "Find out whether it found nothing, or failed. A failed request is not an answer of the ranker.",
    ),
    "unanswered_left_out": warning(
        "A metric has unanswered = exclude, and a system left queries unanswered: it can gain by not answering hard"
        " queries.",
        "Compare with unanswered = zero as well, and look at the queries that both answered.",
    ),
    "failed_query": warning(
        "The source of a ranking failed on a query, and allow_failed_queries permitted it. The query is missing for"
        " that system: it is not 0, and has no difference.",
        "Look at the failure in the message, and pull again.",
    ),
    "few_queries": warning(
        "A system answers less than 80 % as many queries as another one.",
        "Check whether its file was cut, or its run ended early.",
    ),
    "different_depths": warning(
        "A system returns less than 80 % of the results of another one that a metric uses, by the median or in a"
        " tenth of the queries. The metric then compares depths, not orders.",
        "Pull the same number of results from all systems, or choose a cutoff that all of them reach.",
    ),
    "truncated_last_line": warning(
        "The last line of a file has no line end, and looks cut.",
        "Compare its size or its number of lines with the original.",
    ),
}
