-- unweighed_query: one scored query without a weight. If queries are weighted, any row is an error.
-- grain:  one row per query_id
-- reads:  query, query_score
-- params: -
-- kind:   query
select query_id,
from query
where
    weight is null
    and query_id in (select query_score.query_id, from query_score)
