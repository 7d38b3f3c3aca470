-- uncounted_query: one query that has a grade above 0, but is not scored by a metric.
-- grain:  one row per (metric_id, query_id)
-- reads:  judgment, metric, query, scored_query
-- params: -
-- kind:   query
with positive_query as (
    select distinct judgment.query_id,
    from judgment
    inner join query on judgment.query_id = query.query_id
    where
        judgment.grade > 0
        and query.is_drawn
)

select
    metric.metric_id,
    positive_query.query_id,
from metric
cross join positive_query
left join scored_query
    on
        metric.metric_id = scored_query.metric_id
        and positive_query.query_id = scored_query.query_id
where not coalesce(scored_query.is_relevant, false)
