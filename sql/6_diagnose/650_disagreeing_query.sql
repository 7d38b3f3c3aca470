-- disagreeing_query: one query whose top k by given rank has other scores, rank by rank, than its top k by score.
-- grain:  one row per (system_id, query_id)
-- reads:  contending_result
-- params: cutoff
-- k is `cutoff`. ranks: number of the top k ranks with different scores in the two orders. first_rank: the first of
-- these ranks. Documents with equal scores, or with equal ranks, may be in any order. Rankings without scores or
-- without ranks have no rows.
with ranked as (
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
    ranked.system_id,
    ranked.query_id,
    count(*) as ranks,
    min(ranked.rank) as first_rank,
from ranked
inner join ranked as own
    on
        ranked.system_id = own.system_id
        and ranked.query_id = own.query_id
        and ranked.rank = own.own_rank
where
    ranked.rank <= $cutoff
    and ranked.order_score <> own.order_score
group by
    ranked.system_id,
    ranked.query_id
