-- tied_query: one query in which equal scores decide which documents are in the top k.
-- grain:  one row per (system_id, query_id)
-- reads:  pulled_ranked_result, query, ranked_doc
-- params: cutoff, rank_rule
-- ranks: number of the top k ranks whose document has the same score as another document. looked_at: number of
-- results in the top k; at least as many have last_score or a higher score. last_score: the lowest score in the top k,
-- which results below rank k may share. If `ranked` is yes, the ranks of pulled_ranked_result are counted instead.
with
-- only ranked: no
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
    -- only ranked: no
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
    -- end
    -- only ranked: yes
    union all
    select
        system_id,
        query_id,
        count(*) filter (where first_rank < last_rank and last_rank <= $cutoff)
        + max(case when last_rank > $cutoff then $cutoff - first_rank + 1 else 0 end) as ranks,
        count(*) filter (where last_rank <= $cutoff)
        + max(case when last_rank > $cutoff then $cutoff - first_rank + 1 else 0 end) as looked_at,
        min(score) + 0.0 as last_score,
    from pulled_ranked_result
    where
        first_rank <= $cutoff
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
where ranks > 0
