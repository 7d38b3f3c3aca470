-- click_value: what a model makes of the clicks of a document, and the interval in which it lies.
-- grain:  one row per (document)
-- reads:  click_count, click_document, click_rate, pulled_attraction, pulled_examination
-- params: model, z
-- weight: the click rate that would be usual where it was shown, by the model. rate: 1 everywhere. coec: the mean click
-- rate at the place. position: how likely the place is looked at. opensearch: the mean click rate at the highest place
-- that the document ever had for the query, whatever the place of an impression (opensearch-project/search-relevance,
-- CoecClickModel.java and ClickthroughRate.java).
-- expected: the sum of the weights of all impressions. expected_square: of their squares.
-- value: clicks over expected clicks; of the position model the attraction. Null where no click was to be
-- expected, but 0 with opensearch.
-- low, high: all values v whose score test does not reject the clicks c, the weights taken as known:
-- (c - v S)^2 <= z^2 (v S - v^2 Q), Wilson's interval where all weights are 1; S is the sum of the weights, Q that of
-- their squares. With more clicks than S^2 / Q (1e-9: whatever the rounding) some chance v x weight would be above 1:
-- then Q is S^2 / n, as of n equal chances; where more clicks than impressions were logged it is 0, as of a Poisson
-- count. Widened to hold the value; of rate and position within 0 and 1.
with placed_count as (
    select
        document,
        place,
        case when $model = 'opensearch' then shown_events else impressions end as impressions,
        case when $model = 'opensearch' then click_events else clicks end as clicks,
        case when $model = 'opensearch' then min(place) over (partition by document) else place end as rated_place,
    from click_count
    where impressions > 0
),

click_weight as (
    select
        placed_count.document,
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
        document,
        impressions,
        clicks,
        sum(impressions * weight) over (
            partition by document
            order by place
            rows between unbounded preceding and current row
        ) as expected,
        sum(impressions * weight * weight) over (
            partition by document
            order by place
            rows between unbounded preceding and current row
        ) as expected_square,
    from click_weight
),

click_expectation as (
    select
        document,
        cast(sum(impressions) as bigint) as impressions,
        cast(sum(clicks) as bigint) as clicks,
        cast(max(expected) as double) as expected,
        cast(max(expected_square) as double) as expected_square,
    from running_weight
    group by document
),

valued as (
    select
        click_expectation.document,
        click_expectation.impressions,
        click_expectation.clicks,
        click_expectation.expected,
        case
            when $model = 'position' then pulled_attraction.attraction
            when click_expectation.expected > 0 then click_expectation.clicks / click_expectation.expected
            when $model = 'opensearch' then 0.0
        end as value,
        case
            when
                click_expectation.clicks * click_expectation.expected_square
                <= click_expectation.expected * click_expectation.expected * (1 + 1e-9)
                then click_expectation.expected_square
            when click_expectation.clicks <= click_expectation.impressions
                then click_expectation.expected * click_expectation.expected / click_expectation.impressions
            else 0.0
        end as square,
    from click_expectation
    left join pulled_attraction on click_expectation.document = pulled_attraction.document
),

bounded as (
    select
        document,
        impressions,
        clicks,
        expected,
        value,
        expected * (2.0 * clicks + $z * $z) as middle,
        $z * sqrt(
            greatest(expected * expected * (4.0 * clicks + $z * $z) - 4.0 * clicks * clicks * square, 0.0)
        ) as reach,
        2 * (expected * expected + $z * $z * square) as width,
    from valued
)

select
    bounded.document,
    click_document.query_id,
    click_document.doc_id,
    click_document.is_asked,
    bounded.impressions,
    bounded.clicks,
    bounded.value,
    case
        when bounded.width > 0
            then least(greatest((bounded.middle - bounded.reach) / bounded.width, 0.0), bounded.value)
    end as low,
    case
        when bounded.width > 0 and $model in ('rate', 'position')
            then greatest(least((bounded.middle + bounded.reach) / bounded.width, 1.0), bounded.value)
        when bounded.width > 0 then greatest((bounded.middle + bounded.reach) / bounded.width, bounded.value)
    end as high,
from bounded
inner join click_document on bounded.document = click_document.document
