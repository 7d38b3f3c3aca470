-- paired_difference: the difference candidate - baseline of one metric on one query that both systems are scored on.
-- grain:  one row per (candidate, metric_id, query_id)
-- reads:  query_score, system
-- params: -
-- baseline_value: the value of the baseline.
with baseline_score as (
    select
        query_score.query_id,
        query_score.metric_id,
        query_score.value,
    from query_score
    inner join system on query_score.system_id = system.system_id
    where system.role = 'baseline'
)

select
    query_score.system_id as candidate,
    query_score.metric_id,
    query_score.query_id,
    query_score.value - baseline_score.value as difference,
    baseline_score.value as baseline_value,
from query_score
inner join system on query_score.system_id = system.system_id
inner join baseline_score
    on
        query_score.query_id = baseline_score.query_id
        and query_score.metric_id = baseline_score.metric_id
where system.role = 'candidate'
