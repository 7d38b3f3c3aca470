-- dcg_by_rank: the DCG of one system's ranking down to one rank with a gain.
-- grain:  one row per (rank_rule, gain_rule, discount_rule, system_id, query_id, rank)
-- reads:  discount, metric, rank_gain, rank_rule
-- params: -
-- dcg: the sum of gain * discount from rank 1 to this rank. For every cutoff k, DCG@k is the value of the last row with
-- rank <= k; 0 if there is none.
-- Inside: the sum runs over a window in rank order, so that it has the same bits for any number of threads.
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
    rank_gain.rank_rule,
    rank_gain.gain_rule,
    rule.discount_rule,
    rank_gain.system_id,
    rank_gain.query_id,
    rank_gain.rank,
    sum(rank_gain.gain * discount.discount) over (
        partition by
            rank_gain.rank_rule,
            rank_gain.gain_rule,
            rule.discount_rule,
            rank_gain.system_id,
            rank_gain.query_id
        order by rank_gain.rank
        rows between unbounded preceding and current row
    ) as dcg,
from rank_gain
inner join rule
    on
        rank_gain.rank_rule = rule.rank_rule
        and rank_gain.gain_rule = rule.gain_rule
inner join discount
    on
        rule.discount_rule = discount.discount_rule
        and rank_gain.rank = discount.rank
