-- query: every query that is judged or asked, with its text, weight and cluster where they are known.
-- grain:  one row per query_id
-- reads:  judgment, pulled_query
-- params: -
-- is_judged: has any judgment at all. judged: how many of its documents have one. is_named: is in the queries.
with judged_query as (
    select
        query_id,
        count(*) as judged,
    from judgment
    group by query_id
),

asked_query as (
    select
        query_id,
        max(text) as text,
        max(weight) as weight,
        max(cluster) as cluster,
    from pulled_query
    group by query_id
)

select
    coalesce(judged_query.query_id, asked_query.query_id) as query_id,
    asked_query.text,
    asked_query.weight,
    asked_query.cluster,
    judged_query.query_id is not null as is_judged,
    coalesce(judged_query.judged, 0) as judged,
    asked_query.query_id is not null as is_named,
from judged_query
full outer join asked_query on judged_query.query_id = asked_query.query_id
