-- near_document: unjudged results near the top that could be a judged document of the query, spelt otherwise.
-- grain:  one row per (system_id, query_id, doc_id, judged_id)
-- reads:  judgment, ranked_doc
-- params: places, affixed, rank_rule
-- kind:   query
-- A wide net, drawn tight by `ndcg_ab.evaluation.near_ids`: ids that agree without case, zeros, quotes and spaces in
-- every query; of the first `affixed` ones also ids that begin or end with the other. Judged documents that the system
-- returned as well are other documents.
with top_doc as (
    select
        ranked_doc.system_id,
        ranked_doc.query_id,
        ranked_doc.doc_id,
        judgment.doc_id is not null as is_judged,
    from ranked_doc
    left join judgment
        on
            ranked_doc.query_id = judgment.query_id
            and ranked_doc.doc_id = judgment.doc_id
    where
        ranked_doc.rank_rule = $rank_rule
        and ranked_doc.rank <= $places
),

unjudged_doc as (
    select
        system_id,
        query_id,
        doc_id,
        replace(replace(replace(lower(trim(doc_id)), '0', ''), '"', ''), '''', '') as plain,
    from top_doc
    where not is_judged
),

affixed_query as (
    select distinct query_id,
    from unjudged_doc
    order by query_id
    limit $affixed
),

plain_judgment as (
    select
        query_id,
        doc_id,
        replace(replace(replace(lower(trim(doc_id)), '0', ''), '"', ''), '''', '') as plain,
    from judgment
),

near_pair as (
    select
        unjudged_doc.system_id,
        unjudged_doc.query_id,
        unjudged_doc.doc_id,
        plain_judgment.doc_id as judged_id,
    from unjudged_doc
    inner join plain_judgment
        on
            unjudged_doc.query_id = plain_judgment.query_id
            and unjudged_doc.plain = plain_judgment.plain
    union
    select
        unjudged_doc.system_id,
        unjudged_doc.query_id,
        unjudged_doc.doc_id,
        judgment.doc_id as judged_id,
    from unjudged_doc
    inner join judgment on unjudged_doc.query_id = judgment.query_id
    where
        unjudged_doc.query_id in (select affixed_query.query_id, from affixed_query)
        and (
            left(unjudged_doc.doc_id, length(judgment.doc_id)) = judgment.doc_id
            or right(unjudged_doc.doc_id, length(judgment.doc_id)) = judgment.doc_id
            or left(judgment.doc_id, length(unjudged_doc.doc_id)) = unjudged_doc.doc_id
            or right(judgment.doc_id, length(unjudged_doc.doc_id)) = unjudged_doc.doc_id
        )
)

select
    near_pair.system_id,
    near_pair.query_id,
    near_pair.doc_id,
    near_pair.judged_id,
from near_pair
left join top_doc
    on
        near_pair.system_id = top_doc.system_id
        and near_pair.query_id = top_doc.query_id
        and near_pair.judged_id = top_doc.doc_id
where top_doc.doc_id is null
