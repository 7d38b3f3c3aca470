-- top_document: one document in the top ranks of the baseline, a candidate or both, with its grade.
-- grain:  one row per (candidate, query_id, doc_id)
-- reads:  judgment, metric, paired_difference, ranked_doc, system
-- params: deepest, default_depth
-- baseline_rank, candidate_rank: null if the document is not in the top ranks of the system. grade: null if the
-- document is unjudged. The top ranks are those of the first metric, down to its cutoff (at most `deepest`), or to
-- `default_depth` without a cutoff. Queries are those that both systems are scored on.
with first_metric as (
    select
        metric_id,
        rank_rule,
        least(coalesce(cutoff, $default_depth), $deepest) as depth,
    from metric
    where position = 0
),

leading_doc as (
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

baseline_result as (
    select
        compared.candidate,
        compared.query_id,
        leading_doc.doc_id,
        leading_doc.rank,
    from compared
    inner join leading_doc on compared.query_id = leading_doc.query_id
    where leading_doc.role = 'baseline'
),

candidate_result as (
    select
        compared.candidate,
        compared.query_id,
        leading_doc.doc_id,
        leading_doc.rank,
    from compared
    inner join leading_doc
        on
            compared.candidate = leading_doc.system_id
            and compared.query_id = leading_doc.query_id
),

beside as (
    select
        coalesce(baseline_result.candidate, candidate_result.candidate) as candidate,
        coalesce(baseline_result.query_id, candidate_result.query_id) as query_id,
        coalesce(baseline_result.doc_id, candidate_result.doc_id) as doc_id,
        baseline_result.rank as baseline_rank,
        candidate_result.rank as candidate_rank,
    from baseline_result
    full outer join candidate_result
        on
            baseline_result.candidate = candidate_result.candidate
            and baseline_result.query_id = candidate_result.query_id
            and baseline_result.doc_id = candidate_result.doc_id
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
