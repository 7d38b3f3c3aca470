-- duplicate_document: one document that occurs more than once in a system's ranking for one query.
-- grain:  one row per (system_id, query_id, doc_id)
-- reads:  pulled_ranking
-- params: system_id
-- kind:   query
-- copies: how often it occurs. A row is an error, unless every metric has duplicates = first. The query is run only if
-- a faster check cannot show that the documents of a system are distinct.
select
    system_id,
    query_id,
    doc_id,
    count(*) as copies,
from pulled_ranking
where system_id = $system_id
group by
    system_id,
    query_id,
    doc_id
having count(*) > 1
