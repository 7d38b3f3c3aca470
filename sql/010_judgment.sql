-- judgment: what is known about documents; repeated judgments that agree are one.
-- grain:  one row per (query_id, doc_id)
-- reads:  pulled_judgment
-- params: -
-- Judgments that contradict each other were refused before this step (contradicting judgments).
select
    query_id,
    doc_id,
    max(grade) as grade,
from pulled_judgment
group by
    query_id,
    doc_id
