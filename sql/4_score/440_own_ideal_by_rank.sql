-- own_ideal_by_rank: the DCG down to one rank, if a system's own results are ranked by falling gain.
-- grain:  one row per (system_id, query_id, metric_id, rank)
-- reads:  discount, gain, judged_doc, metric
-- params: -
-- dcg: the highest that reordering the results can give. The local ideal reorders the system's top k results, the
-- recall ideal its top recall_depth. Only documents with a gain have a rank.
-- Inside: documents are ordered once for all metrics that differ only in their discount.
with look as (
    select distinct
        rank_rule,
        gain_rule,
        coalesce(own_depth, 0) as depth,
    from metric
    where ideal in ('local', 'recall')
),

own_doc as (
    select
        judged_doc.system_id,
        judged_doc.query_id,
        look.rank_rule,
        look.gain_rule,
        look.depth,
        gain.gain,
        row_number() over (
            partition by judged_doc.system_id, judged_doc.query_id, look.rank_rule, look.gain_rule, look.depth
            order by gain.gain desc, judged_doc.rank asc
        ) as rank,
    from judged_doc
    inner join gain on judged_doc.grade = gain.grade
    inner join look
        on
            gain.gain_rule = look.gain_rule
            and judged_doc.rank_rule = look.rank_rule
            and (look.depth = 0 or judged_doc.rank <= look.depth)
    where gain.gain > 0
)

select
    own_doc.system_id,
    own_doc.query_id,
    metric.metric_id,
    own_doc.rank,
    sum(own_doc.gain * discount.discount) over (
        partition by own_doc.system_id, own_doc.query_id, metric.metric_id
        order by own_doc.rank
        rows between unbounded preceding and current row
    ) as dcg,
from own_doc
inner join metric
    on
        own_doc.rank_rule = metric.rank_rule
        and own_doc.gain_rule = metric.gain_rule
        and own_doc.depth = coalesce(metric.own_depth, 0)
        and metric.ideal in ('local', 'recall')
inner join discount
    on
        metric.discount_rule = discount.discount_rule
        and own_doc.rank = discount.rank
