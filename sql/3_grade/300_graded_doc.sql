-- graded_doc: one ranked document with its grade.
-- grain:  one row per (rank_rule, system_id, query_id, rank)
-- reads:  judgment, ranked_doc
-- params: -
-- grade: null if the document is unjudged. is_judged: whether it is judged. rank, first_rank: as in ranked_doc.
select
    ranked_doc.rank_rule,
    ranked_doc.system_id,
    ranked_doc.query_id,
    ranked_doc.rank,
    ranked_doc.first_rank,
    ranked_doc.doc_id,
    judgment.grade,
    judgment.grade is not null as is_judged,
from ranked_doc
left join judgment
    on
        ranked_doc.query_id = judgment.query_id
        and ranked_doc.doc_id = judgment.doc_id
