-- place: every rank at which something can stand, in a ranking or in an ideal.
-- grain:  one row per rank
-- reads:  judgment, pulled_place, ranked_doc
-- params: -
-- Ranks begin at 1 and have no gaps. pulled_place: the ranks that a max ideal fills, whatever was returned; and where
-- the places of results are known, all of them.
with ideal_place as (
    select
        row_number() over (
            partition by query_id
            order by doc_id asc
        ) as rank,
    from judgment
)

select rank, from ideal_place
-- only placed: no
union
select rank, from ranked_doc
-- end
union
select rank, from pulled_place
