-- cost_quantile: one quantile of the cost of a system's requests.
-- grain:  one row per (system_id, cost, statistic)
-- reads:  pulled_cost_statistic, query, query_cost
-- params: weighted
-- value: the smallest cost such that at least the given share of the queries, or of their weight, cost no more; without
-- interpolation: type 1 of Hyndman and Fan (1996), with 1e-12 of the weight for rounding. The cost of a failed request
-- is only a lower bound: value takes it as it is. at_most: the quantile if the cost of every failed request is
-- infinite; null if the quantile is then infinite. If queries are weighted, those without a weight are left out.
with known_weight as (
    select
        query_id,
        weight,
    from query
    where $weighted and weight is not null
),

all_weights as (
    select count(*) as weights,
    from known_weight
),

weighed as (
    select
        query_cost.system_id,
        query_cost.cost,
        query_cost.query_id,
        query_cost.value,
        query_cost.is_failed,
        coalesce(known_weight.weight, 1.0) as weight,
    from query_cost
    cross join all_weights
    left join known_weight on query_cost.query_id = known_weight.query_id
    where known_weight.weight is not null or all_weights.weights = 0
),

weighted as (
    select
        system_id,
        cost,
        value,
        is_failed,
        sum(weight) over (
            partition by system_id, cost
            order by value, query_id
            rows between unbounded preceding and current row
        ) as weight_below,
        sum(weight) over (
            partition by system_id, cost
            order by is_failed, value, query_id
            rows between unbounded preceding and current row
        ) as weight_if_endless,
        sum(weight) over (
            partition by system_id, cost
            order by value, query_id
            rows between unbounded preceding and unbounded following
        ) as weight_of_all,
    from weighed
)

select
    weighted.system_id,
    weighted.cost,
    pulled_cost_statistic.statistic,
    min(weighted.value) filter (
        where weighted.weight_below >= (pulled_cost_statistic.share - 1e-12) * weighted.weight_of_all
    ) as value,
    min(weighted.value) filter (
        where
        not weighted.is_failed
        and weighted.weight_if_endless >= (pulled_cost_statistic.share - 1e-12) * weighted.weight_of_all
    ) as at_most,
from weighted
inner join pulled_cost_statistic on weighted.cost = pulled_cost_statistic.cost
group by
    weighted.system_id,
    weighted.cost,
    pulled_cost_statistic.statistic
