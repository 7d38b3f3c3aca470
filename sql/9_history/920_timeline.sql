-- timeline: one system on one metric in one evaluation, with its comparison against the baseline.
-- grain:  one row per (ordinal, system_id, metric)
-- reads:  comparison, evaluation, system_summary
-- params: -
-- kind:   query
-- began: start of the evaluation. difference, verdict, conclusion, unjudged_state: the comparison over all queries;
-- null for the baseline, and if the system is not compared. unjudged_state: null, too, if it was not computed.
select
    system_summary.ordinal,
    evaluation.began,
    system_summary.system_id,
    system_summary.metric,
    system_summary.mean,
    comparison.difference,
    comparison.verdict,
    comparison.conclusion,
    comparison.unjudged_state,
from system_summary
inner join evaluation on system_summary.ordinal = evaluation.ordinal
left join comparison
    on
        system_summary.ordinal = comparison.ordinal
        and system_summary.system_id = comparison.candidate
        and system_summary.metric = comparison.metric
        and evaluation.baseline = comparison.baseline
        and comparison.family in ('primary', 'secondary', 'guardrails')
