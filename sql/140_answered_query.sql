-- answered_query: how many documents each system returned for each query, which ranks they bear, which scores.
-- grain:  one row per (system_id, query_id)
-- reads:  query, ranking
-- params: -
-- has_plain_ranks: its own ranks are lowest_rank, lowest_rank + 1 … to highest_rank, each once, as their sum and the
-- sum of their squares tell; null where it has none. Scores and ranks are null where a ranking has none.
with answer as (
    select
        system_id,
        query_id,
        count(*) as returned,
        min(rank_given) as lowest_rank,
        max(rank_given) as highest_rank,
        cast(sum(rank_given) as double) as rank_sum,
        sum(cast(rank_given as double) * rank_given) as square_sum,
        min(score) as lowest_score,
        max(score) as highest_score,
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
    cast(answer.highest_rank as double) - answer.lowest_rank + 1 = answer.returned
    and answer.rank_sum = answer.returned * (cast(answer.lowest_rank as double) + answer.highest_rank) / 2
    and answer.square_sum - 2.0 * answer.lowest_rank * answer.rank_sum
    + cast(answer.lowest_rank as double) * answer.lowest_rank * answer.returned
    = answer.returned * (answer.returned - 1.0) * (2.0 * answer.returned - 1.0) / 6.0 as has_plain_ranks,
    answer.lowest_score,
    answer.highest_score,
    coalesce(query.is_judged, false) as is_judged,
from answer
left join query on answer.query_id = query.query_id
