-- no_longer_zero: queries whose difference counts as 0, and whose results are not the same in every system.
-- grain:  one row per query_id
-- reads:  metric, query, ranking, system
-- params: -
-- kind:   query
-- Down to the deepest cutoff of the metrics; first_rank: the first place that is not the same. The queries are those
-- with probability 0, which all systems answered alike when queries were drawn; their documents are not judged, so that
-- ranked_doc does not hold them.
with deepest as (
    select max(coalesce(cutoff, 2147483647)) as depth,
    from metric
),

zero_query as (
    select query_id,
    from query
    where probability = 0.0
),

placed as (
    select
        ranking.query_id,
        ranking.doc_id,
        row_number() over (
            partition by ranking.system_id, ranking.query_id
            order by ranking.order_score desc, ranking.doc_id desc
        ) as rank,
    from ranking
    inner join zero_query on ranking.query_id = zero_query.query_id
),

shown_alike as (
    select
        query_id,
        doc_id,
        rank,
        count(*) as systems,
    from placed
    where rank <= (select deepest.depth, from deepest)
    group by
        query_id,
        doc_id,
        rank
)

select
    query_id,
    min(rank) as first_rank,
from shown_alike
where systems < (select count(*) as systems, from system)
group by query_id
