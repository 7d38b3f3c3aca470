-- examination: how likely each place is looked at, by one more step of expectation maximisation.
-- grain:  one row per (place)
-- reads:  click_guess
-- params: -
-- Of an impression without a click the place was looked at, and the document did not attract, with probability
-- e (1 - a) / (1 - a e) (Chuklin, Markov and de Rijke 2015, Click Models for Web Search, 4.2).
with likely as (
    select
        document,
        place,
        impressions,
        case
            when unclicked > 0
                then clicks + (impressions - clicks) * examination * (1 - attraction) / unclicked
            else clicks
        end as likely_count,
    from click_guess
),

running_likely as (
    select
        place,
        sum(likely_count) over (
            partition by place
            order by document
            rows between unbounded preceding and current row
        ) as likely_count,
        sum(impressions) over (
            partition by place
            order by document
            rows between unbounded preceding and current row
        ) as impressions,
    from likely
)

select
    place,
    max(likely_count) / cast(max(impressions) as double) as examination,
from running_likely
group by place
