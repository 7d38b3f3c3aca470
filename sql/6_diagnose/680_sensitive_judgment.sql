-- sensitive_judgment: one judgment for a query that has rows in sensitive_doc; the document may be any.
-- grain:  one row per (query_id, doc_id)
-- reads:  judgment, sensitive_doc
-- params: -
-- kind:   query
select
    query_id,
    doc_id,
    grade,
from judgment
where query_id in (select sensitive_doc.query_id, from sensitive_doc)
