-- query_attribute: the value of one attribute of one query, for slices.
-- grain:  one row per (attribute, query_id)
-- reads:  pulled_attribute, query
-- params: -
-- value: the name of a slice; (none) for a query without a value.
with attribute_name as (
    select distinct attribute,
    from pulled_attribute
)

select
    attribute_name.attribute,
    query.query_id,
    coalesce(pulled_attribute.value, '(none)') as value,
from attribute_name
cross join query
left join pulled_attribute
    on
        attribute_name.attribute = pulled_attribute.attribute
        and query.query_id = pulled_attribute.query_id
