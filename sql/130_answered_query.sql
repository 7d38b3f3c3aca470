-- answered_query: how many documents each system returned for each query, and between which ranks of its own.
-- grain:  one row per (system_id, query_id)
-- reads:  query, ranking
-- params: -
with answer as (
    select
        system_id,
        query_id,
        count(*) as returned,
        min(rank_given) as lowest_rank,
        max(rank_given) as highest_rank,
    from ranking
    group by
        system_id,
        query_id
)

select
    answer.system_id,
    answer.query_id,
    answer.returned,
    answer.lowest_rank,
    answer.highest_rank,
    coalesce(query.is_judged, false) as is_judged,
from answer
left join query on answer.query_id = query.query_id
