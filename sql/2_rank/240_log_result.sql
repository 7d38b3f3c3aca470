-- log_result: one result of a query of a log that was drawn for judging, or is known to be unchanged.
-- grain:  one row per (system_id, query_id, doc_id)
-- reads:  query, ranking
-- params: -
-- kind:   view
select
    ranking.system_id,
    ranking.query_id,
    ranking.doc_id,
    query.probability,
    query.is_judged,
    row_number() over (
        partition by ranking.system_id, ranking.query_id
        order by ranking.order_score desc, ranking.doc_id desc
    ) as rank,
from ranking
inner join query on ranking.query_id = query.query_id
where query.probability is not null
