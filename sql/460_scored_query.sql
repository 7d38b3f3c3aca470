-- scored_query: the queries that a metric counts, the same ones for every system.
-- grain:  one row per (metric_id, query_id)
-- reads:  gain, judgment, metric
-- params: -
-- A query without any gain among its judgments has no best order; it is left out for everybody.
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
    gaining_query.query_id,
from metric
inner join gaining_query on metric.relevance_rule = gaining_query.gain_rule
