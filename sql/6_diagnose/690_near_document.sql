-- near_document: unjudged results near the top that could be a judged document of the query, spelt otherwise.
-- grain:  one row per (system_id, query_id, doc_id, judged_id)
-- reads:  near_pair, ranked_doc
-- params: places, rank_rule
-- kind:   query
-- Judged documents that the system returned as well are other documents.
with judged_near as (
    select distinct
        query_id,
        judged_id,
    from near_pair
),

near_judgment as (
    select
        ranked_doc.system_id,
        ranked_doc.query_id,
        ranked_doc.doc_id,
    from ranked_doc
    inner join judged_near
        on
            ranked_doc.query_id = judged_near.query_id
            and ranked_doc.doc_id = judged_near.judged_id
    where
        ranked_doc.rank_rule = $rank_rule
        and ranked_doc.rank <= $places
)

select
    unjudged.system_id,
    near_pair.query_id,
    near_pair.doc_id,
    near_pair.judged_id,
from near_pair
inner join ranked_doc as unjudged
    on
        near_pair.query_id = unjudged.query_id
        and near_pair.doc_id = unjudged.doc_id
left join near_judgment
    on
        unjudged.system_id = near_judgment.system_id
        and near_pair.query_id = near_judgment.query_id
        and near_pair.judged_id = near_judgment.doc_id
where
    unjudged.rank_rule = $rank_rule
    and unjudged.rank <= $places
    and near_judgment.doc_id is null
