-- duplicate_document: documents that stand more than once in one ranking of one query. Any row is an error.
-- grain:  one row per (system_id, query_id, doc_id)
-- reads:  ranking
-- params: system_id
-- Run only for a system whose documents are not seen to be distinct already (flows/checks.py).
select
    system_id,
    query_id,
    doc_id,
    count(*) as copies,
from ranking
where system_id = $system_id
group by
    system_id,
    query_id,
    doc_id
having count(*) > 1
