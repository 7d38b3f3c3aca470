-- known_rank: the rank of one relevant document in a ranking of which only the first results were read.
-- grain:  one row per (system_id, query_id, doc_id)
-- reads:  pulled_known_rank
-- params: -
-- kind:   query
-- Ranks are in the order of the first metric; a completely read ranking has no row.
select
    system_id,
    query_id,
    doc_id,
    rank,
from pulled_known_rank
