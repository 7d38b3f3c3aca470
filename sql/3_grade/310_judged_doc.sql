-- judged_doc: one judged document's rank and grade.
-- grain:  one row per (rank_rule, system_id, query_id, rank)
-- reads:  graded_doc
-- params: -
-- Unjudged documents gain nothing, and have no row. rank, first_rank: as in ranked_doc. doc_id is not a column.
select
    rank_rule,
    system_id,
    query_id,
    rank,
    first_rank,
    grade,
from graded_doc
where is_judged
