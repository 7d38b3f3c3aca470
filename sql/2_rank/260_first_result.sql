-- first_result: one top result for a drawn query without judgments: a document to judge next.
-- grain:  one row per (system_id, query_id, doc_id)
-- reads:  log_result, metric
-- params: -
-- kind:   query
-- rank: from 1, down to the deepest cutoff of the metrics; a metric without a cutoff counts as 10.
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
