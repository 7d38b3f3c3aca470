-- leading_result: one of the top `depth` results of one system for one query.
-- grain:  one row per (system_id, query_id, doc_id)
-- reads:  ranking
-- params: depth
-- kind:   query
-- The columns are those of the grain. Equal scores are ordered by doc_id, descending, whatever `ties` says.
select
    system_id,
    query_id,
    doc_id,
from ranking
qualify
    row_number() over (
        partition by system_id, query_id
        order by order_score desc, doc_id desc
    ) <= $depth
