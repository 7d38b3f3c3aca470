-- judgment: what is known about documents; repeated judgments that agree are one.
-- grain:  one row per (query_id, doc_id)
-- reads:  pulled_judgment
-- params: -
-- Of judgments that contradict each other the higher would stand here; the data check refuses them by
-- contradicting_judgment before anything is scored.
select
    query_id,
    doc_id,
    max(grade) as grade,
from pulled_judgment
group by
    query_id,
    doc_id
