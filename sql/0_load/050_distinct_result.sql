-- distinct_result: one document of a ranking, with its highest score and best rank if it is repeated.
-- grain:  one row per (system_id, query_id, doc_id)
-- reads:  pulled_ranking
-- params: -
-- score, rank_given: null if the ranking has none. This table replaces pulled_ranking only if every metric has
-- duplicates = first and a ranking repeats a document.
select
    system_id,
    query_id,
    doc_id,
    max(score) as score,
    min(rank_given) as rank_given,
from pulled_ranking
group by
    system_id,
    query_id,
    doc_id
