-- answered_query: how many documents each system returned for each query, which ranks they bear, which scores.
-- grain:  one row per (system_id, query_id)
-- reads:  query, ranking
-- params: -
-- has_plain_ranks: its own ranks are lowest_rank, lowest_rank + 1 … to highest_rank, each once, as their sum and the
-- sum of their squares tell, both exact (ranks beyond 10^12 are never taken for plain ones); null where it has none.
-- Scores and ranks are null where a ranking has none.
with answer as (
    select
        system_id,
        query_id,
        count(*) as returned,
        min(rank_given) as lowest_rank,
        max(rank_given) as highest_rank,
        sum(cast(rank_given as decimal(19, 0))) as rank_sum,
        sum(
            cast(least(greatest(rank_given, -1000000000000), 1000000000000) as decimal(19, 0))
            * cast(least(greatest(rank_given, -1000000000000), 1000000000000) as decimal(19, 0))
        ) as square_sum,
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
    case
        when answer.lowest_rank is null then null
        when
            answer.highest_rank - answer.lowest_rank + 1 <> answer.returned
            or greatest(abs(answer.lowest_rank), abs(answer.highest_rank)) > 1000000000000
            then false
        else
            2 * answer.rank_sum
            = cast(answer.returned as decimal(18, 0))
            * cast(answer.lowest_rank + answer.highest_rank as decimal(18, 0))
            and 6 * (
                answer.square_sum
                - 2 * cast(answer.lowest_rank as decimal(13, 0)) * cast(answer.rank_sum as decimal(25, 0))
                + cast(answer.lowest_rank as decimal(13, 0))
                * cast(answer.lowest_rank as decimal(13, 0))
                * cast(answer.returned as decimal(12, 0))
            )
            = cast(answer.returned as decimal(12, 0))
            * cast(answer.returned - 1 as decimal(12, 0))
            * cast(2 * answer.returned - 1 as decimal(13, 0))
    end as has_plain_ranks,
    answer.lowest_score,
    answer.highest_score,
    coalesce(query.is_judged, false) as is_judged,
from answer
left join query on answer.query_id = query.query_id
