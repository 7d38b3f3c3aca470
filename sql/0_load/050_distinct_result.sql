-- distinct_result: one document of a ranking, with its better score and its better rank if it occurs twice.
-- grain:  one row per (system_id, query_id, doc_id)
-- reads:  pulled_ranking
-- params: -
-- It replaces pulled_ranking only if every metric has duplicates = first and there are duplicates.
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
