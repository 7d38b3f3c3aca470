-- near_query: the known query ids, and how many letters each is away from one that is not known.
-- grain:  one row per query_id
-- reads:  query_score
-- params: query_id
-- kind:   query
select distinct
    query_id,
    levenshtein(query_id, $query_id) as distance,
from query_score
