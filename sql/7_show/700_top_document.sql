-- top_document: one document in the first places of the baseline or of a candidate, with its grade.
-- grain:  one row per (candidate, query_id, doc_id)
-- reads:  judgment, metric, paired_difference, ranked_doc, system
-- params: deepest, places
-- The order is that of the first metric, down to its cutoff, at most `deepest`, or `places` without a cutoff. Only
-- queries on which both systems are scored count. A rank is null if the document is not among the system's first
-- places, and grade is null if it is unjudged.
with first_metric as (
    select
        metric_id,
        rank_rule,
        least(coalesce(cutoff, $places), $deepest) as depth,
    from metric
    where place = 0
),

first_place as (
    select
        ranked_doc.system_id,
        system.role,
        ranked_doc.query_id,
        ranked_doc.doc_id,
        ranked_doc.rank,
    from ranked_doc
    inner join first_metric on ranked_doc.rank_rule = first_metric.rank_rule
    inner join system on ranked_doc.system_id = system.system_id
    where ranked_doc.rank <= first_metric.depth
),

compared as (
    select
        paired_difference.candidate,
        paired_difference.query_id,
    from paired_difference
    inner join first_metric on paired_difference.metric_id = first_metric.metric_id
),

baseline_place as (
    select
        compared.candidate,
        compared.query_id,
        first_place.doc_id,
        first_place.rank,
    from compared
    inner join first_place on compared.query_id = first_place.query_id
    where first_place.role = 'baseline'
),

candidate_place as (
    select
        compared.candidate,
        compared.query_id,
        first_place.doc_id,
        first_place.rank,
    from compared
    inner join first_place
        on
            compared.candidate = first_place.system_id
            and compared.query_id = first_place.query_id
),

beside as (
    select
        coalesce(baseline_place.candidate, candidate_place.candidate) as candidate,
        coalesce(baseline_place.query_id, candidate_place.query_id) as query_id,
        coalesce(baseline_place.doc_id, candidate_place.doc_id) as doc_id,
        baseline_place.rank as baseline_rank,
        candidate_place.rank as candidate_rank,
    from baseline_place
    full outer join candidate_place
        on
            baseline_place.candidate = candidate_place.candidate
            and baseline_place.query_id = candidate_place.query_id
            and baseline_place.doc_id = candidate_place.doc_id
)

select
    beside.candidate,
    beside.query_id,
    beside.doc_id,
    beside.baseline_rank,
    beside.candidate_rank,
    judgment.grade,
from beside
left join judgment
    on
        beside.query_id = judgment.query_id
        and beside.doc_id = judgment.doc_id
