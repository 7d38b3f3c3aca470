-- judgment: the grade of one document for one query; equal repeated judgments are one row.
-- grain:  one row per (query_id, doc_id)
-- reads:  pulled_judgment
-- params: -
-- grade: if judgments contradict each other, the highest; lowest: the lowest. The data check refuses such judgments
-- before anything is scored (contradicting_judgment). copies: number of judgments of the document.
select
    query_id,
    doc_id,
    max(grade) as grade,
    min(grade) as lowest,
    count(*) as copies,
from pulled_judgment
group by
    query_id,
    doc_id
