-- disagreeing_query: where the ranking's own ranks would show other scores in the top k than the scores themselves.
-- grain:  one row per (system_id, query_id)
-- reads:  ranking, suspicious_query
-- params: cutoff
-- places: how many of the top k places differ. Documents with equal scores may stand in any order, and so may
-- documents with equal ranks. Rankings without scores, or without ranks, cannot disagree. One sort key instead of
-- several lets DuckDB keep a top-n per query.
with result as (
    select
        ranking.system_id,
        ranking.query_id,
        ranking.doc_id,
        ranking.rank_given,
        ranking.order_score,
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

placed as (
    select
        system_id,
        query_id,
        order_score,
        row_number() over (
            partition by system_id, query_id
            order by { 'score': order_score, 'doc_id': doc_id } desc
        ) as rank,
    from result
    qualify rank <= $cutoff
),

own_place as (
    select
        system_id,
        query_id,
        order_score,
        row_number() over (
            partition by system_id, query_id
            order by { 'rank': -rank_given, 'score': order_score, 'doc_id': doc_id } desc
        ) as own_rank,
    from result
    qualify own_rank <= $cutoff
)

select
    placed.system_id,
    placed.query_id,
    count(*) as places,
from placed
inner join own_place
    on
        placed.system_id = own_place.system_id
        and placed.query_id = own_place.query_id
        and placed.rank = own_place.own_rank
where placed.order_score <> own_place.order_score
group by
    placed.system_id,
    placed.query_id
