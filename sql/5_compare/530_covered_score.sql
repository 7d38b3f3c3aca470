-- covered_score: the value of one metric for one query and system, with the judged share.
-- grain:  one row per (system_id, query_id, metric_id)
-- reads:  coverage, query_score
-- params: -
-- kind:   query
-- judged: share of judged results within the metric's cutoff, 0 to 1; null without results.
select
    query_score.system_id,
    query_score.query_id,
    query_score.metric_id,
    query_score.value,
    coverage.judged,
from query_score
left join coverage
    on
        query_score.system_id = coverage.system_id
        and query_score.query_id = coverage.query_id
        and query_score.metric_id = coverage.metric_id
