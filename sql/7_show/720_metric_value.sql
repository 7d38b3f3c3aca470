-- metric_value: the value of one metric for one query and system, with the metric's name.
-- grain:  one row per (system_id, query_id, metric)
-- reads:  metric, query_score, system
-- params: -
-- kind:   query
-- metric: name of the metric. metric_hash: the metric_id of other tables. system_position, metric_position: 0, 1, 2 …
-- in the configured order.
select
    query_score.system_id,
    query_score.query_id,
    metric.name as metric,
    query_score.value,
    query_score.metric_id as metric_hash,
    system.position as system_position,
    metric.position as metric_position,
from query_score
inner join metric on query_score.metric_id = metric.metric_id
inner join system on query_score.system_id = system.system_id
