-- gain: what every grade that occurs (or that a max ideal names) is worth under every rule of the metrics.
-- grain:  one row per (gain_rule, grade)
-- reads:  judgment, metric, pulled_gain_entry, pulled_gain_rule
-- params: -
-- linear r; exponential 2^r - 1 (Burges et al. 2005); binary 1 from a grade on; judged 1 for every judged
-- document; table as listed. A grade of 0 or below gains nothing, except under judged. A null gain is a
-- grade that a table lacks: an error, refused by the caller.
with grade as (
    select judgment.grade,
    from judgment
    union
    select metric.max_grade as grade,
    from metric
    where metric.max_grade is not null
)

select
    rule.gain_rule,
    grade.grade,
    case
        when rule.kind = 'judged' then 1.0
        when grade.grade <= 0 then 0.0
        when rule.kind = 'linear' then grade.grade
        when rule.kind = 'exponential' then power(2.0, grade.grade) - 1.0
        when rule.kind = 'binary'
            then
                case when grade.grade >= coalesce(rule.relevant_from, grade.grade) then 1.0 else 0.0 end
        when rule.kind = 'table' then entry.gain
    end as gain,
from pulled_gain_rule as rule
cross join grade
left join pulled_gain_entry as entry
    on
        rule.gain_rule = entry.gain_rule
        and grade.grade = entry.grade
