-- odd_answer: one oddity of an answer: ranks other than 1, 2, 3 …, or equal scores throughout.
-- grain:  one row per (code, system_id, query_id)
-- reads:  answered_query, ranking
-- params: -
-- code: kind of oddity: repeated_rank, rank_gap, rank_below_one or constant_score. amount: for repeated_rank without
-- scores the number of surplus results (2 if three share a rank); for rank_below_one 2 if a rank is below 0; else 1.
-- Ranks have a gap if the first is above 1, or their range exceeds the number of results. With scores, ranks that are
-- not plain and have no gap between them are repeated.
with shared_rank as (
    select
        ranking.system_id,
        ranking.query_id,
        count(*) - 1 as copies,
    from ranking
    inner join answered_query
        on
            ranking.system_id = answered_query.system_id
            and ranking.query_id = answered_query.query_id
    where ranking.score is null and not answered_query.has_plain_ranks
    group by
        ranking.system_id,
        ranking.query_id,
        ranking.rank_given
    having count(*) > 1
)

select
    'repeated_rank' as code,
    system_id,
    query_id,
    cast(sum(copies) as bigint) as amount,
from shared_rank
group by
    system_id,
    query_id
union all
select
    'repeated_rank' as code,
    system_id,
    query_id,
    1 as amount,
from answered_query
where
    lowest_score is not null
    and not has_plain_ranks
    and cast(highest_rank as double) - lowest_rank < returned
union all
select
    'rank_gap' as code,
    system_id,
    query_id,
    1 as amount,
from answered_query
where lowest_rank > 1 or cast(highest_rank as double) - lowest_rank >= returned
union all
select
    'rank_below_one' as code,
    system_id,
    query_id,
    case when lowest_rank < 0 then 2 else 1 end as amount,
from answered_query
where lowest_rank < 1
union all
select
    'constant_score' as code,
    system_id,
    query_id,
    1 as amount,
from answered_query
where returned > 1 and lowest_score = highest_score
