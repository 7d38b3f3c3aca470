-- ranked_doc: one result of a judged query, with its rank, down to the depth of the metrics.
-- grain:  one row per (rank_rule, system_id, query_id, rank)
-- reads:  answered_query, ordered_result, pulled_answer
-- params: depth
-- rank: from 1. Equal scores are ordered by doc_id as bytes, descending as in trec_eval, or ascending: a total order.
-- first_rank: the rank; with ties = average the best rank of the group of equal scores, which is ranked completely.
-- Inside: with one sort key DuckDB keeps a top-n per query, much memory for millions of short rankings: they have two.
with deepest as (
    select coalesce(max(returned), 0) as returned,
    from answered_query
    where system_id not in (select reduced.system_id, from pulled_answer as reduced)
),

shallow_doc as (
    select
        ordered_result.rank_rule,
        ordered_result.system_id,
        ordered_result.query_id,
        ordered_result.doc_id,
        ordered_result.rank_given,
        ordered_result.order_score,
        row_number() over (
            partition by ordered_result.rank_rule, ordered_result.system_id, ordered_result.query_id
            order by ordered_result.order_score desc, ordered_result.doc_id desc
        ) as rank,
    from ordered_result
    where
        ordered_result.ties in ('doc_id_desc', 'given')
        and (select deepest.returned, from deepest) <= $depth
    qualify rank <= $depth
),

descending_doc as (
    select
        rank_rule,
        system_id,
        query_id,
        doc_id,
        rank_given,
        order_score,
        row_number() over (
            partition by rank_rule, system_id, query_id
            order by { 'score': order_score, 'doc_id': doc_id } desc
        ) as rank,
    from ordered_result
    where
        ties in ('doc_id_desc', 'given')
        and (select deepest.returned, from deepest) > $depth
    qualify rank <= $depth
),

-- only ties: doc_id_asc
ascending_doc as (
    select
        rank_rule,
        system_id,
        query_id,
        doc_id,
        rank_given,
        order_score,
        row_number() over (
            partition by rank_rule, system_id, query_id
            order by { 'score': -order_score, 'doc_id': doc_id } asc
        ) as rank,
    from ordered_result
    where ties = 'doc_id_asc'
    qualify rank <= $depth
),
-- end

-- only ties: average
averaged_doc as (
    select
        rank_rule,
        system_id,
        query_id,
        doc_id,
        rank_given,
        order_score,
        row_number() over (
            partition by rank_rule, system_id, query_id
            order by order_score desc, doc_id desc
        ) as rank,
        rank() over (
            partition by rank_rule, system_id, query_id
            order by order_score desc
        ) as first_rank,
    from ordered_result
    where ties = 'average'
    qualify first_rank <= $depth
),
-- end

total_order as (
    select *, from shallow_doc
    union all
    select *, from descending_doc
    -- only ties: doc_id_asc
    union all
    select *, from ascending_doc
    -- end
)

select
    rank_rule,
    system_id,
    query_id,
    doc_id,
    rank_given,
    order_score,
    rank,
    rank as first_rank,
from total_order
-- only ties: average
union all
select
    rank_rule,
    system_id,
    query_id,
    doc_id,
    rank_given,
    order_score,
    rank,
    first_rank,
from averaged_doc
-- end
