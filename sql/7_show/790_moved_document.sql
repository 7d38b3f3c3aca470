-- moved_document: the number of documents of one grade that entered and left a candidate's top ranks.
-- grain:  one row per (candidate, grade)
-- reads:  top_document
-- params: -
-- kind:   query
-- grade: null for unjudged documents. entered: number of documents that only the candidate has in the top ranks, summed
-- over all queries. left_out: number of documents that only the baseline has there.
select
    candidate,
    grade,
    count(case when baseline_rank is null then 1 end) as entered,
    count(case when candidate_rank is null then 1 end) as left_out,
from top_document
where baseline_rank is null or candidate_rank is null
group by
    candidate,
    grade
