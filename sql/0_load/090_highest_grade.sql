-- highest_grade: the highest grade of all judgments, for ideals of the highest grade.
-- grain:  one row per evaluation
-- reads:  judgment
-- params: -
-- kind:   query
select max(grade) as grade,
from judgment
