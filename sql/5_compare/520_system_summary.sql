-- system_summary: the numbers of scored and of unanswered queries of one system on one metric.
-- grain:  one row per (system_id, metric_id)
-- reads:  metric, pulled_failed_query, query_score, scored_query, system
-- params: -
-- queries: number of scored queries, among them unanswered ones, unless the metric leaves them out; failed requests are
-- not counted. relevant_queries: number of scored queries with a judged document that has a gain. unanswered: number of
-- queries without results whose request did not fail. system_position, metric_position: 0, 1, 2 … in the configured
-- order. Mean and median are computed outside the SQL, from exact sums.
with expected_query as (
    select
        system.system_id,
        system.position as system_position,
        metric.metric_id,
        metric.name as metric,
        metric.position as metric_position,
        scored_query.query_id,
        scored_query.is_relevant,
    from metric
    cross join system
    left join scored_query on metric.metric_id = scored_query.metric_id
)

select
    expected_query.system_id,
    expected_query.system_position,
    expected_query.metric_id,
    expected_query.metric,
    expected_query.metric_position,
    count(query_score.query_id) as queries,
    count(query_score.query_id) filter (where expected_query.is_relevant) as relevant_queries,
    count(expected_query.query_id) filter (
        where pulled_failed_query.query_id is null and not coalesce(query_score.is_answered, false)
    ) as unanswered,
from expected_query
left join query_score
    on
        expected_query.system_id = query_score.system_id
        and expected_query.metric_id = query_score.metric_id
        and expected_query.query_id = query_score.query_id
left join pulled_failed_query
    on
        expected_query.system_id = pulled_failed_query.system_id
        and expected_query.query_id = pulled_failed_query.query_id
group by
    expected_query.system_id,
    expected_query.system_position,
    expected_query.metric_id,
    expected_query.metric,
    expected_query.metric_position
