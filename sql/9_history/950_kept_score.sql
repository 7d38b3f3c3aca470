-- kept_score: the evaluations whose values of single queries are still there.
-- grain:  one row per ordinal
-- reads:  query_score
-- params: -
-- kind:   query
select distinct ordinal,
from query_score
