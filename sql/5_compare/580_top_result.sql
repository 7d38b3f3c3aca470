-- top_result: one result of a judged query down to `shown_depth`, for the effect of unjudged results.
-- grain:  one row per (rank_rule, system_id, query_id, rank)
-- reads:  graded_doc, rank_rule
-- params: shown_depth
-- rank, first_rank: as in ranked_doc. group_size: with ties = average, the number of results with the same score; else
-- 1. doc_id: null if the document is judged, to save memory. grade: null if it is unjudged.
with tied_group as (
    select
        graded_doc.rank_rule,
        graded_doc.system_id,
        graded_doc.query_id,
        graded_doc.first_rank,
        count(*) as group_size,
    from graded_doc
    inner join rank_rule on graded_doc.rank_rule = rank_rule.rank_rule
    where rank_rule.ties = 'average'
    group by
        graded_doc.rank_rule,
        graded_doc.system_id,
        graded_doc.query_id,
        graded_doc.first_rank
),

shown as (
    select
        rank_rule,
        system_id,
        query_id,
        rank,
        first_rank,
        doc_id,
        grade,
        is_judged,
    from graded_doc
    where first_rank <= $shown_depth
)

select
    shown.rank_rule,
    shown.system_id,
    shown.query_id,
    shown.rank,
    shown.first_rank,
    coalesce(tied_group.group_size, 1) as group_size,
    case when shown.is_judged then null else shown.doc_id end as doc_id,
    shown.grade,
from shown
left join tied_group
    on
        shown.rank_rule = tied_group.rank_rule
        and shown.system_id = tied_group.system_id
        and shown.query_id = tied_group.query_id
        and shown.first_rank = tied_group.first_rank
