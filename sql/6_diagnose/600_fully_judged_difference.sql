-- fully_judged_difference: the difference candidate - baseline on one query whose results are judged for both systems.
-- grain:  one row per (candidate, metric_id, query_id)
-- reads:  coverage, paired_difference, system
-- params: -
-- kind:   query
-- Listed are the queries in which no result of the two systems within the cutoff of the metric is unjudged; a system
-- without results counts as judged. baseline_value: the value of the baseline.
with partly_judged as (
    select
        coverage.system_id,
        coverage.metric_id,
        coverage.query_id,
        system.role,
    from coverage
    inner join system on coverage.system_id = system.system_id
    where coverage.judged < 1
)

select
    paired_difference.candidate,
    paired_difference.metric_id,
    paired_difference.query_id,
    paired_difference.difference,
    paired_difference.baseline_value,
from paired_difference
left join partly_judged as of_candidate
    on
        paired_difference.candidate = of_candidate.system_id
        and paired_difference.metric_id = of_candidate.metric_id
        and paired_difference.query_id = of_candidate.query_id
left join partly_judged as of_baseline
    on
        of_baseline.role = 'baseline'
        and paired_difference.metric_id = of_baseline.metric_id
        and paired_difference.query_id = of_baseline.query_id
where
    of_candidate.system_id is null
    and of_baseline.system_id is null
