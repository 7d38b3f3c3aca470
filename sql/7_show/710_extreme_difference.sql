-- extreme_difference: one of the queries on which a candidate gains or loses most against the baseline.
-- grain:  one row per (candidate, metric_id, direction, place)
-- reads:  metric, paired_difference, query, system
-- params: most
-- direction: win if the candidate is better, or loss. place: 1 for the largest difference of that direction, at most
-- `most`. difference: candidate - baseline; at most 1e-9 counts as equal and has no row. text: text of the query; null
-- if unknown. system_position, metric_position: 0, 1, 2 … in the configured order.
with numbered as (
    select
        paired_difference.candidate,
        system.position as system_position,
        paired_difference.metric_id,
        metric.name as metric,
        metric.position as metric_position,
        paired_difference.query_id,
        query.text,
        paired_difference.difference,
        case when paired_difference.difference > 0 then 'win' else 'loss' end as direction,
        row_number() over (
            partition by
                paired_difference.candidate,
                paired_difference.metric_id,
                paired_difference.difference > 0
            order by abs(paired_difference.difference) desc, paired_difference.query_id asc
        ) as place,
    from paired_difference
    inner join query on paired_difference.query_id = query.query_id
    inner join metric on paired_difference.metric_id = metric.metric_id
    inner join system on paired_difference.candidate = system.system_id
    where abs(paired_difference.difference) > 1e-9
)

select
    candidate,
    system_position,
    metric_id,
    metric,
    metric_position,
    direction,
    place,
    query_id,
    text,
    difference,
from numbered
where place <= $most
