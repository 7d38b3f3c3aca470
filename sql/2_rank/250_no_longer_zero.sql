-- no_longer_zero: one query whose results were equal when queries were drawn, and differ now.
-- grain:  one row per (candidate, query_id)
-- reads:  log_result, metric, pulled_failed_query, system
-- params: -
-- kind:   query
-- first_rank: the first rank that differs. The queries have probability 0: all systems returned equal results when
-- queries were drawn. Results are compared down to the deepest cutoff of the metrics. Queries with a failed request are
-- left out.
with deepest as (
    select max(coalesce(cutoff, 2147483647)) as depth,
    from metric
),

side as (
    select
        candidate.system_id as candidate,
        baseline.system_id,
    from system as candidate
    inner join system as baseline on candidate.system_id = baseline.system_id or baseline.role = 'baseline'
    where candidate.role = 'candidate'
),

failed as (
    select distinct
        side.candidate,
        pulled_failed_query.query_id,
    from pulled_failed_query
    inner join side on pulled_failed_query.system_id = side.system_id
),

shown_alike as (
    select
        side.candidate,
        log_result.query_id,
        log_result.doc_id,
        log_result.rank,
        count(*) as sides,
    from log_result
    inner join side on log_result.system_id = side.system_id
    where
        log_result.probability = 0.0
        and log_result.rank <= (select deepest.depth, from deepest)
    group by
        side.candidate,
        log_result.query_id,
        log_result.doc_id,
        log_result.rank
)

select
    shown_alike.candidate,
    shown_alike.query_id,
    min(shown_alike.rank) as first_rank,
from shown_alike
left join failed on shown_alike.candidate = failed.candidate and shown_alike.query_id = failed.query_id
where
    shown_alike.sides < 2
    and failed.query_id is null
group by
    shown_alike.candidate,
    shown_alike.query_id
