-- ideal_by_rank: the DCG down to one rank of all judged documents by falling gain.
-- grain:  one row per (query_id, gain_rule, discount_rule, rank)
-- reads:  discount, gain, judgment, metric
-- params: -
-- dcg: this is the global ideal of nDCG. Only documents with a gain have a rank. With gain and discount 1, the last row
-- is the number of relevant documents (recall).
with ideal_doc as (
    select
        judgment.query_id,
        gain.gain_rule,
        gain.gain,
        row_number() over (
            partition by judgment.query_id, gain.gain_rule
            order by gain.gain desc, judgment.doc_id asc
        ) as rank,
    from judgment
    inner join gain on judgment.grade = gain.grade
    where gain.gain > 0
),

rule as (
    select distinct
        gain_rule,
        discount_rule,
    from metric
)

select
    ideal_doc.query_id,
    rule.gain_rule,
    rule.discount_rule,
    ideal_doc.rank,
    sum(ideal_doc.gain * discount.discount) over (
        partition by ideal_doc.query_id, rule.gain_rule, rule.discount_rule
        order by ideal_doc.rank
        rows between unbounded preceding and current row
    ) as dcg,
from ideal_doc
inner join rule on ideal_doc.gain_rule = rule.gain_rule
inner join discount
    on
        rule.discount_rule = discount.discount_rule
        and ideal_doc.rank = discount.rank
