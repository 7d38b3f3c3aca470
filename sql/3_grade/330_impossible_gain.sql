-- impossible_gain: one grade whose gain is not in the gain table (null), or too large to sum. Any row is an error.
-- grain:  one row per (gain_rule, grade)
-- reads:  gain, metric
-- params: -
-- kind:   query
-- Limits: tests compute cubes of differences, and differences of dcg and cg are as large as the gains.
select
    gain_rule,
    grade,
    gain,
from gain
where
    gain is null
    or gain > 1e300
    or (
        gain > 1e90
        and gain_rule in (
            select metric.gain_rule, from metric
            where metric.measure in ('dcg', 'cg')
        )
    )
