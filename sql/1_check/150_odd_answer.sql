-- odd_answer: one answer whose given ranks are not 1, 2, 3 … each once, or whose scores are all equal.
-- grain:  one row per (code, system_id, query_id)
-- reads:  answered_query, ranking
-- params: -
-- code: kind of oddity. amount: for repeated ranks without scores the number of results with a rank that another result
-- has, else 1. Ranks are missing if their range exceeds the number of results; otherwise ranks that are not plain are
-- repeated.
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
