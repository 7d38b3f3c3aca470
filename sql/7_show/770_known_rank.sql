-- known_rank: the ranks of relevant documents in rankings of which only the first results are here.
-- grain:  one row per (system_id, query_id, doc_id)
-- reads:  pulled_known_rank
-- params: -
-- kind:   query
-- In the order of the first metric; of a ranking that is here whole there are none.
select
    system_id,
    query_id,
    doc_id,
    rank,
from pulled_known_rank
