"""Findings about judgments that come from clicks."""

from collections.abc import Mapping

from ndcg_ab.finding_codes.code import Code

CLICK_CODES: Mapping[str, Code] = {
    "click_grades": Code(
        "note",
        "Judgments come from clicks: the message says by which model, how many documents have a grade, and how many"
        " have none. They say what users clicked, of what some ranking showed them.",
        "Correct them by careful judgments of some queries (docs/clicks.md), where the verdict matters.",
    ),
    "click_unmatched_query": Code(
        "warning",
        "Some events have a text that no query has, with case and white space left aside. They give no grades, and tell"
        " only how often each place is clicked.",
        "Nothing, if the queries are a sample of what users ask; else add these texts to the queries.",
    ),
    "click_incomplete": Code(
        "warning",
        "Impressions or clicks lack the query's text, the document or the place. They are left out.",
        "Log user_query, object_id and position.ordinal with every impression and click.",
    ),
    "click_deep_place": Code(
        "warning",
        "Impressions or clicks have a place beyond 10,000. They are left out.",
        "Look at what is logged as position.ordinal (place, in counts): it is a place in a list, not an id or a time.",
    ),
    "click_other_action": Code(
        "note",
        "Events are neither impressions nor clicks, such as add_to_cart. They count nothing.",
        "Nothing; or name them (`actions: [purchase]`, `--action purchase`), if they are what relevance means to you.",
    ),
    "click_one_value": Code(
        "warning",
        "Every document has the same value, as where everything that was shown was clicked: the grades tell nothing"
        " apart.",
        "Look at what is logged as a click and as an impression.",
    ),
    "click_without_impression": Code(
        "warning",
        "Clicks have no impression of the document at their place. Each counts as an impression, too; others that were"
        " not clicked may be lacking, so that the place's click rate is too high.",
        "Look for impressions that are not logged, or logged with other places than clicks.",
    ),
    "click_place_gap": Code(
        "warning",
        "Nothing was ever shown at a place above the deepest one that was shown.",
        "Look for impressions that are not logged, or an advertisement that takes the place.",
    ),
    "click_one_ranking": Code(
        "warning",
        "No document was ever shown at two places of a query: the log holds one ranking, and no model can tell what a"
        " document gains by its place from what it is worth. The value is the plain click rate. What another ranking"
        " would have shown is unknown.",
        "Use events of more than one ranking, such as an A/B test or some random swaps; or correct the grades by"
        " careful judgments.",
    ),
    "click_not_joined": Code(
        "warning",
        "Documents were shown at places that the log does not join: none, or too few, moved between these places"
        " and those with most impressions. Clicks there cannot be compared with the others. They do not count, and"
        " documents that were shown nowhere else have no grade.",
        "Use events of more than one ranking, such as an A/B test or some random swaps. `--model rate` grades all"
        " documents, and favours the ranking that was logged.",
    ),
    "click_bot": Code(
        "warning",
        "A client has 100 events or more, and more than 10 times as many as 99 of 100 clients keep to. It is looked for"
        " where there are 100 clients or more.",
        "Leave the events of programs out.",
    ),
    "click_one_client": Code(
        "warning",
        "More than half of a document's clicks (of 5 or more) come from one client.",
        "Leave such clients out, or raise the floor.",
    ),
}
