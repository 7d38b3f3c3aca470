-- pooled_document: where each system shows a document of a judged query, with its grade, as deep as is asked for.
-- grain:  one row per (query_id, doc_id, system_id)
-- reads:  graded_doc
-- params: pool_depth
-- rank: the best under any rule of ranking. grade is null where the document is unjudged.
select
    query_id,
    doc_id,
    system_id,
    min(first_rank) as rank,
    max(grade) as grade,
from graded_doc
where first_rank <= $pool_depth
group by
    query_id,
    doc_id,
    system_id
