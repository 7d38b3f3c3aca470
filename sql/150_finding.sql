-- finding: what the data check noticed before anything was scored.
-- grain:  one row per (code, subject)
-- reads:  answered_query, judgment, pulled_failed_query, pulled_judgment, query, ranking, system
-- params: -
-- severity: error (stops the evaluation), warning (read it before believing a number), note.
-- count: how many queries, judgments or results it concerns; example: the first of them.
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

no_shared_query as (
    select
        'no_shared_query' as code,
        'error' as severity,
        system_id as subject,
        count(*) as count,
        min(query_id) as example,
    from judged_system
    group by system_id
    having count(*) filter (where is_answered) = 0
),

unanswered_query as (
    select
        'unanswered_query' as code,
        'warning' as severity,
        system_id as subject,
        count(*) as count,
        min(query_id) as example,
    from judged_system
    where not is_answered
    group by system_id
),

unjudged_query as (
    select
        'unjudged_query' as code,
        'note' as severity,
        system_id as subject,
        count(*) as count,
        min(query_id) as example,
    from answered_query
    where not is_judged
    group by system_id
),

best_grade as (
    select
        query_id,
        max(grade) as grade,
    from judgment
    group by query_id
),

no_relevant_query as (
    select
        'no_relevant_query' as code,
        'note' as severity,
        'judgments' as subject,
        count(*) as count,
        min(query_id) as example,
    from best_grade
    where grade <= 0
),

negative_grade as (
    select
        'negative_grade' as code,
        'note' as severity,
        'judgments' as subject,
        count(*) as count,
        min(query_id) as example,
    from judgment
    where grade < 0
),

copied_judgment as (
    select
        query_id,
        count(*) - 1 as copies,
    from pulled_judgment
    group by
        query_id,
        doc_id
    having count(*) > 1
),

repeated_judgment as (
    select
        'repeated_judgment' as code,
        'note' as severity,
        'judgments' as subject,
        cast(coalesce(sum(copies), 0) as bigint) as count,
        min(query_id) as example,
    from copied_judgment
),

shared_rank as (
    select
        system_id,
        query_id,
        count(*) - 1 as copies,
    from ranking
    where score is null
    group by
        system_id,
        query_id,
        rank_given
    having count(*) > 1
),

repeated_rank as (
    select
        'repeated_rank' as code,
        'warning' as severity,
        system_id as subject,
        cast(sum(copies) as bigint) as count,
        min(query_id) as example,
    from shared_rank
    group by system_id
)

select *, from no_shared_query
union all
select *, from unanswered_query
union all
select *, from repeated_rank
union all
select *, from unjudged_query
union all
select *, from no_relevant_query
where count > 0
union all
select *, from negative_grade
where count > 0
union all
select *, from repeated_judgment
where count > 0
