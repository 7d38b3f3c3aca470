-- query_cost: what each query cost each system, where that is known of every system.
-- grain:  one row per (system_id, cost, query_id)
-- reads:  pulled_query_cost, pulled_system
-- params: -
-- Requests that warmed up are not counted. Systems are compared on the same queries: those of which the cost of one
-- system is not known are left out for all. is_failed: no answer came; the time is that until the request was given up.
with known_cost as (
    select
        query_id,
        cost,
        count(*) as systems,
    from pulled_query_cost
    where
        not is_cold
        and value is not null
    group by
        query_id,
        cost
),

all_systems as (
    select count(*) as systems,
    from pulled_system
)

select
    pulled_query_cost.system_id,
    pulled_query_cost.cost,
    pulled_query_cost.query_id,
    pulled_query_cost.value,
    pulled_query_cost.is_failed,
from pulled_query_cost
inner join known_cost
    on
        pulled_query_cost.query_id = known_cost.query_id
        and pulled_query_cost.cost = known_cost.cost
inner join all_systems on known_cost.systems = all_systems.systems
where
    not pulled_query_cost.is_cold
    and pulled_query_cost.value is not null
