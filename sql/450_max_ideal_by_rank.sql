-- max_ideal_by_rank: DCG when every place holds the highest grade of all judgments, down to each rank.
-- grain:  one row per (metric_id, rank)
-- reads:  discount, gain, judgment, metric
-- params: -
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
inner join gain on metric.gain_rule = gain.gain_rule
inner join highest on gain.grade = highest.grade
inner join discount on metric.discount_rule = discount.discount_rule
where metric.ideal = 'max'
