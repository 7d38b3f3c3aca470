-- query_change: the overlap of a candidate's top ranks with the baseline's on one query.
-- grain:  one row per (candidate, query_id)
-- reads:  metric, paired_difference, possible_rank, top_document
-- params: persistence
-- difference: candidate - baseline on the first metric. is_changed: true if the two lists of top ranks differ. overlap:
-- number of documents in both lists / length of the longer list; 1 if both are empty. rbo: rank-biased overlap,
-- extrapolated (Webber, Moffat and Zobel 2010, equation 32); 1 if both lists are empty, 0 if one is.
-- Inside: with l documents in the longer and s in the shorter list, X_d the number of shared documents down to d, rbo
-- is (1 - p)/p (sum of X_d/d p^d, and beyond s of X_s (d - s)/(s d) p^d) + ((X_l - X_s)/l + X_s/s) p^l; p is
-- `persistence`. A document is shared from the larger of its ranks on, where it adds p^d/d for every d down to l, so
-- that weights are summed once.
with compared as (
    select
        paired_difference.candidate,
        paired_difference.query_id,
        paired_difference.difference,
    from paired_difference
    inner join metric on paired_difference.metric_id = metric.metric_id
    where metric.position = 0
),

weight as (
    select
        rank,
        power($persistence, rank) / rank as own,
        sum(power($persistence, rank) / rank) over (order by rank asc) as total,
    from possible_rank
),

counted as (
    select
        candidate,
        query_id,
        count(baseline_rank + candidate_rank) as shared,
        count(case when baseline_rank = candidate_rank then 1 end) as at_same_rank,
        greatest(count(baseline_rank), count(candidate_rank)) as longer,
        least(count(baseline_rank), count(candidate_rank)) as shorter,
        (1.0 - $persistence) / $persistence as step,
        power($persistence, greatest(count(baseline_rank), count(candidate_rank))) as longer_power,
        power($persistence, least(count(baseline_rank), count(candidate_rank))) as shorter_power,
    from top_document
    group by
        candidate,
        query_id
),

shared_document as (
    select
        top_document.candidate,
        top_document.query_id,
        top_document.doc_id,
        greatest(top_document.baseline_rank, top_document.candidate_rank) as since,
        counted.longer,
        counted.shorter,
    from top_document
    inner join counted
        on
            top_document.candidate = counted.candidate
            and top_document.query_id = counted.query_id
    where top_document.baseline_rank + top_document.candidate_rank is not null
),

summed as (
    select
        shared_document.candidate,
        shared_document.query_id,
        case when shared_document.since <= shared_document.shorter then 1 end as is_early,
        sum(last_weight.total - first_weight.total + first_weight.own) over (
            partition by shared_document.candidate, shared_document.query_id
            order by shared_document.since asc, shared_document.doc_id asc
        ) as agreement,
    from shared_document
    inner join weight as first_weight on shared_document.since = first_weight.rank
    inner join weight as last_weight on shared_document.longer = last_weight.rank
),

agreed as (
    select
        candidate,
        query_id,
        count(is_early) as early,
        max(agreement) as agreement,
    from summed
    group by
        candidate,
        query_id
)

select
    compared.candidate,
    compared.query_id,
    compared.difference,
    coalesce(counted.longer > counted.at_same_rank, false) as is_changed,
    coalesce(counted.shared / cast(counted.longer as double), 1.0) as overlap,
    case
        when counted.longer is null then 1.0
        when agreed.agreement is null then 0.0
        else
            counted.step * (
                agreed.agreement
                + agreed.early / cast(counted.shorter as double) * (
                    (counted.shorter_power - counted.longer_power) / counted.step
                    - counted.shorter * (longer_weight.total - shorter_weight.total)
                )
            )
            + (
                (counted.shared - agreed.early) / cast(counted.longer as double)
                + agreed.early / cast(counted.shorter as double)
            ) * counted.longer_power
    end as rbo,
from compared
left join counted
    on
        compared.candidate = counted.candidate
        and compared.query_id = counted.query_id
left join agreed
    on
        compared.candidate = agreed.candidate
        and compared.query_id = agreed.query_id
left join weight as longer_weight on counted.longer = longer_weight.rank
left join weight as shorter_weight on counted.shorter = shorter_weight.rank
