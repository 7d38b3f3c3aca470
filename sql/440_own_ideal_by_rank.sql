-- own_ideal_by_rank: DCG of the best order of what a system itself returned, down to each rank.
-- grain:  one row per (system_id, query_id, metric_id, rank)
-- reads:  discount, gain, graded_doc, metric
-- params: -
-- The local ideal reorders the system's own top k, the recall ideal its top recall_depth.
with own_doc as (
    select
        graded_doc.system_id,
        graded_doc.query_id,
        metric.metric_id,
        metric.discount_rule,
        gain.gain,
        row_number() over (
            partition by graded_doc.system_id, graded_doc.query_id, metric.metric_id
            order by gain.gain desc, graded_doc.rank asc
        ) as rank,
    from graded_doc
    inner join gain on graded_doc.grade = gain.grade
    inner join metric
        on
            gain.gain_rule = metric.gain_rule
            and graded_doc.rank_rule = metric.rank_rule
            and metric.ideal in ('local', 'recall')
            and graded_doc.rank <= coalesce(metric.own_depth, graded_doc.rank)
    where gain.gain > 0
)

select
    own_doc.system_id,
    own_doc.query_id,
    own_doc.metric_id,
    own_doc.rank,
    sum(own_doc.gain * discount.discount) over (
        partition by own_doc.system_id, own_doc.query_id, own_doc.metric_id
        order by own_doc.rank
        rows between unbounded preceding and current row
    ) as dcg,
from own_doc
inner join discount
    on
        own_doc.discount_rule = discount.discount_rule
        and own_doc.rank = discount.rank
