-- judgment: the grade of one document for one query; equal repeated judgments are one row.
-- grain:  one row per (query_id, doc_id)
-- reads:  pulled_judgment
-- params: -
-- grade: if judgments contradict each other, the highest. The data check refuses such judgments before anything is
-- scored (contradicting_judgment).
select
    query_id,
    doc_id,
    max(grade) as grade,
from pulled_judgment
group by
    query_id,
    doc_id
