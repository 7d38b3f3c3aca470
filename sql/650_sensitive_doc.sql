-- sensitive_doc: the results of the queries whose value depends on the order of ties, or on scores or ranks.
-- grain:  one row per (system_id, query_id, doc_id)
-- reads:  disagreeing_query, ranking, tied_query
-- params: everything, places
-- Without everything only those that could stand in the top places: by rank, or by a score not below the last
-- one there (a little less, since scores may be compared as 32-bit floats).
with sensitive_query as (
    select
        coalesce(tied_query.system_id, disagreeing_query.system_id) as system_id,
        coalesce(tied_query.query_id, disagreeing_query.query_id) as query_id,
        tied_query.last_score,
        tied_query.query_id is not null as is_tied,
        disagreeing_query.query_id is not null as is_disagreeing,
    from tied_query
    full outer join disagreeing_query
        on
            tied_query.system_id = disagreeing_query.system_id
            and tied_query.query_id = disagreeing_query.query_id
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
        order_score >= last_score - 1e-6 * abs(last_score) as is_near,
        case
            when is_disagreeing
                then row_number() over (
                    partition by system_id, query_id
                    order by rank_given asc, doc_id asc
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
from placed_result
where $everything or is_near or place_given <= $places
