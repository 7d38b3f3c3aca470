-- examination: the probability that users examine one rank, after one more step of the fit.
-- grain:  one row per (place)
-- reads:  click_guess
-- params: -
-- The step is one of expectation maximisation.
-- Inside: sums run in the order of documents, for equal bits with any number of threads.
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
