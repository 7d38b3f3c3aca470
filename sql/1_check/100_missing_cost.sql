-- missing_cost: one query for which one cost of a system is unknown.
-- grain:  one row per (system_id, cost, query_id)
-- reads:  pulled_query_cost, pulled_system
-- params: -
-- Considered are all queries for which the cost of some system was recorded, warm-up requests left out. is_failed:
-- whether the system's request failed; false if nothing was recorded for it.
with counted as (
    select
        system_id,
        cost,
        query_id,
        value,
        is_failed,
    from pulled_query_cost
    where not is_cold
),

asked_query as (
    select distinct
        cost,
        query_id,
    from counted
)

select
    pulled_system.system_id,
    asked_query.cost,
    asked_query.query_id,
    coalesce(counted.is_failed, false) as is_failed,
from asked_query
cross join pulled_system
left join counted
    on
        asked_query.cost = counted.cost
        and asked_query.query_id = counted.query_id
        and pulled_system.system_id = counted.system_id
where counted.value is null
