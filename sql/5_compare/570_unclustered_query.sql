-- unclustered_query: one scored query without a cluster. If queries are clustered, any row is an error.
-- grain:  one row per query_id
-- reads:  query, query_score
-- params: -
-- kind:   query
select query_id,
from query
where
    cluster is null
    and query_id in (select query_score.query_id, from query_score)
