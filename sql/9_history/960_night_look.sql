-- night_look: one tested primary comparison of one evaluation, with the digests of the data that it used.
-- grain:  one row per (ordinal, candidate, metric)
-- reads:  comparison, evaluation, input, metric
-- params: -
-- kind:   query
-- content: the digests of both rankings and all other inputs, and the hash of the metric, as one text; equal texts mean
-- that the same data were tested again. began: start of the evaluation.
with shared as (
    select
        ordinal,
        string_agg(kind || ' ' || digest, ' ' order by kind, digest) as digests,
    from input
    where kind <> 'ranking'
    group by ordinal
)

select
    comparison.ordinal,
    evaluation.began,
    comparison.candidate,
    comparison.metric,
    comparison.queries,
    comparison.difference,
    comparison.mde,
    comparison.low,
    comparison.high,
    comparison.p_adjusted,
    comparison.p_t,
    comparison.bounded_p_value,
    comparison.largest_loss,
    comparison.family_size,
    comparison.resamples,
    comparison.alpha,
    concat_ws(' ', candidate_input.digest, baseline_input.digest, shared.digests, metric.hash) as content,
from comparison
inner join evaluation on comparison.ordinal = evaluation.ordinal
left join shared on comparison.ordinal = shared.ordinal
left join input as candidate_input
    on
        comparison.ordinal = candidate_input.ordinal
        and comparison.candidate = candidate_input.name
        and candidate_input.kind = 'ranking'
left join input as baseline_input
    on
        comparison.ordinal = baseline_input.ordinal
        and comparison.baseline = baseline_input.name
        and baseline_input.kind = 'ranking'
left join metric
    on
        comparison.ordinal = metric.ordinal
        and comparison.metric = metric.metric
where
    comparison.family = 'primary'
    and comparison.p_adjusted is not null
    and comparison.differing > 0
    and coalesce(comparison.conclusion, '') <> 'not_testable'
