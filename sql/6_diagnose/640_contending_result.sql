-- contending_result: one result in the top k by score or by given rank, if the two may differ.
-- grain:  one row per (system_id, query_id, doc_id)
-- reads:  ranking, suspicious_query
-- params: cutoff
-- k is `cutoff`. Results that tie with the last of the top k are included, and all results of a query with at most k.
-- Rankings without scores or without ranks have no rows.
-- Inside: windows have one sort key, so that DuckDB can compute a top-n per query.
with result as (
    select
        ranking.system_id,
        ranking.query_id,
        ranking.doc_id,
        ranking.rank_given,
        ranking.order_score,
        suspicious_query.returned,
    from ranking
    inner join suspicious_query
        on
            ranking.system_id = suspicious_query.system_id
            and ranking.query_id = suspicious_query.query_id
    where
        ranking.query_id in (select few.query_id, from suspicious_query as few)
        and ranking.score is not null
        and ranking.rank_given is not null
),

high_score as (
    select
        system_id,
        query_id,
        order_score,
        row_number() over (
            partition by system_id, query_id
            order by { 'score': order_score, 'doc_id': doc_id } desc
        ) as position,
    from result
    where returned > $cutoff
    qualify position <= $cutoff
),

low_rank as (
    select
        system_id,
        query_id,
        rank_given,
        row_number() over (
            partition by system_id, query_id
            order by { 'rank': rank_given, 'doc_id': doc_id } asc
        ) as position,
    from result
    where returned > $cutoff
    qualify position <= $cutoff
),

last_score as (
    select
        system_id,
        query_id,
        min(order_score) as order_score,
    from high_score
    group by
        system_id,
        query_id
),

last_rank as (
    select
        system_id,
        query_id,
        max(rank_given) as rank_given,
    from low_rank
    group by
        system_id,
        query_id
)

select
    result.system_id,
    result.query_id,
    result.doc_id,
    result.rank_given,
    result.order_score,
from result
left join last_score
    on
        result.system_id = last_score.system_id
        and result.query_id = last_score.query_id
left join last_rank
    on
        result.system_id = last_rank.system_id
        and result.query_id = last_rank.query_id
where
    result.returned <= $cutoff
    or result.order_score >= last_score.order_score
    or result.rank_given <= last_rank.rank_given
