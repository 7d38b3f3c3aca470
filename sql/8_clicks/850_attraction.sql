-- attraction: how likely each document is clicked once it is looked at, by one more step of expectation maximisation.
-- grain:  one row per (document)
-- reads:  click_guess
-- params: -
-- The sum runs in order of places: the same to the last bit over any number of threads.
with running as (
    select
        document,
        sum(attracted) over (
            partition by document
            order by place
            rows between unbounded preceding and current row
        ) as attracted,
        sum(impressions) over (
            partition by document
            order by place
            rows between unbounded preceding and current row
        ) as impressions,
    from click_guess
)

select
    document,
    max(attracted) / cast(max(impressions) as double) as attraction,
from running
group by document
