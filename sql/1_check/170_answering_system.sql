-- answering_system: one system that answers a query, with its number of answered queries and median number of results.
-- grain:  one row per system_id
-- reads:  answered_query
-- params: -
-- queries: number of judged queries that the system answers. depth: median number of results for these queries. If the
-- system answers no judged query, queries and depth are over all answered queries. several: number of answered queries
-- with more than one result. answered: number of all answered queries. judged: number of answered judged queries.
-- results: number of results for all queries. unjudged_results: number of results for queries without judgments.
with counted as (
    select
        system_id,
        count(*) as answered,
        count(*) filter (where is_judged) as judged,
        count(*) filter (where returned > 1) as several,
        cast(sum(returned) as bigint) as results,
        cast(coalesce(sum(returned) filter (where not is_judged), 0) as bigint) as unjudged_results,
        median(returned) as depth,
        median(returned) filter (where is_judged) as judged_depth,
    from answered_query
    group by system_id
)

select
    system_id,
    case when judged > 0 then judged else answered end as queries,
    coalesce(judged_depth, depth) as depth,
    several,
    answered,
    judged,
    results,
    unjudged_results,
from counted
