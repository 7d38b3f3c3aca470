-- tied_query: one query in which equal scores decide which documents are in the top k.
-- grain:  one row per (system_id, query_id)
-- reads:  pulled_placed_result, query, ranked_doc
-- params: cutoff, rank_rule
-- places: number of the top k places held by a document whose score another document has as well. looked_at: number of
-- results in the top k; at least as many have last_score or a higher score. If the places of results are known, those
-- of equal scores suffice. last_score: the score at the last of these places, which ties below the cutoff share.
with
-- only placed: no
neighbour as (
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
-- end

counted as (
    -- only placed: no
    select
        system_id,
        query_id,
        count(*) filter (where order_score = score_above or order_score = score_below) as places,
        count(*) as looked_at,
        min(order_score) as last_score,
    from neighbour
    where rank <= $cutoff
    group by
        system_id,
        query_id
    -- end
    -- only placed: yes
    union all
    select
        system_id,
        query_id,
        count(*) filter (where first_place < last_place and last_place <= $cutoff)
        + max(case when last_place > $cutoff then $cutoff - first_place + 1 else 0 end) as places,
        count(*) filter (where last_place <= $cutoff)
        + max(case when last_place > $cutoff then $cutoff - first_place + 1 else 0 end) as looked_at,
        min(score) + 0.0 as last_score,
    from pulled_placed_result
    where
        first_place <= $cutoff
        and query_id in (
            select query.query_id,
            from query
            where query.is_judged
        )
    group by
        system_id,
        query_id
-- end
)

select *, from counted
where places > 0
