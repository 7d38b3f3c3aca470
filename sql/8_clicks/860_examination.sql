-- examination: how likely each place is looked at, by one more step of expectation maximisation.
-- grain:  one row per (place)
-- reads:  click_guess
-- params: -
-- The sum runs in order of documents: the same to the last bit over any number of threads.
with running as (
    select
        place,
        sum(looked) over (
            partition by place
            order by document
            rows between unbounded preceding and current row
        ) as looked,
        sum(impressions) over (
            partition by place
            order by document
            rows between unbounded preceding and current row
        ) as impressions,
    from click_guess
)

select
    place,
    max(looked) / cast(max(impressions) as double) as examination,
from running
group by place
