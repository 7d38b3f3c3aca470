-- cost_timeline: one cost statistic of one system in one evaluation, with the difference from the baseline.
-- grain:  one row per (ordinal, system_id, metric)
-- reads:  cost, cost_difference
-- params: -
-- kind:   query
-- metric: the cost with its statistic, as a guardrail is written: latency_ms@p95. mean: the value of the statistic.
-- difference, conclusion: null for the baseline, and if the system is not compared; conclusion is null without a
-- guardrail, too.
select
    cost.ordinal,
    cost.system_id,
    concat(cost.cost, '@', cost.statistic) as metric,
    cost.value as mean,
    cost_difference.difference,
    cost_difference.conclusion,
from cost
left join cost_difference
    on
        cost.ordinal = cost_difference.ordinal
        and cost.system_id = cost_difference.candidate
        and cost.cost = cost_difference.cost
        and cost.statistic = cost_difference.statistic
