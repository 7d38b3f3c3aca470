-- met_query: of each system's first judged queries, how many of its results are judged, at any depth.
-- grain:  one row per (system_id, query_id)
-- reads:  answered_query, judgment, pulled_answer, query, ranking
-- params: queries
-- kind:   query
-- queries: how many of them are looked at, by query id. Where document ids of rankings and judgments are spelt
-- differently, met is 0. judged: how many documents of the query have a judgment. Of a system whose ranking was reduced
-- while it was read, the numbers came with it.
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
),

counted as (
    -- only reduced: no
    select
        ranking.system_id,
        ranking.query_id,
        count(*) as returned,
        count(judgment.doc_id) as met,
    from ranking
    inner join looked_at
        on
            ranking.system_id = looked_at.system_id
            and ranking.query_id = looked_at.query_id
    left join judgment
        on
            ranking.query_id = judgment.query_id
            and ranking.doc_id = judgment.doc_id
    where
        ranking.query_id in (select few.query_id, from looked_at as few)
        and ranking.system_id not in (select reduced.system_id, from pulled_answer as reduced)
    group by
        ranking.system_id,
        ranking.query_id
    -- end
    -- only reduced: yes
    union all
    select
        pulled_answer.system_id,
        pulled_answer.query_id,
        pulled_answer.returned,
        pulled_answer.met,
    from pulled_answer
    inner join looked_at
        on
            pulled_answer.system_id = looked_at.system_id
            and pulled_answer.query_id = looked_at.query_id
-- end
)

select
    counted.system_id,
    counted.query_id,
    counted.returned,
    counted.met,
    query.judged,
from counted
inner join query on counted.query_id = query.query_id
