-- click_event: what users were shown and clicked, with the query that the text of each search stands for.
-- grain:  one row per event and query_id
-- reads:  pulled_click_event, pulled_click_text
-- params: -
-- kind:   view
-- An event of a text that several queries have is one of each of them. A text that none has is a query of its own,
-- which gets no grades (is_asked): it tells, too, how often each place is clicked.
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
