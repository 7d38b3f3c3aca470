-- slice_difference: the difference candidate - baseline on one query, repeated for each slice that contains the query.
-- grain:  one row per (attribute, slice, candidate, metric_id, query_id)
-- reads:  paired_difference, query_attribute
-- params: -
-- attribute: the attribute of queries. slice: the value of the attribute. baseline_value: the value of the baseline.
select
    query_attribute.attribute,
    query_attribute.value as slice,
    paired_difference.candidate,
    paired_difference.metric_id,
    paired_difference.query_id,
    paired_difference.difference,
    paired_difference.baseline_value,
from paired_difference
inner join query_attribute on paired_difference.query_id = query_attribute.query_id
