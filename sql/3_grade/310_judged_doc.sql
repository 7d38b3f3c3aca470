-- judged_doc: the ranked documents that have a grade.
-- grain:  one row per (rank_rule, system_id, query_id, rank)
-- reads:  graded_doc, judgment, pulled_placed_result, rank_rule
-- params: depth
-- All that can gain anything. Where the places of results are known, so that only equal scores are left to be
-- ordered, nothing else is ranked: of a score that several results have, all of them, where one of them is judged.
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

tied_group as (
    select distinct
        system_id,
        query_id,
        first_place,
    from judged_result
    where first_place < last_place
),

tied_result as (
    select
        result.system_id,
        result.query_id,
        result.doc_id,
        result.first_place - 1 + row_number() over (
            partition by result.system_id, result.query_id, result.first_place
            order by result.doc_id desc
        ) as rank,
    from pulled_placed_result as result
    inner join tied_group
        on
            result.system_id = tied_group.system_id
            and result.query_id = tied_group.query_id
            and result.first_place = tied_group.first_place
    where result.first_place < result.last_place
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
        tied_result.system_id,
        tied_result.query_id,
        tied_result.rank,
        judgment.grade,
    from tied_result
    inner join judgment
        on
            tied_result.query_id = judgment.query_id
            and tied_result.doc_id = judgment.doc_id
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
