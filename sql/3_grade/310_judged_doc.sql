-- judged_doc: one ranked document that has a grade.
-- grain:  one row per (rank_rule, system_id, query_id, rank)
-- reads:  graded_doc, judgment, pulled_ranked_result, rank_rule
-- params: depth
-- Only these documents can gain anything. If the first and last rank of every score are known (pulled_ranked_result),
-- nothing else is ranked: of documents with equal scores, the one with the higher doc_id (as bytes) comes first.
with
-- only ranked: yes
judged_result as (
    select
        result.system_id,
        result.query_id,
        result.doc_id,
        result.first_rank,
        result.last_rank,
        judgment.grade,
    from pulled_ranked_result as result
    inner join judgment
        on
            result.query_id = judgment.query_id
            and result.doc_id = judgment.doc_id
),

tied_result as (
    select
        system_id,
        query_id,
        doc_id,
        first_rank,
    from pulled_ranked_result
    where first_rank < last_rank
),

ranked_result as (
    select
        system_id,
        query_id,
        cast(first_rank as bigint) as rank,
        grade,
    from judged_result
    where first_rank = last_rank
    union all
    select
        judged_result.system_id,
        judged_result.query_id,
        max(judged_result.first_rank) + count(above.doc_id) as rank,
        max(judged_result.grade) as grade,
    from judged_result
    left join tied_result as above
        on
            judged_result.system_id = above.system_id
            and judged_result.query_id = above.query_id
            and judged_result.first_rank = above.first_rank
            and judged_result.doc_id < above.doc_id
    where judged_result.first_rank < judged_result.last_rank
    group by
        judged_result.system_id,
        judged_result.query_id,
        judged_result.doc_id
),
-- end

judged as (
    -- only ranked: no
    select
        rank_rule,
        system_id,
        query_id,
        rank,
        first_rank,
        grade,
    from graded_doc
    where is_judged
    -- end
    -- only ranked: yes
    union all
    select
        rank_rule.rank_rule,
        ranked_result.system_id,
        ranked_result.query_id,
        ranked_result.rank,
        ranked_result.rank as first_rank,
        ranked_result.grade,
    from ranked_result
    cross join rank_rule
    where ranked_result.rank <= $depth
    -- end
)

select *, from judged
