-- shown_query: one scored query with its text (null if unknown).
-- grain:  one row per query_id
-- reads:  query, query_score
-- params: -
-- kind:   query
select
    query_id,
    text,
from query
where query_id in (select query_score.query_id, from query_score)
