-- query_ideal: what a metric divides by.
-- grain:  one row per (system_id, query_id, metric_id)
-- reads:  answered_query, ideal_by_rank, max_ideal_by_rank, metric, own_ideal_by_rank, scored_query
-- params: -
-- global: the same for every system. local, recall: the system's own documents. max: k places, or
-- without a cutoff as many as the system returned. recall (the measure) divides by all relevant documents.
with answer as (
    select
        answered_query.system_id,
        answered_query.query_id,
        answered_query.returned,
        scored_query.metric_id,
    from answered_query
    inner join scored_query on answered_query.query_id = scored_query.query_id
),

global_ideal as (
    select
        ideal_by_rank.query_id,
        metric.metric_id,
        max(ideal_by_rank.dcg) as ideal,
    from metric
    inner join ideal_by_rank
        on
            metric.gain_rule = ideal_by_rank.gain_rule
            and metric.discount_rule = ideal_by_rank.discount_rule
            and (metric.measure = 'recall' or ideal_by_rank.rank <= coalesce(metric.cutoff, ideal_by_rank.rank))
    where metric.ideal = 'global'
    group by
        ideal_by_rank.query_id,
        metric.metric_id
),

own_ideal as (
    select
        own.system_id,
        own.query_id,
        own.metric_id,
        max(own.dcg) as ideal,
    from own_ideal_by_rank as own
    inner join metric on own.metric_id = metric.metric_id
    where own.rank <= coalesce(metric.cutoff, own.rank)
    group by
        own.system_id,
        own.query_id,
        own.metric_id
)

select
    answer.system_id,
    answer.query_id,
    answer.metric_id,
    global_ideal.ideal,
from answer
inner join global_ideal
    on
        answer.query_id = global_ideal.query_id
        and answer.metric_id = global_ideal.metric_id
union all
select
    own_ideal.system_id,
    own_ideal.query_id,
    own_ideal.metric_id,
    own_ideal.ideal,
from own_ideal
union all
select
    answer.system_id,
    answer.query_id,
    answer.metric_id,
    max_ideal_by_rank.dcg as ideal,
from answer
inner join metric on answer.metric_id = metric.metric_id
inner join max_ideal_by_rank
    on
        answer.metric_id = max_ideal_by_rank.metric_id
        and max_ideal_by_rank.rank = coalesce(metric.cutoff, answer.returned)
