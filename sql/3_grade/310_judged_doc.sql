-- judged_doc: one ranked document that is judged, with its grade.
-- grain:  one row per (rank_rule, system_id, query_id, rank)
-- reads:  graded_doc
-- params: -
-- Unjudged documents gain nothing. rank, first_rank: as in ranked_doc.
select
    rank_rule,
    system_id,
    query_id,
    rank,
    first_rank,
    grade,
from graded_doc
where is_judged
