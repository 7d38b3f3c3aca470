-- ordered_result: one result of a judged query, with the key by which one rank rule sorts it.
-- grain:  one row per (rank_rule, system_id, query_id, doc_id)
-- reads:  judgment, query, rank_rule, ranking
-- params: -
-- kind:   view
-- order_score: the key, the highest first. rank_given: null without ranks. A condensed ranking contains only judged
-- documents with a grade of at least least_grade. 3.4028234663852886e38 is the largest 32-bit float: higher scores are
-- cut to it if the rule compares 32-bit floats.
with judged_query as (
    select query_id,
    from query
    where is_judged
),

whole_result as (
    select
        rank_rule.rank_rule,
        rank_rule.ties,
        rank_rule.score_precision,
        ranking.system_id,
        ranking.query_id,
        ranking.doc_id,
        ranking.score,
        ranking.rank_given,
        ranking.order_score,
    from ranking
    cross join rank_rule
    where
        rank_rule.unjudged = 'zero'
        and ranking.query_id in (select judged_query.query_id, from judged_query)
),

-- only unjudged: condense
condensed_result as (
    select
        rank_rule.rank_rule,
        rank_rule.ties,
        rank_rule.score_precision,
        ranking.system_id,
        ranking.query_id,
        ranking.doc_id,
        ranking.score,
        ranking.rank_given,
        ranking.order_score,
    from ranking
    inner join judgment
        on
            ranking.query_id = judgment.query_id
            and ranking.doc_id = judgment.doc_id
    cross join rank_rule
    where
        rank_rule.unjudged = 'condense'
        and (rank_rule.least_grade is null or judgment.grade >= rank_rule.least_grade)
),
-- end

result as (
    select *, from whole_result
    -- only unjudged: condense
    union all
    select *, from condensed_result
    -- end
)

select
    rank_rule,
    ties,
    system_id,
    query_id,
    doc_id,
    rank_given,
    case
        when ties = 'given' then -cast(rank_given as double)
        when score_precision = 'float32' and score is not null
            then cast(
                cast(least(greatest(order_score, -3.4028234663852886e38), 3.4028234663852886e38) as real) as double
            )
        else order_score
    end as order_score,
from result
