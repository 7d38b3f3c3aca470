-- answered_query: one query that a system answers, with the number of results and extremes of ranks and scores.
-- grain:  one row per (system_id, query_id)
-- reads:  pulled_answer, query, ranking
-- params: -
-- returned: number of results. lowest_rank, highest_rank, lowest_score, highest_score: null if the ranking has no
-- ranks, or no scores. has_plain_ranks: whether the given ranks are lowest_rank, lowest_rank + 1 … highest_rank, each
-- once; null without ranks. is_judged: whether the query has a judgment. The rows of a ranking that was reduced while
-- it was read come from pulled_answer, and their ranks are plain.
-- Inside: ranks are plain if their sum and their sum of squares are right. The sums are exact; ranks beyond 10^12 never
-- count as plain. DuckDB makes a decimal of 18 digits from two decimals of up to 18 digits, so all decimals here have
-- more digits.
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
    -- only reduced: yes
    where system_id not in (select reduced.system_id, from pulled_answer as reduced)
    -- end
    group by
        system_id,
        query_id
),

whole_answer as (
    select
        system_id,
        query_id,
        returned,
        lowest_rank,
        highest_rank,
        case
            when lowest_rank is null then null
            when
                highest_rank - lowest_rank + 1 <> returned
                or greatest(abs(lowest_rank), abs(highest_rank)) > 1000000000000
                then false
            else
                2 * rank_sum
                = cast(returned as decimal(19, 0))
                * cast(lowest_rank + highest_rank as decimal(19, 0))
                and 6 * (
                    square_sum
                    - 2 * cast(lowest_rank as decimal(19, 0)) * cast(rank_sum as decimal(25, 0))
                    + cast(lowest_rank as decimal(19, 0))
                    * cast(lowest_rank as decimal(19, 0))
                    * cast(returned as decimal(19, 0))
                )
                = cast(returned as decimal(19, 0))
                * cast(returned - 1 as decimal(19, 0))
                * cast(2 * returned - 1 as decimal(19, 0))
        end as has_plain_ranks,
        lowest_score,
        highest_score,
    from answer
),

every_answer as (
    -- only reduced: no
    select *, from whole_answer
    -- end
    -- only reduced: yes
    union all
    select
        system_id,
        query_id,
        returned,
        lowest_rank,
        highest_rank,
        has_plain_ranks,
        lowest_score,
        highest_score,
    from pulled_answer
    -- end
)

select
    every_answer.system_id,
    every_answer.query_id,
    every_answer.returned,
    every_answer.lowest_rank,
    every_answer.highest_rank,
    every_answer.has_plain_ranks,
    every_answer.lowest_score,
    every_answer.highest_score,
    coalesce(query.is_judged, false) as is_judged,
from every_answer
left join query on every_answer.query_id = query.query_id
