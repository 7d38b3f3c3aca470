-- query_score: the value of one metric for one query and system.
-- grain:  one row per (system_id, query_id, metric_id)
-- reads:  answered_query, metric, pulled_failed_query, query_dcg, query_ideal, returned, scored_query, system, walk_sum
-- params: -
-- value: 0 if the system did not answer the query, or if the ideal is 0. is_answered: whether the system returned a
-- result for the query. With unanswered = exclude, an unanswered query has no row. A query whose request failed has no
-- row. A query without relevant documents has value 0 or 1, as no_relevant says.
-- Inside: with gain binary and discount none, DCG is the number of relevant documents.
with score_part as (
    select
        system.system_id,
        scored_query.query_id,
        scored_query.is_relevant,
        metric.metric_id,
        metric.measure,
        metric.cutoff,
        metric.no_relevant,
        answered_query.query_id is not null as is_answered,
        returned.returned,
        coalesce(query_dcg.dcg, 0.0) as dcg,
        query_dcg.first_rank,
        query_ideal.ideal,
        -- only measure: ap, err, rprec, bpref, infap
        coalesce(walk_sum.total, 0.0) as total,
        -- end
    from scored_query
    inner join metric on scored_query.metric_id = metric.metric_id
    cross join system
    left join answered_query
        on
            system.system_id = answered_query.system_id
            and scored_query.query_id = answered_query.query_id
    left join returned
        on
            metric.rank_rule = returned.rank_rule
            and system.system_id = returned.system_id
            and scored_query.query_id = returned.query_id
    left join query_dcg
        on
            system.system_id = query_dcg.system_id
            and scored_query.query_id = query_dcg.query_id
            and scored_query.metric_id = query_dcg.metric_id
    left join query_ideal
        on
            system.system_id = query_ideal.system_id
            and scored_query.query_id = query_ideal.query_id
            and scored_query.metric_id = query_ideal.metric_id
    -- only measure: ap, err, rprec, bpref, infap
    left join walk_sum
        on
            system.system_id = walk_sum.system_id
            and scored_query.query_id = walk_sum.query_id
            and scored_query.metric_id = walk_sum.metric_id
    -- end
    left join pulled_failed_query
        on
            system.system_id = pulled_failed_query.system_id
            and scored_query.query_id = pulled_failed_query.query_id
    where
        pulled_failed_query.query_id is null
        and (answered_query.query_id is not null or metric.unanswered = 'zero')
)

select
    system_id,
    query_id,
    metric_id,
    case
        when not is_relevant then case when no_relevant = 'one' then 1.0 else 0.0 end
        when coalesce(returned, 0) = 0 then 0.0
        when measure in ('ndcg', 'recall') then coalesce(dcg / nullif(ideal, 0.0), 0.0)
        -- only measure: ap, err, rprec, bpref, infap
        when measure in ('ap', 'rprec', 'bpref', 'infap') then coalesce(total / nullif(ideal, 0.0), 0.0)
        when measure = 'err' then total
        -- end
        when measure in ('dcg', 'cg', 'rbp') then dcg
        when measure = 'accuracy' then case when dcg > 0 then 1.0 else 0.0 end
        when measure = 'precision' then dcg / coalesce(cutoff, returned)
        when measure = 'rr' then coalesce(1.0 / first_rank, 0.0)
        when measure = 'judged' then dcg / least(coalesce(cutoff, returned), returned)
    end as value,
    is_answered,
from score_part
