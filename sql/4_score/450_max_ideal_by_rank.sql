-- max_ideal_by_rank: the DCG of a ranking with the highest grade at every rank, down to one rank.
-- grain:  one row per (metric_id, rank)
-- reads:  discount, gain, judgment, metric
-- params: -
-- dcg: the highest grade is that of all judgments, unless the metric names one (max_grade).
with highest as (
    select max(grade) as grade,
    from judgment
)

select
    metric.metric_id,
    discount.rank,
    sum(gain.gain * discount.discount) over (
        partition by metric.metric_id
        order by discount.rank
        rows between unbounded preceding and current row
    ) as dcg,
from metric
cross join highest
inner join gain
    on
        metric.gain_rule = gain.gain_rule
        and gain.grade = coalesce(metric.max_grade, highest.grade)
inner join discount on metric.discount_rule = discount.discount_rule
where metric.ideal = 'max'
