-- suspicious_query: one query whose given ranks may disagree with the order of its scores.
-- grain:  one row per (system_id, query_id)
-- reads:  answered_query, pulled_answer, ranked_doc
-- params: cutoff, rank_rule
-- returned: number of results. first_rank: the first rank at which a quick test fails, which comes before the full
-- comparison: if every rank occurs once, and the top k by score have the top k ranks in order, ranks and scores agree.
-- k is `cutoff`. Rankings without ranks are left out, and rankings that were reduced while they were read, because
-- their scores fall as ranks rise.
select
    ranked_doc.system_id,
    ranked_doc.query_id,
    max(answered_query.returned) as returned,
    min(ranked_doc.rank) as first_rank,
from ranked_doc
inner join answered_query
    on
        ranked_doc.system_id = answered_query.system_id
        and ranked_doc.query_id = answered_query.query_id
where
    ranked_doc.rank_rule = $rank_rule
    and ranked_doc.rank <= $cutoff
    and answered_query.lowest_rank is not null
    and ranked_doc.system_id not in (select reduced.system_id, from pulled_answer as reduced)
    and not coalesce(
        answered_query.has_plain_ranks
        and ranked_doc.rank_given - answered_query.lowest_rank + 1 = ranked_doc.rank,
        false
    )
group by
    ranked_doc.system_id,
    ranked_doc.query_id
