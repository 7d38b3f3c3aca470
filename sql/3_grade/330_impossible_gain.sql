-- impossible_gain: one grade whose gain is missing in the gain table (null) or too large. Any row is an error.
-- grain:  one row per (gain_rule, grade)
-- reads:  gain, metric
-- params: -
-- kind:   query
-- The limit is 1e300; for dcg and cg, whose differences are as large as the gains, it is 1e90, because tests compute
-- cubes of differences.
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
