-- click_value: what a model makes of the clicks of a document, and the interval in which it lies.
-- grain:  one row per (query_id, doc_id)
-- reads:  click_expectation, pulled_attraction
-- params: model, z
-- value: clicks over expected clicks; of the position model the attraction. Null where no click was to be
-- expected, but 0 with opensearch.
-- low, high: all values v whose score test does not reject the clicks c, the weights taken as known:
-- (c - v S)^2 <= z^2 (v S - v^2 Q), Wilson's interval where all weights are 1; S is the sum of the weights, Q that of
-- their squares. With more clicks than S^2 / Q (1e-9: whatever the rounding) some chance v x weight would be above 1:
-- then Q is S^2 / n, as of n equal chances; where more clicks than impressions were logged it is 0, as of a Poisson
-- count. Widened to hold the value; of rate and position within 0 and 1.
with valued as (
    select
        click_expectation.query_id,
        click_expectation.doc_id,
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
    left join pulled_attraction
        on
            click_expectation.query_id = pulled_attraction.query_id
            and click_expectation.doc_id = pulled_attraction.doc_id
),

bounded as (
    select
        query_id,
        doc_id,
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
    query_id,
    doc_id,
    impressions,
    clicks,
    expected,
    value,
    case when width > 0 then least(greatest((middle - reach) / width, 0.0), value) end as low,
    case
        when width > 0 and $model in ('rate', 'position') then greatest(least((middle + reach) / width, 1.0), value)
        when width > 0 then greatest((middle + reach) / width, value)
    end as high,
from bounded
