-- first_result: one top result of a drawn query without judgments.
-- grain:  one row per (system_id, query_id, doc_id)
-- reads:  log_result, metric
-- params: -
-- kind:   query
-- Results go down to the deepest cutoff of the metrics, or rank 10 without a cutoff: these are the documents
-- to judge next.
select
    system_id,
    query_id,
    doc_id,
    rank,
from log_result
where
    probability > 0.0
    and not is_judged
    and rank <= (select max(coalesce(metric.cutoff, 10)) as depth, from metric)
