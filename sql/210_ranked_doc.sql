-- ranked_doc: the results of judged queries in rank order, as deep as the metrics look.
-- grain:  one row per (rank_rule, system_id, query_id, rank)
-- reads:  judgment, query, rank_rule, ranking
-- params: depth
-- Equal scores are ordered by doc_id as bytes, descending as trec_eval does, or ascending: the order is total,
-- so the ranks are the same on every run. One sort key instead of two lets DuckDB keep a top-n per query.
-- first_rank: the first rank of the group of equal scores that a document stands in; ties = average needs it,
-- and the whole of a group that begins within the depth. Condensed rankings hold judged documents only.
-- 3.4028234663852886e38 is the largest 32-bit float: scores beyond it are cut to it.
with judged_query as (
    select query_id,
    from query
    where is_judged
),

whole_result as (
    select
        rank_rule.rank_rule,
        rank_rule.ties,
        rank_rule.score_precision,
        ranking.system_id,
        ranking.query_id,
        ranking.doc_id,
        ranking.score,
        ranking.rank_given,
        ranking.order_score,
    from ranking
    cross join rank_rule
    where
        rank_rule.unjudged = 'zero'
        and ranking.query_id in (select judged_query.query_id, from judged_query)
),

condensed_result as (
    select
        rank_rule.rank_rule,
        rank_rule.ties,
        rank_rule.score_precision,
        ranking.system_id,
        ranking.query_id,
        ranking.doc_id,
        ranking.score,
        ranking.rank_given,
        ranking.order_score,
    from ranking
    inner join judgment
        on
            ranking.query_id = judgment.query_id
            and ranking.doc_id = judgment.doc_id
    cross join rank_rule
    where rank_rule.unjudged = 'condense'
),

result as (
    select *, from whole_result
    union all
    select *, from condensed_result
),

ordered_result as (
    select
        rank_rule,
        ties,
        system_id,
        query_id,
        doc_id,
        rank_given,
        case
            when ties = 'given' then -cast(rank_given as double)
            when score_precision = 'float32' and score is not null
                then cast(
                    cast(least(greatest(order_score, -3.4028234663852886e38), 3.4028234663852886e38) as real) as double
                )
            else order_score
        end as order_score,
    from result
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
    where ties in ('doc_id_desc', 'given')
    qualify rank <= $depth
),

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
from descending_doc
union all
select
    rank_rule,
    system_id,
    query_id,
    doc_id,
    rank_given,
    order_score,
    rank,
    rank as first_rank,
from ascending_doc
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
