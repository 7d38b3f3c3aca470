-- click_event: one impression or click of a user, for one query that the text of the search matches.
-- grain:  one row per event and query_id
-- reads:  pulled_click_event, pulled_click_text
-- params: -
-- kind:   view
-- place: the rank of the document on the user's page, from 1. An event whose text matches several queries has a row for
-- each. is_asked: false for a text that matches no query: it gets no grades, but counts in the click rates of the
-- ranks.
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
