-- uncounted_query: one query with a grade above 0 in which a metric counts no document as relevant.
-- grain:  one row per (metric_id, query_id)
-- reads:  judgment, metric, query, scored_query
-- params: -
-- kind:   query
-- If queries were drawn for judging, all others are left out.
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
