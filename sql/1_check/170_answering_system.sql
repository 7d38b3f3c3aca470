-- answering_system: how many queries a system answers, and how deep it typically goes.
-- grain:  one row per system_id
-- reads:  answered_query
-- params: -
-- queries and depth, the median of what it returned, are of the judged queries; of all where it answers none of those.
-- answered: all queries. several: those with more than one result. judged: the judged queries.
-- results: of all queries. unjudged_results: those of queries without judgments.
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
