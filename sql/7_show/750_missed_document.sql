-- missed_document: one document with a grade above 0 that a system's top results on the report page lack.
-- grain:  one row per (system_id, query_id, doc_id)
-- reads:  judgment, metric, ordered_result, query_score, shown_result
-- params: most
-- kind:   query
-- position: 1, 2, 3 … by falling grade, at most `most` for a query. rank: rank by the first metric, from 1; null if the
-- system did not return the document. missed: number of all such documents of the query.
with page_query as (
    select
        query_score.system_id,
        query_score.query_id,
        metric.rank_rule,
    from query_score
    inner join metric on query_score.metric_id = metric.metric_id
    where metric.position = 0
),

missed_judgment as (
    select
        page_query.system_id,
        page_query.query_id,
        page_query.rank_rule,
        judgment.doc_id,
        judgment.grade,
        count(*) over (partition by page_query.system_id, page_query.query_id) as missed,
        row_number() over (
            partition by page_query.system_id, page_query.query_id
            order by judgment.grade desc, judgment.doc_id asc
        ) as position,
    from page_query
    inner join judgment on page_query.query_id = judgment.query_id
    left join shown_result
        on
            page_query.system_id = shown_result.system_id
            and page_query.query_id = shown_result.query_id
            and judgment.doc_id = shown_result.doc_id
    where
        judgment.grade > 0
        and shown_result.doc_id is null
),

best_judgment as (
    select *, from missed_judgment
    where position <= $most
),

returned_judgment as (
    select
        best_judgment.system_id,
        best_judgment.query_id,
        best_judgment.rank_rule,
        best_judgment.doc_id,
        ordered_result.ties,
        ordered_result.order_score,
    from best_judgment
    inner join ordered_result
        on
            best_judgment.rank_rule = ordered_result.rank_rule
            and best_judgment.system_id = ordered_result.system_id
            and best_judgment.query_id = ordered_result.query_id
            and best_judgment.doc_id = ordered_result.doc_id
),

found_judgment as (
    select
        returned_judgment.system_id,
        returned_judgment.query_id,
        returned_judgment.doc_id,
        count(*) as rank,
    from returned_judgment
    inner join ordered_result
        on
            returned_judgment.rank_rule = ordered_result.rank_rule
            and returned_judgment.system_id = ordered_result.system_id
            and returned_judgment.query_id = ordered_result.query_id
    where
        ordered_result.order_score > returned_judgment.order_score
        or (
            ordered_result.order_score = returned_judgment.order_score
            and case
                when returned_judgment.ties = 'doc_id_asc' then ordered_result.doc_id <= returned_judgment.doc_id
                else ordered_result.doc_id >= returned_judgment.doc_id
            end
        )
    group by
        returned_judgment.system_id,
        returned_judgment.query_id,
        returned_judgment.doc_id
)

select
    best_judgment.system_id,
    best_judgment.query_id,
    best_judgment.position,
    best_judgment.doc_id,
    best_judgment.grade,
    found_judgment.rank,
    best_judgment.missed,
from best_judgment
left join found_judgment
    on
        best_judgment.system_id = found_judgment.system_id
        and best_judgment.query_id = found_judgment.query_id
        and best_judgment.doc_id = found_judgment.doc_id
