-- click_expectation: the clicks of a document, and those that were to be expected of its impressions.
-- grain:  one row per (query_id, doc_id)
-- reads:  click_weight
-- params: -
-- expected: the sum of the weights of all impressions. expected_square: of their squares.
with running_weight as (
    select
        query_id,
        doc_id,
        sum(impressions) over (
            partition by
                query_id,
                doc_id
            order by place
            rows between unbounded preceding and current row
        ) as impressions,
        sum(clicks) over (
            partition by
                query_id,
                doc_id
            order by place
            rows between unbounded preceding and current row
        ) as clicks,
        sum(impressions * weight) over (
            partition by
                query_id,
                doc_id
            order by place
            rows between unbounded preceding and current row
        ) as expected,
        sum(impressions * weight * weight) over (
            partition by
                query_id,
                doc_id
            order by place
            rows between unbounded preceding and current row
        ) as expected_square,
    from click_weight
)

select
    query_id,
    doc_id,
    cast(max(impressions) as bigint) as impressions,
    cast(max(clicks) as bigint) as clicks,
    cast(max(expected) as double) as expected,
    cast(max(expected_square) as double) as expected_square,
from running_weight
group by
    query_id,
    doc_id
