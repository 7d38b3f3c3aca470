-- click_expectation: the clicks of a document, and those that were to be expected of its impressions.
-- grain:  one row per (query_id, doc_id)
-- reads:  click_count, click_rate, pulled_examination
-- params: model
-- expected: the sum of the weights of all impressions. expected_square: of their squares.
-- weight: the click rate that would be usual where it was shown, by the model. rate: 1 everywhere. coec: the mean click
-- rate at the place. position: how likely the place is looked at. opensearch: the mean click rate at the highest place
-- that the document ever had for the query, whatever the place of an impression (opensearch-project/search-relevance,
-- CoecClickModel.java and ClickthroughRate.java).
with placed_count as (
    select
        query_id,
        doc_id,
        place,
        case when $model = 'opensearch' then shown_events else impressions end as impressions,
        case when $model = 'opensearch' then click_events else clicks end as clicks,
        case
            when $model = 'opensearch'
                then min(place) over (
                    partition by
                        query_id,
                        doc_id
                )
            else place
        end as rated_place,
    from click_count
    where impressions > 0
),

click_weight as (
    select
        placed_count.query_id,
        placed_count.doc_id,
        placed_count.place,
        placed_count.impressions,
        placed_count.clicks,
        case
            when $model = 'rate' then 1.0
            when $model = 'coec' then click_rate.rate
            when $model = 'opensearch' then click_rate.event_rate
            else pulled_examination.examination
        end as weight,
    from placed_count
    inner join click_rate on placed_count.rated_place = click_rate.place
    left join pulled_examination on placed_count.rated_place = pulled_examination.place
),

running_weight as (
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
