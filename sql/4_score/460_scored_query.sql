-- scored_query: one judged query that counts for a metric.
-- grain:  one row per (metric_id, query_id)
-- reads:  gain, judgment, metric, query
-- params: -
-- is_relevant: whether a judged document of the query has a gain. A query without one is left out with no_relevant =
-- exclude; else it has the same value for every system. If queries were drawn for judging, all others are left out.
with gaining_query as (
    select distinct
        gain.gain_rule,
        judgment.query_id,
    from judgment
    inner join gain on judgment.grade = gain.grade
    where gain.gain > 0
)

select
    metric.metric_id,
    query.query_id,
    gaining_query.query_id is not null as is_relevant,
from metric
cross join query
left join gaining_query
    on
        metric.relevance_rule = gaining_query.gain_rule
        and query.query_id = gaining_query.query_id
where
    query.is_judged
    and query.is_drawn
    and (gaining_query.query_id is not null or metric.no_relevant <> 'exclude')
