-- click_document: one document that users saw or clicked for one query, with a number for both ids.
-- grain:  one row per (query_id, doc_id)
-- reads:  click_event
-- params: -
-- document: the number, from 1, in the order of query_id and doc_id. Tables of counts use it instead of the ids, to
-- save memory. is_asked: whether the query is to be graded.
select
    query_id,
    doc_id,
    is_asked,
    row_number() over (
        order by
            query_id,
            doc_id
    ) as document,
from click_event
group by
    query_id,
    doc_id,
    is_asked
