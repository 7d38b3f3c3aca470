-- first_look: tested primary comparisons on one set of queries, each content once: every new one is another look.
-- grain:  one row per (ordinal, candidate, metric)
-- reads:  comparison, evaluation
-- params: query_set
-- kind:   query
with first_evaluation as (
    select min(ordinal) as ordinal,
    from evaluation
    where query_set = $query_set
    group by coalesce(content_key, key)
)

select
    comparison.ordinal,
    comparison.candidate,
    comparison.metric,
from comparison
inner join first_evaluation on comparison.ordinal = first_evaluation.ordinal
where
    comparison.family = 'primary'
    and comparison.p_value is not null
