-- possible_rank: one rank that a ranking or an ideal ranking can have.
-- grain:  one row per rank
-- reads:  judgment, pulled_rank, ranked_doc
-- params: -
-- Ranks begin at 1 and have no gaps. pulled_rank: the ranks of a max ideal, whatever was returned.
with ideal_rank as (
    select
        row_number() over (
            partition by query_id
            order by doc_id asc
        ) as rank,
    from judgment
)

select rank, from ideal_rank
union
select rank, from ranked_doc
union
select rank, from pulled_rank
