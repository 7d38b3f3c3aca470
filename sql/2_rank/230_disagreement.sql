-- disagreement: the differences between a candidate's ranking of one query and the baseline's, without judgments.
-- grain:  one row per (candidate, query_id)
-- reads:  metric, ranked_doc, system
-- params: -
-- moved: number of documents with different ranks in the two rankings, down to the deepest cutoff of the metrics; a
-- document counts once for each rank rule. If moved is 0, all metrics have equal values. squares: sum over documents of
-- the squared difference of 1/log2(rank + 1) in the two rankings, with 0 for a document below the cutoff of the first
-- metric or not returned.
with deepest as (
    select
        rank_rule,
        max(coalesce(cutoff, 2147483647)) as depth,
        max(case when position = 0 then coalesce(cutoff, 2147483647) end) as first_depth,
    from metric
    group by rank_rule
),

counted_result as (
    select
        ranked_doc.rank_rule,
        ranked_doc.system_id,
        system.role,
        ranked_doc.query_id,
        ranked_doc.doc_id,
        ranked_doc.first_rank,
        case
            when ranked_doc.first_rank <= deepest.first_depth then 1.0 / log2(ranked_doc.first_rank + 1)
            else 0.0
        end as discount,
    from ranked_doc
    inner join deepest on ranked_doc.rank_rule = deepest.rank_rule
    inner join system on ranked_doc.system_id = system.system_id
    where ranked_doc.first_rank <= deepest.depth
),

baseline_result as (
    select
        system.system_id as candidate,
        counted_result.rank_rule,
        counted_result.query_id,
        counted_result.doc_id,
        counted_result.first_rank,
        counted_result.discount,
    from counted_result
    cross join system
    where
        counted_result.role = 'baseline'
        and system.role = 'candidate'
),

candidate_result as (
    select
        system_id as candidate,
        rank_rule,
        query_id,
        doc_id,
        first_rank,
        discount,
    from counted_result
    where role = 'candidate'
),

beside as (
    select
        coalesce(baseline_result.candidate, candidate_result.candidate) as candidate,
        coalesce(baseline_result.rank_rule, candidate_result.rank_rule) as rank_rule,
        coalesce(baseline_result.query_id, candidate_result.query_id) as query_id,
        coalesce(baseline_result.doc_id, candidate_result.doc_id) as doc_id,
        case when baseline_result.first_rank = candidate_result.first_rank then 0 else 1 end as has_moved,
        coalesce(candidate_result.discount, 0.0) - coalesce(baseline_result.discount, 0.0) as step,
    from baseline_result
    full outer join candidate_result
        on
            baseline_result.candidate = candidate_result.candidate
            and baseline_result.rank_rule = candidate_result.rank_rule
            and baseline_result.query_id = candidate_result.query_id
            and baseline_result.doc_id = candidate_result.doc_id
),

summed as (
    select
        candidate,
        query_id,
        case when has_moved = 1 then 1 end as moved,
        sum(step * step) over (
            partition by candidate, query_id
            order by rank_rule asc, doc_id asc
        ) as squares,
    from beside
)

select
    candidate,
    query_id,
    count(moved) as moved,
    max(squares) as squares,
from summed
group by
    candidate,
    query_id
