-- first_result: what every system shows first of drawn queries that nobody has judged.
-- grain:  one row per (system_id, query_id, doc_id)
-- reads:  log_place, metric
-- params: -
-- kind:   query
-- Down to the deepest cutoff of the metrics, to place 10 where one has none: their documents are to be judged next.
select
    system_id,
    query_id,
    doc_id,
    rank,
from log_place
where
    probability > 0.0
    and not is_judged
    and rank <= (select max(coalesce(metric.cutoff, 10)) as depth, from metric)
