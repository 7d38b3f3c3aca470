-- sensitive_doc: one result for a query in which equal scores decide ranks in the top k.
-- grain:  one row per (system_id, query_id, doc_id)
-- reads:  ranking, tied_query
-- params: everything
-- score, rank_given: null if the ranking has none. If `everything` is false, results are left out that cannot be in the
-- top k: with a score below the lowest score of the top k (minus a tolerance, because scores may be compared as 32-bit
-- floats).
select
    ranking.system_id,
    ranking.query_id,
    ranking.doc_id,
    ranking.score,
    ranking.rank_given,
from ranking
inner join tied_query
    on
        ranking.system_id = tied_query.system_id
        and ranking.query_id = tied_query.query_id
where
    ranking.query_id in (select few.query_id, from tied_query as few)
    and ($everything or ranking.order_score >= tied_query.last_score - 1e-6 * abs(tied_query.last_score))
