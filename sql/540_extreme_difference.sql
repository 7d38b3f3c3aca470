-- extreme_difference: the queries on which a candidate gains and loses most against the baseline.
-- grain:  one row per (candidate, metric_id, direction, place)
-- reads:  paired_difference, query
-- params: places
-- direction: win or loss; place 1 is the largest. Differences within 1e-9 are ties.
with placed as (
    select
        paired_difference.candidate,
        paired_difference.metric_id,
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
    where abs(paired_difference.difference) > 1e-9
)

select
    candidate,
    metric_id,
    direction,
    place,
    query_id,
    text,
    difference,
from placed
where place <= $places
