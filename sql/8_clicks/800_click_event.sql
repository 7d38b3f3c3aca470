-- click_event: one impression or click for one query, matched by the text of the search.
-- grain:  one row per event and query_id
-- reads:  pulled_click_event, pulled_click_text
-- params: -
-- kind:   view
-- place: the rank of the document on the user's page, from 1. shown: 1 for an impression, else 0. clicked: 1 for a
-- click, else 0. search_id, client: null if they were not logged. is_asked: false if the text matches no query: the
-- event gives no grades, but counts in the click rates of the ranks. An event whose text matches several queries has a
-- row for each.
select
    pulled_click_text.query_id,
    pulled_click_text.is_asked,
    pulled_click_event.doc_id,
    pulled_click_event.place,
    pulled_click_event.search_id,
    pulled_click_event.client,
    pulled_click_event.shown,
    pulled_click_event.clicked,
from pulled_click_event
inner join pulled_click_text on pulled_click_event.text = pulled_click_text.text
