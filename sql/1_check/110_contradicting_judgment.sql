-- contradicting_judgment: one document of a query that was judged with different grades. Any row is an error.
-- grain:  one row per (query_id, doc_id)
-- reads:  pulled_judgment
-- params: -
-- lowest, highest: its lowest and highest grade.
select
    query_id,
    doc_id,
    min(grade) as lowest,
    max(grade) as highest,
from pulled_judgment
group by
    query_id,
    doc_id
having min(grade) < max(grade)
