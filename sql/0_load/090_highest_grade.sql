-- highest_grade: the highest grade of all judgments, for ideals that have it at every rank.
-- grain:  one row per evaluation
-- reads:  judgment
-- params: -
-- kind:   query
-- grade: null without judgments.
select max(grade) as grade,
from judgment
