-- system_summary: how many queries stand behind a system's value, and how many it left unanswered.
-- grain:  one row per (system_id, metric_id)
-- reads:  query_score
-- params: -
-- Mean and median are taken outside, from the values in the order of their query_ids, with an exact sum.
select
    system_id,
    metric_id,
    count(*) as queries,
    count(*) filter (where not is_answered) as unanswered,
from query_score
group by
    system_id,
    metric_id
