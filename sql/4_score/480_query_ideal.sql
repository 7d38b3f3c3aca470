-- query_ideal: the number by which a metric's sum for one query of a system is divided.
-- grain:  one row per (system_id, query_id, metric_id)
-- reads:  ideal_by_rank, max_ideal_by_rank, metric, own_ideal_by_rank, returned, scored_query
-- params: -
-- ideal: the highest DCG that is possible. By the kind of ideal, this is: global: with all judged documents, in as many
-- ranks as the system returned if ideal_cut = returned. local, recall: with the system's own results. max: with the
-- highest grade in all k ranks, or without a cutoff in as many as the system returned. For recall, ap, rprec, bpref and
-- infap it is the number of relevant documents. There is no row if the system did not answer the query, if no judged
-- document has a gain, or, for local and recall, if none of the system's results has one.
with answer as (
    select
        returned.system_id,
        returned.query_id,
        metric.metric_id,
        metric.gain_rule,
        metric.discount_rule,
        metric.ideal,
        metric.ideal_cut,
        case
            when metric.ideal_cut = 'returned' then least(coalesce(metric.cutoff, returned.returned), returned.returned)
            when metric.ideal = 'max' then coalesce(metric.cutoff, returned.returned)
            when metric.ideal_cut = 'cutoff' then metric.cutoff
        end as ideal_end,
    from returned
    inner join metric on returned.rank_rule = metric.rank_rule
    inner join scored_query
        on
            metric.metric_id = scored_query.metric_id
            and returned.query_id = scored_query.query_id
    where scored_query.is_relevant
),

-- only ideal_cut: returned
returned_ideal as (
    select
        answer.system_id,
        answer.query_id,
        answer.metric_id,
        max(ideal_by_rank.dcg) as ideal,
    from answer
    inner join ideal_by_rank
        on
            answer.query_id = ideal_by_rank.query_id
            and answer.gain_rule = ideal_by_rank.gain_rule
            and answer.discount_rule = ideal_by_rank.discount_rule
            and answer.ideal_end >= ideal_by_rank.rank
    where
        answer.ideal = 'global'
        and answer.ideal_cut = 'returned'
    group by
        answer.system_id,
        answer.query_id,
        answer.metric_id
),
-- end

-- only ideal: local, recall
own_ideal as (
    select
        answer.system_id,
        answer.query_id,
        answer.metric_id,
        max(own.dcg) as ideal,
    from answer
    inner join own_ideal_by_rank as own
        on
            answer.system_id = own.system_id
            and answer.query_id = own.query_id
            and answer.metric_id = own.metric_id
            and own.rank <= coalesce(answer.ideal_end, own.rank)
    group by
        answer.system_id,
        answer.query_id,
        answer.metric_id
),
-- end

shared_ideal as (
    select
        ideal_by_rank.query_id,
        metric.metric_id,
        max(ideal_by_rank.dcg) as ideal,
    from metric
    inner join ideal_by_rank
        on
            metric.gain_rule = ideal_by_rank.gain_rule
            and metric.discount_rule = ideal_by_rank.discount_rule
    where
        metric.ideal = 'global'
        and metric.ideal_cut <> 'returned'
        and (
            metric.measure <> 'ndcg'
            or metric.ideal_cut = 'none'
            or ideal_by_rank.rank <= coalesce(metric.cutoff, ideal_by_rank.rank)
        )
    group by
        ideal_by_rank.query_id,
        metric.metric_id
)

select
    answer.system_id,
    answer.query_id,
    answer.metric_id,
    shared_ideal.ideal,
from answer
inner join shared_ideal
    on
        answer.query_id = shared_ideal.query_id
        and answer.metric_id = shared_ideal.metric_id
-- only ideal_cut: returned
union all
select
    returned_ideal.system_id,
    returned_ideal.query_id,
    returned_ideal.metric_id,
    returned_ideal.ideal,
from returned_ideal
-- end
-- only ideal: local, recall
union all
select
    own_ideal.system_id,
    own_ideal.query_id,
    own_ideal.metric_id,
    own_ideal.ideal,
from own_ideal
-- end
-- only ideal: max
union all
select
    answer.system_id,
    answer.query_id,
    answer.metric_id,
    max_ideal_by_rank.dcg as ideal,
from answer
inner join max_ideal_by_rank
    on
        answer.metric_id = max_ideal_by_rank.metric_id
        and answer.ideal_end = max_ideal_by_rank.rank
-- end
