-- grade_count: how many documents of a query have each grade.
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
