-- disagreeing_query: one query whose given ranks put other scores into the top k than the scores do.
-- grain:  one row per (system_id, query_id)
-- reads:  contending_result
-- params: cutoff
-- places: how many of the top k places differ. first_place: the first of them. Documents with equal scores may be in
-- any order, and so may documents with equal ranks. Rankings without scores, or without ranks, cannot disagree.
with placed as (
    select
        system_id,
        query_id,
        order_score,
        row_number() over (
            partition by system_id, query_id
            order by order_score desc, doc_id desc
        ) as rank,
        row_number() over (
            partition by system_id, query_id
            order by rank_given asc, order_score desc, doc_id desc
        ) as own_rank,
    from contending_result
)

select
    placed.system_id,
    placed.query_id,
    count(*) as places,
    min(placed.rank) as first_place,
from placed
inner join placed as own_place
    on
        placed.system_id = own_place.system_id
        and placed.query_id = own_place.query_id
        and placed.rank = own_place.own_rank
where
    placed.rank <= $cutoff
    and placed.order_score <> own_place.order_score
group by
    placed.system_id,
    placed.query_id
