-- judgment: the grade of one document for one query; equal repeated judgments are one row.
-- grain:  one row per (query_id, doc_id)
-- reads:  pulled_judgment
-- params: -
-- Contradicting judgments would be the higher grade here; the data check refuses them by contradicting_judgment before
-- anything is scored.
select
    query_id,
    doc_id,
    max(grade) as grade,
from pulled_judgment
group by
    query_id,
    doc_id
