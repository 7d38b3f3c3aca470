-- shorter_answer: one judged query for which a system returns far fewer of the counted results than another system.
-- grain:  one row per (system_id, query_id)
-- reads:  answered_query
-- params: reach
-- returned: number of counted results. most_returned: the largest number of a system for this query. Far fewer: less
-- than 80 % of most_returned. `reach`: number of top results that a metric counts.
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
