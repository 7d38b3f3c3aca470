-- shorter_answer: one query for which a system returns far fewer of the counted results than another system.
-- grain:  one row per (system_id, query_id)
-- reads:  answered_query
-- params: reach
-- `reach`: number of top results that a metric counts. Far fewer: less than 80 % of the other system's number.
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
