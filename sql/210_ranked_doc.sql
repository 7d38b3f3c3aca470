-- ranked_doc: the results of judged queries in rank order, as deep as the metrics look.
-- grain:  one row per (system_id, query_id, rank)
-- reads:  query, ranking
-- params: depth
-- Equal scores are ordered by doc_id as bytes, descending, as trec_eval does: the order is total, so the
-- ranks are the same on every run. One sort key instead of two lets DuckDB keep a top-n per query.
select
    system_id,
    query_id,
    doc_id,
    row_number() over (
        partition by system_id, query_id
        order by { 'score': order_score, 'doc_id': doc_id } desc
    ) as rank,
from ranking
where
    query_id in (
        select query.query_id, from query
        where query.is_judged
    )
qualify rank <= $depth
