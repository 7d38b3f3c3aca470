-- met_query: of each system's first judged queries, how many of its results are judged, at any depth.
-- grain:  one row per (system_id, query_id)
-- reads:  answered_query, judgment, query, ranking
-- params: queries
-- kind:   query
-- queries: how many of them are looked at, by query id. Where document ids of rankings and judgments are spelt
-- differently, met is 0. judged: how many documents of the query have a judgment.
with numbered_query as (
    select
        system_id,
        query_id,
        row_number() over (
            partition by system_id
            order by query_id
        ) as place,
    from answered_query
    where is_judged
),

looked_at as (
    select
        system_id,
        query_id,
    from numbered_query
    where place <= $queries
)

select
    ranking.system_id,
    ranking.query_id,
    count(*) as returned,
    count(judgment.doc_id) as met,
    max(query.judged) as judged,
from ranking
inner join looked_at
    on
        ranking.system_id = looked_at.system_id
        and ranking.query_id = looked_at.query_id
inner join query on ranking.query_id = query.query_id
left join judgment
    on
        ranking.query_id = judgment.query_id
        and ranking.doc_id = judgment.doc_id
group by
    ranking.system_id,
    ranking.query_id
