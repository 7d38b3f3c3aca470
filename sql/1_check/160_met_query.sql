-- met_query: one of the first judged queries that a system answers, with the number of judged results.
-- grain:  one row per (system_id, query_id)
-- reads:  answered_query, judgment, pulled_answer, query, ranking
-- params: queries
-- kind:   query
-- returned: number of results. met: number of judged results at any rank; 0 if document ids of rankings and judgments
-- are spelt differently. judged: number of judged documents of the query. `queries`: number of queries per system, the
-- lowest ids first. For a ranking of which only the top was read, returned and met come from pulled_answer.
with numbered_query as (
    select
        system_id,
        query_id,
        row_number() over (
            partition by system_id
            order by query_id
        ) as number,
    from answered_query
    where is_judged
),

looked_at as (
    select
        system_id,
        query_id,
    from numbered_query
    where number <= $queries
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
