-- own_order: the queries of a system with equal grades by given rank and equal judged grades.
-- grain:  one row per (system_id, grades, judged)
-- reads:  contending_result, disagreeing_query, judgment
-- params: depth
-- grades: the grades of the top `depth` results in the order of given ranks; null if unjudged. judged: all grades of
-- the query, lowest first. query_ids: the queries with these two lists, on which each metric has one value.
with ranked as (
    select
        contending_result.system_id,
        contending_result.query_id,
        judgment.grade,
        row_number() over (
            partition by contending_result.system_id, contending_result.query_id
            order by contending_result.rank_given asc, contending_result.doc_id desc
        ) as rank,
    from contending_result
    left join judgment
        on
            contending_result.query_id = judgment.query_id
            and contending_result.doc_id = judgment.doc_id
    where contending_result.system_id in (select disagreeing_query.system_id, from disagreeing_query)
),

own as (
    select
        system_id,
        query_id,
        list(grade order by rank) as grades,
    from ranked
    where rank <= $depth
    group by
        system_id,
        query_id
),

judged_query as (
    select
        query_id,
        list(grade order by grade) as judged,
    from judgment
    where query_id in (select own.query_id, from own)
    group by query_id
)

select
    own.system_id,
    own.grades,
    judged_query.judged,
    list(own.query_id) as query_ids,
from own
inner join judged_query on own.query_id = judged_query.query_id
group by
    own.system_id,
    own.grades,
    judged_query.judged
