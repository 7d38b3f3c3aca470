-- click_value: the value that a click model gives one document, with an interval.
-- grain:  one row per (document)
-- reads:  click_count, click_document, click_rate, pulled_attraction, pulled_examination
-- params: model, z
-- impressions, clicks: those that count. value: the clicks divided by S, the sum of the weights of the impressions; 0
-- if S is 0. For the position model, value is the attraction. low, high: bounds of the interval, which contains the
-- value, and for rate and position lies within 0 and 1; null if S is 0, or if the position model is not identified.
-- is_asked: whether the query is to be graded.
-- Inside: the interval has all values v whose score test does not reject the clicks c, with known weights: (c - v S)^2
-- <= z^2 (v S - v^2 Q), Wilson's interval if all weights are 1; Q is the sum of the squared weights. With more clicks
-- than S^2 / Q (1e-9 for rounding) a probability v x weight would exceed 1: then Q is S^2 / n, as for n equal
-- probabilities. With more clicks than impressions Q is 0, as for a Poisson count. weight, by `model`: rate: 1.
-- position: the probability that the rank is examined; null at ranks that the log does not connect to others, whose
-- impressions do not count. opensearch: the mean click rate at the best rank that the document ever had for the query
-- (opensearch-project/search-relevance, CoecClickModel.java and ClickthroughRate.java). expected: S. expected_square:
-- Q. doubt: z times the mean standard deviation of the logarithm of the examinations (position), added to both
-- distances from the value on the logarithmic scale, as an independent error; null if the model is not identified.
with document_count as (
    select
        document,
        place,
        case when $model = 'opensearch' then shown_events else impressions end as impressions,
        case when $model = 'opensearch' then click_events else clicks end as clicks,
        case when $model = 'opensearch' then min(place) over (partition by document) else place end as rated_rank,
    from click_count
    where impressions > 0
),

click_weight as (
    select
        document_count.document,
        document_count.place,
        document_count.impressions,
        document_count.clicks,
        case
            when $model = 'rate' then 1.0
            when $model = 'opensearch' then click_rate.event_rate
            else pulled_examination.examination
        end as weight,
        case when $model = 'position' then pulled_examination.doubt else 0.0 end as doubt,
    from document_count
    inner join click_rate on document_count.rated_rank = click_rate.place
    left join pulled_examination on document_count.rated_rank = pulled_examination.place
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
        sum(impressions * weight * doubt) over (
            partition by document
            order by place
            rows between unbounded preceding and current row
        ) as expected_doubt,
    from click_weight
    where weight is not null
),

click_expectation as (
    select
        document,
        cast(sum(impressions) as bigint) as impressions,
        cast(sum(clicks) as bigint) as clicks,
        cast(max(expected) as double) as expected,
        cast(max(expected_square) as double) as expected_square,
        cast(max(expected_doubt) as double) as expected_doubt,
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
            else 0.0
        end as value,
        case
            when $model <> 'position' then 0.0
            else $z * click_expectation.expected_doubt / click_expectation.expected
        end as doubt,
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
        doubt,
        expected * (2.0 * clicks + $z * $z) as middle,
        $z * sqrt(
            greatest(expected * expected * (4.0 * clicks + $z * $z) - 4.0 * clicks * clicks * square, 0.0)
        ) as reach,
        2 * (expected * expected + $z * $z * square) as width,
    from valued
),

scored as (
    select
        *,
        least(greatest((middle - reach) / width, 0.0), value) as low,
        greatest((middle + reach) / width, value) as high,
    from bounded
    where width > 0
),

widened as (
    select
        document,
        case
            when doubt = 0 or low = 0 then low
            else value * exp(-sqrt(ln(value / low) * ln(value / low) + doubt * doubt))
        end as low,
        case
            when doubt = 0 then high
            when value = 0 then high * exp(doubt)
            else value * exp(sqrt(ln(high / value) * ln(high / value) + doubt * doubt))
        end as high,
    from scored
    where doubt is not null
)

select
    bounded.document,
    click_document.query_id,
    click_document.doc_id,
    click_document.is_asked,
    bounded.impressions,
    bounded.clicks,
    bounded.value,
    widened.low,
    case
        when $model <> 'opensearch' and widened.high > 1 then 1.0
        else widened.high
    end as high,
from bounded
inner join click_document on bounded.document = click_document.document
left join widened on bounded.document = widened.document
