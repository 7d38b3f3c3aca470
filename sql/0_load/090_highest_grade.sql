-- highest_grade: the highest grade of all judgments, which the max ideal may put in every place.
-- grain:  one row per evaluation
-- reads:  judgment
-- params: -
-- kind:   query
select max(grade) as grade,
from judgment
