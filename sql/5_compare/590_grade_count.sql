-- grade_count: the number of documents of one query with one grade.
-- grain:  one row per (query_id, grade)
-- reads:  judgment
-- params: -
select
    query_id,
    grade,
    count(*) as documents,
from judgment
group by
    query_id,
    grade
