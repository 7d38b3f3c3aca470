-- tied_query: one query whose top k contains equal scores, so that ties decide ranks.
-- grain:  one row per (system_id, query_id)
-- reads:  ranked_doc
-- params: cutoff, rank_rule
-- k is `cutoff`. ranks: number of the top k ranks whose document has the same score as another document. looked_at:
-- number of results in the top k. last_score: the lowest score in the top k; results below rank k may have it, too.
with neighbour as (
    select
        system_id,
        query_id,
        rank,
        order_score,
        lag(order_score) over (
            partition by system_id, query_id
            order by rank
        ) as score_above,
        lead(order_score) over (
            partition by system_id, query_id
            order by rank
        ) as score_below,
    from ranked_doc
    where
        rank_rule = $rank_rule
        and rank <= cast($cutoff as bigint) + 1
),

counted as (
    select
        system_id,
        query_id,
        count(*) filter (where order_score = score_above or order_score = score_below) as ranks,
        count(*) as looked_at,
        min(order_score) as last_score,
    from neighbour
    where rank <= $cutoff
    group by
        system_id,
        query_id
)

select *, from counted
where ranks > 0
