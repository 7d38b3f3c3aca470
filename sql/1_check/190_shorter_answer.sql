-- shorter_answer: the queries for which a system returns far fewer of the results that count than another system.
-- grain:  one row per (system_id, query_id)
-- reads:  answered_query
-- params: reach
-- reach: how many results a metric looks at. Far fewer: less than 80 % of what the other system has of them.
with counted as (
    select
        system_id,
        query_id,
        least(returned, $reach) as returned,
        max(least(returned, $reach)) over (partition by query_id) as most_returned,
    from answered_query
    where is_judged
)

select
    system_id,
    query_id,
    returned,
    most_returned,
from counted
where returned < 0.8e0 * most_returned
