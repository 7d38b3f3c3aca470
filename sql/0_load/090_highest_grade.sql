-- highest_grade: the highest grade of all judgments, which a max ideal may have at every rank.
-- grain:  one row per evaluation
-- reads:  judgment
-- params: -
-- kind:   query
select max(grade) as grade,
from judgment
