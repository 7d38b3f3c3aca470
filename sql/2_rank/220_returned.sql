-- returned: the number of results that a rank rule ranks, of one system for one judged query.
-- grain:  one row per (rank_rule, system_id, query_id)
-- reads:  answered_query, judgment, rank_rule, ranking
-- params: -
-- returned: 0 if a condensed ranking, which contains only judged documents, is empty. Unanswered queries have no row.
-- only unjudged: condense
with condensed_count as (
    select
        rank_rule.rank_rule,
        ranking.system_id,
        ranking.query_id,
        count(*) as returned,
    from ranking
    inner join judgment
        on
            ranking.query_id = judgment.query_id
            and ranking.doc_id = judgment.doc_id
    cross join rank_rule
    where
        exists (
            select condensing.rank_rule, from rank_rule as condensing
            where condensing.unjudged = 'condense'
        )
        and rank_rule.unjudged = 'condense'
        and (rank_rule.least_grade is null or judgment.grade >= rank_rule.least_grade)
    group by
        rank_rule.rank_rule,
        ranking.system_id,
        ranking.query_id
)
-- end

select
    rank_rule.rank_rule,
    answered_query.system_id,
    answered_query.query_id,
    case
        when rank_rule.unjudged = 'zero' then answered_query.returned
        -- only unjudged: condense
        else coalesce(condensed_count.returned, 0)
        -- end
    end as returned,
from answered_query
cross join rank_rule
-- only unjudged: condense
left join condensed_count
    on
        rank_rule.rank_rule = condensed_count.rank_rule
        and answered_query.system_id = condensed_count.system_id
        and answered_query.query_id = condensed_count.query_id
-- end
where answered_query.is_judged
