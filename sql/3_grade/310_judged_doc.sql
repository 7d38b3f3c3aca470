-- judged_doc: one ranked document that has a grade.
-- grain:  one row per (rank_rule, system_id, query_id, rank)
-- reads:  graded_doc
-- params: -
-- Only these documents can gain anything.
select
    rank_rule,
    system_id,
    query_id,
    rank,
    first_rank,
    grade,
from graded_doc
where is_judged
