-- refused_grade: one judgment whose grade is below `lowest` or above `highest`. Any row is an error.
-- grain:  one row per (query_id, doc_id, grade)
-- reads:  pulled_judgment
-- params: highest, lowest
-- kind:   query
select distinct
    query_id,
    doc_id,
    grade,
from pulled_judgment
where grade < $lowest or grade > $highest
