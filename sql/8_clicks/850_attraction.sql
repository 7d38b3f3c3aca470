-- attraction: the probability that one document is clicked if examined, after one more step of the fit.
-- grain:  one row per (document)
-- reads:  click_guess
-- params: -
-- The step is one of expectation maximisation.
-- Inside: sums run in the order of ranks, for equal bits with any number of threads.
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
