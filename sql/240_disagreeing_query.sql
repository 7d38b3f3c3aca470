-- disagreeing_query: where the ranking's own ranks put other documents into the top k, or in another order.
-- grain:  one row per (system_id, query_id)
-- reads:  answered_query, ranked_doc
-- params: cutoff, rank_rule
-- Documents with equal scores may stand in any order. Where the ranks have no gaps, every document must stand
-- within its group of equal scores; where they have, the ranks must rise as the scores fall.
with place as (
    select
        ranked_doc.system_id,
        ranked_doc.query_id,
        ranked_doc.rank,
        ranked_doc.order_score,
        ranked_doc.rank_given,
        ranked_doc.rank_given - answered_query.lowest_rank + 1 as own_rank,
        answered_query.highest_rank - answered_query.lowest_rank + 1 = answered_query.returned as has_no_gaps,
    from ranked_doc
    inner join answered_query
        on
            ranked_doc.system_id = answered_query.system_id
            and ranked_doc.query_id = answered_query.query_id
    where
        ranked_doc.rank_rule = $rank_rule
        and ranked_doc.rank <= $cutoff + 1
),

neighbour as (
    select
        system_id,
        query_id,
        rank,
        order_score,
        rank_given,
        own_rank,
        has_no_gaps,
        lag(order_score) over (
            partition by system_id, query_id
            order by rank
        ) as score_above,
        lag(rank_given) over (
            partition by system_id, query_id
            order by rank
        ) as rank_above,
        min(rank) over (partition by system_id, query_id, order_score) as first_rank,
        max(rank) over (partition by system_id, query_id, order_score) as last_rank,
    from place
)

select
    system_id,
    query_id,
    count(*) as places,
from neighbour
where
    rank <= $cutoff
    and case
        when has_no_gaps then own_rank < first_rank or (own_rank > last_rank and last_rank <= $cutoff)
        else rank_given < rank_above and order_score < score_above
    end
group by
    system_id,
    query_id
