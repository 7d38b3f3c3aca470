-- answered_query: how many documents each system returned for each query.
-- grain:  one row per (system_id, query_id)
-- reads:  query, ranking
-- params: -
with answer as (
    select
        system_id,
        query_id,
        count(*) as returned,
    from ranking
    group by
        system_id,
        query_id
)

select
    answer.system_id,
    answer.query_id,
    answer.returned,
    coalesce(query.is_judged, false) as is_judged,
from answer
left join query on answer.query_id = query.query_id
