-- near_query: one query id of stored evaluations, with the edit distance to the unknown id `query_id`.
-- grain:  one row per query_id
-- reads:  query_score
-- params: query_id
-- kind:   query
select distinct
    query_id,
    levenshtein(query_id, $query_id) as distance,
from query_score
