-- judged_doc: one ranked document that has a grade.
-- grain:  one row per (rank_rule, system_id, query_id, rank)
-- reads:  graded_doc, judgment, pulled_placed_result, rank_rule
-- params: depth
-- Only these documents can gain anything. If the first and last rank of every score are known (pulled_placed_result),
-- nothing else is ranked: a document stands below those with its score whose doc_id as bytes is higher.
with
-- only placed: yes
judged_result as (
    select
        result.system_id,
        result.query_id,
        result.doc_id,
        result.first_place,
        result.last_place,
        judgment.grade,
    from pulled_placed_result as result
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
        first_place,
    from pulled_placed_result
    where first_place < last_place
),

placed_result as (
    select
        system_id,
        query_id,
        cast(first_place as bigint) as rank,
        grade,
    from judged_result
    where first_place = last_place
    union all
    select
        judged_result.system_id,
        judged_result.query_id,
        max(judged_result.first_place) + count(above.doc_id) as rank,
        max(judged_result.grade) as grade,
    from judged_result
    left join tied_result as above
        on
            judged_result.system_id = above.system_id
            and judged_result.query_id = above.query_id
            and judged_result.first_place = above.first_place
            and judged_result.doc_id < above.doc_id
    where judged_result.first_place < judged_result.last_place
    group by
        judged_result.system_id,
        judged_result.query_id,
        judged_result.doc_id
),
-- end

judged as (
    -- only placed: no
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
    -- only placed: yes
    union all
    select
        rank_rule.rank_rule,
        placed_result.system_id,
        placed_result.query_id,
        placed_result.rank,
        placed_result.rank as first_rank,
        placed_result.grade,
    from placed_result
    cross join rank_rule
    where placed_result.rank <= $depth
    -- end
)

select *, from judged
