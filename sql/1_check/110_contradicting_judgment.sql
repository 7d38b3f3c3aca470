-- contradicting_judgment: one document of a query that was judged with different grades. Any row is an error.
-- grain:  one row per (query_id, doc_id)
-- reads:  judgment
-- params: -
-- kind:   query
-- lowest, highest: its lowest and highest grade.
select
    query_id,
    doc_id,
    lowest,
    grade as highest,
from judgment
where lowest < grade
