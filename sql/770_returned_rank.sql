-- returned_rank: at which rank a system returned each relevant document, in the order of the first metric.
-- grain:  one row per (query_id, doc_id)
-- reads:  judgment, metric, ordered_result
-- params: system_id
-- kind:   query
-- Documents that it did not return are not here.
with relevant_result as (
    select
        ordered_result.rank_rule,
        ordered_result.query_id,
        ordered_result.doc_id,
        ordered_result.ties,
        ordered_result.order_score,
    from ordered_result
    inner join metric on ordered_result.rank_rule = metric.rank_rule
    inner join judgment
        on
            ordered_result.query_id = judgment.query_id
            and ordered_result.doc_id = judgment.doc_id
    where
        metric.place = 0
        and ordered_result.system_id = $system_id
        and judgment.grade > 0
)

select
    relevant_result.query_id,
    relevant_result.doc_id,
    count(*) as rank,
from relevant_result
inner join ordered_result
    on
        relevant_result.rank_rule = ordered_result.rank_rule
        and relevant_result.query_id = ordered_result.query_id
where
    ordered_result.system_id = $system_id
    and (
        ordered_result.order_score > relevant_result.order_score
        or (
            ordered_result.order_score = relevant_result.order_score
            and case
                when relevant_result.ties = 'doc_id_asc' then ordered_result.doc_id <= relevant_result.doc_id
                else ordered_result.doc_id >= relevant_result.doc_id
            end
        )
    )
group by
    relevant_result.query_id,
    relevant_result.doc_id
