-- first_result: what every system shows first of drawn queries that nobody has judged.
-- grain:  one row per (system_id, query_id, doc_id)
-- reads:  metric, query, ranking
-- params: -
-- kind:   query
-- Down to the deepest cutoff of the metrics, to place 10 where one has none: their documents are to be judged next.
with placed as (
    select
        ranking.system_id,
        ranking.query_id,
        ranking.doc_id,
        row_number() over (
            partition by ranking.system_id, ranking.query_id
            order by ranking.order_score desc, ranking.doc_id desc
        ) as rank,
    from ranking
    inner join query on ranking.query_id = query.query_id
    where
        query.probability > 0.0
        and not query.is_judged
)

select
    system_id,
    query_id,
    doc_id,
    rank,
from placed
where rank <= (select max(coalesce(metric.cutoff, 10)) as depth, from metric)
