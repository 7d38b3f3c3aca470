-- dcg_by_rank: the DCG of one system's ranking down to a rank that gains something.
-- grain:  one row per (rank_rule, gain_rule, discount_rule, system_id, query_id, rank)
-- reads:  discount, metric, placed_gain, rank_rule
-- params: -
-- DCG@k is the value of the last row with rank <= k, so one pass serves every cutoff. The sum runs over a window in
-- rank order: it is equal to the last bit for any number of threads.
with rule as (
    select distinct
        metric.rank_rule,
        metric.gain_rule,
        metric.discount_rule,
    from metric
    -- only ties: average
    union
    select
        metric.rank_rule,
        'judged' as gain_rule,
        'none' as discount_rule,
    from metric
    inner join rank_rule on metric.rank_rule = rank_rule.rank_rule
    where rank_rule.ties = 'average'
    -- end
)

select
    placed_gain.rank_rule,
    placed_gain.gain_rule,
    rule.discount_rule,
    placed_gain.system_id,
    placed_gain.query_id,
    placed_gain.rank,
    sum(placed_gain.gain * discount.discount) over (
        partition by
            placed_gain.rank_rule,
            placed_gain.gain_rule,
            rule.discount_rule,
            placed_gain.system_id,
            placed_gain.query_id
        order by placed_gain.rank
        rows between unbounded preceding and current row
    ) as dcg,
from placed_gain
inner join rule
    on
        placed_gain.rank_rule = rule.rank_rule
        and placed_gain.gain_rule = rule.gain_rule
inner join discount
    on
        rule.discount_rule = discount.discount_rule
        and placed_gain.rank = discount.rank
