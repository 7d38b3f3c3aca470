-- ranking: one result that a system returned, with the key that orders results.
-- grain:  one row per (system_id, query_id, doc_id)
-- reads:  pulled_ranking
-- params: -
-- kind:   view
-- score: null without scores. rank_given: the rank in the file; null without ranks. order_score orders the documents,
-- the highest first: it is the score, or without scores the negative rank. Adding 0.0 turns -0.0 into 0.0, because the
-- two are equal scores.
select
    system_id,
    query_id,
    doc_id,
    score,
    rank_given,
    coalesce(score, -cast(rank_given as double)) + 0.0 as order_score,
from pulled_ranking
