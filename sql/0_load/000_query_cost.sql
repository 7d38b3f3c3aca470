-- query_cost: the cost of one query for one system, if every system has it.
-- grain:  one row per (system_id, cost, query_id)
-- reads:  pulled_query_cost, pulled_system
-- params: -
-- value: the cost, in the unit of `cost`. is_failed: whether the request failed; its latency is the time until it was
-- abandoned. cost: name of the cost, such as latency_ms. Warm-up requests are left out. If a cost of a query is unknown
-- for one system, the query has no row for any system, so that systems are compared on equal queries.
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
