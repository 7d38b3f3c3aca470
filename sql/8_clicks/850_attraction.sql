-- attraction: how likely each document is clicked once it is looked at, by one more step of expectation maximisation.
-- grain:  one row per (document)
-- reads:  click_guess
-- params: -
-- Of an impression without a click the document attracted, and was not looked at, with probability
-- a (1 - e) / (1 - a e) (Chuklin, Markov and de Rijke 2015, Click Models for Web Search, 4.2). The sum runs in order of
-- places: the same to the last bit over any number of threads.
with likely as (
    select
        document,
        place,
        impressions,
        case
            when unclicked > 0
                then clicks + (impressions - clicks) * attraction * (1 - examination) / unclicked
            else clicks
        end as likely_count,
    from click_guess
),

running_likely as (
    select
        document,
        sum(likely_count) over (
            partition by document
            order by place
            rows between unbounded preceding and current row
        ) as likely_count,
        sum(impressions) over (
            partition by document
            order by place
            rows between unbounded preceding and current row
        ) as impressions,
    from likely
)

select
    document,
    max(likely_count) / cast(max(impressions) as double) as attraction,
from running_likely
group by document
