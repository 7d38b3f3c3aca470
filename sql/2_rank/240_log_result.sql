-- log_result: one result of a logged query that was drawn for judging, or that all systems answer equally.
-- grain:  one row per (system_id, query_id, doc_id)
-- reads:  query, ranking
-- params: -
-- kind:   view
-- rank: from 1, by falling score. probability: 0 if all systems returned equal results when queries were drawn; else
-- the probability of being drawn. is_judged: whether the query has a judgment.
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
