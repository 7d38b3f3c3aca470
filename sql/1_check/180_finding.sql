-- finding: one example of a finding that the data check reports before scoring.
-- grain:  one row per (code, subject, example)
-- reads:  answered_query, judgment, odd_answer, pulled_failed_query, query, system
-- params: -
-- code: code of the finding. subject: the system; an empty text if the finding is about judgments. example: 1 to 5, by
-- query_id and doc_id. query_id, doc_id: the example; doc_id is an empty text if the finding is about a query. count:
-- number of queries, judgments or results with the finding. queries: number of different queries among them.
with judged_system as (
    select
        system.system_id,
        query.query_id,
        answered_query.query_id is not null as is_answered,
    from system
    cross join query
    left join answered_query
        on
            system.system_id = answered_query.system_id
            and query.query_id = answered_query.query_id
    left join pulled_failed_query
        on
            system.system_id = pulled_failed_query.system_id
            and query.query_id = pulled_failed_query.query_id
    where
        query.is_judged
        and pulled_failed_query.query_id is null
),

silent_system as (
    select system_id,
    from judged_system
    group by system_id
    having count(*) filter (where is_answered) = 0
),

best_grade as (
    select
        query_id,
        max(grade) as grade,
    from judgment
    group by query_id
),

noticed as (
    select
        'no_shared_query' as code,
        system_id as subject,
        query_id,
        '' as doc_id,
        1 as copies,
    from judged_system
    where system_id in (select silent_system.system_id, from silent_system)
    union all
    select
        'unanswered_query' as code,
        system_id as subject,
        query_id,
        '' as doc_id,
        1 as copies,
    from judged_system
    where not is_answered
    union all
    select
        'unjudged_query' as code,
        system_id as subject,
        query_id,
        '' as doc_id,
        1 as copies,
    from answered_query
    where not is_judged
    union all
    select
        code,
        system_id as subject,
        query_id,
        '' as doc_id,
        amount as copies,
    from odd_answer
    union all
    select
        'no_relevant_query' as code,
        '' as subject,
        query_id,
        '' as doc_id,
        1 as copies,
    from best_grade
    where grade <= 0
    union all
    select
        'negative_grade' as code,
        '' as subject,
        query_id,
        doc_id,
        1 as copies,
    from judgment
    where grade < 0
    union all
    select
        'fractional_grade' as code,
        '' as subject,
        query_id,
        doc_id,
        1 as copies,
    from judgment
    where grade <> floor(grade)
    union all
    select
        'repeated_judgment' as code,
        '' as subject,
        query_id,
        doc_id,
        copies - 1 as copies,
    from judgment
    where copies > 1
),

counted as (
    select
        code,
        subject,
        count(distinct query_id) as queries,
        cast(sum(copies) as bigint) as count,
    from noticed
    group by
        code,
        subject
),

numbered as (
    select
        code,
        subject,
        query_id,
        doc_id,
        row_number() over (
            partition by code, subject
            order by query_id, doc_id
        ) as example,
    from noticed
)

select
    numbered.code,
    numbered.subject,
    numbered.example,
    numbered.query_id,
    numbered.doc_id,
    counted.count,
    counted.queries,
from numbered
inner join counted
    on
        numbered.code = counted.code
        and numbered.subject = counted.subject
where numbered.example <= 5
