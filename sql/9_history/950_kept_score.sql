-- kept_score: the ordinal of one evaluation whose per-query values are still stored.
-- grain:  one row per ordinal
-- reads:  query_score
-- params: -
-- kind:   query
select distinct ordinal,
from query_score
