-- gain: the gain of one grade by one gain rule.
-- grain:  one row per (gain_rule, grade)
-- reads:  judgment, metric, pulled_gain_entry, pulled_gain_rule
-- params: -
-- The grades are those of judgments, and max_grade of a metric (max ideal, err). gain: null, which is an error
-- (impossible_gain), if a table lacks the grade. By the kind of rule, the gain of grade r is: linear: r. exponential:
-- 2^r - 1 (Burges et al. 2005). binary: 1 if r is at least relevant_from. judged: 1 for every judged document. table:
-- as listed. A grade of 0 or below gains nothing, except with judged.
with wanted_grade as (
    select
        rule.gain_rule,
        judgment.grade,
    from judgment
    cross join pulled_gain_rule as rule
    union
    select
        metric.gain_rule,
        metric.max_grade as grade,
    from metric
    where metric.max_grade is not null
)

select
    rule.gain_rule,
    wanted_grade.grade,
    case
        when rule.kind = 'judged' then 1.0
        when wanted_grade.grade <= 0 then 0.0
        when rule.kind = 'linear' then wanted_grade.grade
        when rule.kind = 'exponential' then power(2.0, wanted_grade.grade) - 1.0
        when rule.kind = 'binary'
            then
                case when wanted_grade.grade >= coalesce(rule.relevant_from, wanted_grade.grade) then 1.0 else 0.0 end
        when rule.kind = 'table' then entry.gain
    end as gain,
from wanted_grade
inner join pulled_gain_rule as rule on wanted_grade.gain_rule = rule.gain_rule
left join pulled_gain_entry as entry
    on
        rule.gain_rule = entry.gain_rule
        and wanted_grade.grade = entry.grade
