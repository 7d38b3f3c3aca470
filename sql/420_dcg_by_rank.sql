-- dcg_by_rank: DCG of each system down to each rank that gains something.
-- grain:  one row per (system_id, query_id, gain_rule, discount_rule, rank)
-- reads:  discount, gain, graded_doc, metric
-- params: -
-- DCG@k is the value of the last row with rank <= k, so one pass serves every cutoff. The sum runs over a
-- window in rank order: the same to the last bit over any number of threads.
with rule as (
    select distinct
        gain_rule,
        discount_rule,
    from metric
    union
    select
        'judged' as gain_rule,
        'none' as discount_rule,
)

select
    graded_doc.system_id,
    graded_doc.query_id,
    rule.gain_rule,
    rule.discount_rule,
    graded_doc.rank,
    sum(gain.gain * discount.discount) over (
        partition by graded_doc.system_id, graded_doc.query_id, rule.gain_rule, rule.discount_rule
        order by graded_doc.rank
        rows between unbounded preceding and current row
    ) as dcg,
from graded_doc
inner join gain on graded_doc.grade = gain.grade
inner join rule on gain.gain_rule = rule.gain_rule
inner join discount
    on
        rule.discount_rule = discount.discount_rule
        and graded_doc.rank = discount.rank
where gain.gain > 0
