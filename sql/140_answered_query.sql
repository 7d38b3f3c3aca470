-- answered_query: how many documents each system returned for each query, and which ranks they bear.
-- grain:  one row per (system_id, query_id)
-- reads:  query, ranking
-- params: cutoff
-- early_ranks: how many of its own ranks lie in the first `cutoff`, counted from 1; early_ranks_from_0: from 0.
with answer as (
    select
        system_id,
        query_id,
        count(*) as returned,
        min(rank_given) as lowest_rank,
        count(*) filter (where rank_given <= $cutoff) as early_ranks,
        count(*) filter (where rank_given < $cutoff) as early_ranks_from_0,
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
    answer.early_ranks,
    answer.early_ranks_from_0,
    coalesce(query.is_judged, false) as is_judged,
from answer
left join query on answer.query_id = query.query_id
