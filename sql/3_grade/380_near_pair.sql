-- near_pair: unjudged documents near the top and judged ones of the same query that could be one, spelt otherwise.
-- grain:  one row per (query_id, doc_id, judged_id)
-- reads:  judgment, pulled_placed_result, query, ranked_doc
-- params: places, affixed, rank_rule
-- Equal scores at the last of the places are ordered as in ranked_doc.
-- A wide net, drawn tight by `ndcg_ab.checks.ids.near_ids`: ids that agree without case, zeros, quotes and spaces in
-- every query; of the first `affixed` ones also ids that begin or end with the other. What they begin and end with is
-- cut at the lengths that the other side's ids have, and joined: not every two ids are compared.
-- A table of its own, because there are hardly any: how many there are is known before rankings are joined with it.
with
-- only placed: yes
last_group as (
    select
        query_id,
        doc_id,
        first_place - 1 + row_number() over (
            partition by system_id, query_id
            order by doc_id desc
        ) as rank,
    from pulled_placed_result
    where
        first_place <= $places
        and last_place > $places
),
-- end

top_result as (
    -- only placed: no
    select
        query_id,
        doc_id,
    from ranked_doc
    where
        rank_rule = $rank_rule
        and rank <= $places
    -- end
    -- only placed: yes
    union all
    select
        query_id,
        doc_id,
    from pulled_placed_result
    where last_place <= $places
    union all
    select
        query_id,
        doc_id,
    from last_group
    where rank <= $places
    -- end
),

top_doc as (
    select
        query_id,
        doc_id,
    from top_result
    -- only placed: yes
    where
        query_id in (
            select query.query_id,
            from query
            where query.is_judged
        )
    -- end
    group by
        query_id,
        doc_id
),

unjudged_doc as (
    select
        top_doc.query_id,
        top_doc.doc_id,
        length(top_doc.doc_id) as doc_length,
        replace(replace(replace(lower(trim(top_doc.doc_id)), '0', ''), '"', ''), '''', '') as plain,
    from top_doc
    left join judgment
        on
            top_doc.query_id = judgment.query_id
            and top_doc.doc_id = judgment.doc_id
    where judgment.doc_id is null
),

affixed_query as (
    select distinct query_id,
    from unjudged_doc
    order by query_id
    limit $affixed
),

affixed_doc as (
    select
        query_id,
        doc_id,
        doc_length,
    from unjudged_doc
    where query_id in (select affixed_query.query_id, from affixed_query)
),

plain_judgment as (
    select
        query_id,
        doc_id,
        length(doc_id) as doc_length,
        replace(replace(replace(lower(trim(doc_id)), '0', ''), '"', ''), '''', '') as plain,
    from judgment
),

judged_length as (
    select distinct
        query_id,
        doc_length,
    from plain_judgment
),

doc_end as (
    select
        affixed_doc.query_id,
        affixed_doc.doc_id,
        left(affixed_doc.doc_id, judged_length.doc_length) as beginning,
        right(affixed_doc.doc_id, judged_length.doc_length) as ending,
    from affixed_doc
    inner join judged_length
        on
            affixed_doc.query_id = judged_length.query_id
            and affixed_doc.doc_length > judged_length.doc_length
),

own_length as (
    select distinct
        query_id,
        doc_length,
    from affixed_doc
),

judged_end as (
    select
        plain_judgment.query_id,
        plain_judgment.doc_id as judged_id,
        left(plain_judgment.doc_id, own_length.doc_length) as beginning,
        right(plain_judgment.doc_id, own_length.doc_length) as ending,
    from plain_judgment
    inner join own_length
        on
            plain_judgment.query_id = own_length.query_id
            and plain_judgment.doc_length > own_length.doc_length
)

select
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
    doc_end.query_id,
    doc_end.doc_id,
    judgment.doc_id as judged_id,
from doc_end
inner join judgment
    on
        doc_end.query_id = judgment.query_id
        and doc_end.beginning = judgment.doc_id
union
select
    doc_end.query_id,
    doc_end.doc_id,
    judgment.doc_id as judged_id,
from doc_end
inner join judgment
    on
        doc_end.query_id = judgment.query_id
        and doc_end.ending = judgment.doc_id
union
select
    judged_end.query_id,
    affixed_doc.doc_id,
    judged_end.judged_id,
from judged_end
inner join affixed_doc
    on
        judged_end.query_id = affixed_doc.query_id
        and judged_end.beginning = affixed_doc.doc_id
union
select
    judged_end.query_id,
    affixed_doc.doc_id,
    judged_end.judged_id,
from judged_end
inner join affixed_doc
    on
        judged_end.query_id = affixed_doc.query_id
        and judged_end.ending = affixed_doc.doc_id
