-- query_timeline: the value of one metric for one query and system in one evaluation.
-- grain:  one row per (ordinal, system_id, query_id, metric)
-- reads:  evaluation, query_score
-- params: -
-- kind:   query
-- began: start of the evaluation.
select
    query_score.ordinal,
    evaluation.began,
    query_score.system_id,
    query_score.query_id,
    query_score.metric,
    query_score.value,
from query_score
inner join evaluation on query_score.ordinal = evaluation.ordinal
