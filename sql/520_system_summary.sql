-- system_summary: how many queries stand behind a system's value, and how many it left unanswered.
-- grain:  one row per (system_id, metric_id)
-- reads:  query_score, scored_query, system
-- params: -
-- Unanswered queries are among the queries, unless the metric leaves them out. Mean and median are taken
-- outside, with an exact sum.
with expected_query as (
    select
        system.system_id,
        scored_query.metric_id,
        scored_query.query_id,
    from scored_query
    cross join system
)

select
    expected_query.system_id,
    expected_query.metric_id,
    count(query_score.query_id) as queries,
    count(*) filter (where not coalesce(query_score.is_answered, false)) as unanswered,
from expected_query
left join query_score
    on
        expected_query.system_id = query_score.system_id
        and expected_query.metric_id = query_score.metric_id
        and expected_query.query_id = query_score.query_id
group by
    expected_query.system_id,
    expected_query.metric_id
