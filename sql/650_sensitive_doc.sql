-- sensitive_doc: the results of the queries whose value depends on the order of ties, or on scores or ranks.
-- grain:  one row per (system_id, query_id, doc_id)
-- reads:  disagreeing_query, ranking, suspicious_query, tied_query
-- params: everything, places
-- Without everything only those that could stand in the top places: by rank, or by a score not below the last
-- one there (a little less, since scores may be compared as 32-bit floats).
-- is_suspicious: by its ranks it may be another order, in a system of which one query disagrees.
with ranked_otherwise as (
    select
        suspicious_query.system_id,
        suspicious_query.query_id,
        disagreeing_query.query_id is not null as is_disagreeing,
    from suspicious_query
    left join disagreeing_query
        on
            suspicious_query.system_id = disagreeing_query.system_id
            and suspicious_query.query_id = disagreeing_query.query_id
    where suspicious_query.system_id in (select faulty.system_id, from disagreeing_query as faulty)
),

sensitive_query as (
    select
        coalesce(tied_query.system_id, ranked_otherwise.system_id) as system_id,
        coalesce(tied_query.query_id, ranked_otherwise.query_id) as query_id,
        tied_query.last_score,
        tied_query.query_id is not null as is_tied,
        coalesce(ranked_otherwise.is_disagreeing, false) as is_disagreeing,
        ranked_otherwise.query_id is not null as is_suspicious,
    from tied_query
    full outer join ranked_otherwise
        on
            tied_query.system_id = ranked_otherwise.system_id
            and tied_query.query_id = ranked_otherwise.query_id
),

result as (
    select
        ranking.system_id,
        ranking.query_id,
        ranking.doc_id,
        ranking.score,
        ranking.rank_given,
        ranking.order_score,
        sensitive_query.last_score,
        sensitive_query.is_tied,
        sensitive_query.is_disagreeing,
        sensitive_query.is_suspicious,
    from ranking
    inner join sensitive_query
        on
            ranking.system_id = sensitive_query.system_id
            and ranking.query_id = sensitive_query.query_id
    where ranking.query_id in (select few.query_id, from sensitive_query as few)
),

placed_result as (
    select
        system_id,
        query_id,
        doc_id,
        score,
        rank_given,
        is_tied,
        is_disagreeing,
        is_suspicious,
        order_score >= last_score - 1e-6 * abs(last_score) as is_near,
        case
            when is_suspicious
                then row_number() over (
                    partition by system_id, query_id
                    order by rank_given asc, doc_id desc
                )
        end as place_given,
    from result
)

select
    system_id,
    query_id,
    doc_id,
    score,
    rank_given,
    is_tied,
    is_disagreeing,
    is_suspicious,
from placed_result
where $everything or is_near or place_given <= $places
