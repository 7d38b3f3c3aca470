-- suspicious_query: where the ranking's own ranks are not seen to agree with the order of its scores.
-- grain:  one row per (system_id, query_id)
-- reads:  answered_query, ranked_doc
-- params: cutoff, rank_rule
-- A quick look, to spare nearly all queries the whole one: when the top k by score bear the ranks 1 to k (or 0 to
-- k - 1) in order, and nothing else does, the two agree.
with disagreeing_place as (
    select
        ranked_doc.system_id,
        ranked_doc.query_id,
        max(
            case
                when ranked_doc.rank_given - answered_query.lowest_rank + 1 = ranked_doc.rank then 0
                else 1
            end
        ) as differs,
    from ranked_doc
    inner join answered_query
        on
            ranked_doc.system_id = answered_query.system_id
            and ranked_doc.query_id = answered_query.query_id
    where
        ranked_doc.rank_rule = $rank_rule
        and ranked_doc.rank <= $cutoff
    group by
        ranked_doc.system_id,
        ranked_doc.query_id
)

select
    disagreeing_place.system_id,
    disagreeing_place.query_id,
from disagreeing_place
inner join answered_query
    on
        disagreeing_place.system_id = answered_query.system_id
        and disagreeing_place.query_id = answered_query.query_id
where
    disagreeing_place.differs = 1
    or case answered_query.lowest_rank
        when 1 then answered_query.early_ranks
        when 0 then answered_query.early_ranks_from_0
        else -1
    end <> least(answered_query.returned, $cutoff)
