-- distinct_result: rankings in which a document is once: the better of its scores, the better of its ranks.
-- grain:  one row per (system_id, query_id, doc_id)
-- reads:  pulled_ranking
-- params: -
-- Asked for only where every metric says duplicates = first and there are any; it then takes the place of
-- pulled_ranking.
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
