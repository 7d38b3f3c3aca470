-- known_rank: the rank of one relevant document in a ranking of which only a part was stored.
-- grain:  one row per (system_id, query_id, doc_id)
-- reads:  pulled_known_rank
-- params: -
-- kind:   query
-- Ranks are by the first metric. A ranking that is stored completely has no row.
select
    system_id,
    query_id,
    doc_id,
    rank,
from pulled_known_rank
