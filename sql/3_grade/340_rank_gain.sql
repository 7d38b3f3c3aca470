-- rank_gain: the gain at one rank of a ranking by one gain rule, if it is above 0.
-- grain:  one row per (rank_rule, gain_rule, system_id, query_id, rank)
-- reads:  gain, graded_doc, judged_doc, metric, rank_rule
-- params: -
-- kind:   view
-- gain: gain of the document at that rank. With ties = average it is the mean gain of the document's group of equal
-- scores (McSherry and Najork 2008), in which unjudged documents have gain 0.
with rule as (
    select distinct
        metric.rank_rule,
        metric.gain_rule,
    from metric
    -- only ties: average
    union
    select
        metric.rank_rule,
        'judged' as gain_rule,
    from metric
    inner join rank_rule on metric.rank_rule = rank_rule.rank_rule
    where rank_rule.ties = 'average'
    -- end
),

document_gain as (
    select
        judged_doc.rank_rule,
        gain.gain_rule,
        judged_doc.system_id,
        judged_doc.query_id,
        judged_doc.rank,
        judged_doc.first_rank,
        gain.gain,
    from judged_doc
    inner join gain on judged_doc.grade = gain.grade
    inner join rule
        on
            judged_doc.rank_rule = rule.rank_rule
            and gain.gain_rule = rule.gain_rule
    where gain.gain > 0
),

-- only ties: average
averaged_gain as (
    select
        document_gain.rank_rule,
        document_gain.gain_rule,
        document_gain.system_id,
        document_gain.query_id,
        document_gain.rank,
        document_gain.first_rank,
        sum(document_gain.gain) over (
            partition by
                document_gain.rank_rule,
                document_gain.gain_rule,
                document_gain.system_id,
                document_gain.query_id,
                document_gain.first_rank
            order by document_gain.rank
            rows between unbounded preceding and current row
        ) as gain,
    from document_gain
    inner join rank_rule on document_gain.rank_rule = rank_rule.rank_rule
    where rank_rule.ties = 'average'
),

tied_group as (
    select
        graded_doc.rank_rule,
        graded_doc.system_id,
        graded_doc.query_id,
        graded_doc.first_rank,
        count(*) as size,
    from graded_doc
    inner join rank_rule on graded_doc.rank_rule = rank_rule.rank_rule
    where rank_rule.ties = 'average'
    group by
        graded_doc.rank_rule,
        graded_doc.system_id,
        graded_doc.query_id,
        graded_doc.first_rank
),

group_gain as (
    select
        averaged_gain.rank_rule,
        averaged_gain.gain_rule,
        averaged_gain.system_id,
        averaged_gain.query_id,
        averaged_gain.first_rank,
        max(averaged_gain.gain) / max(tied_group.size) as gain,
    from averaged_gain
    inner join tied_group
        on
            averaged_gain.rank_rule = tied_group.rank_rule
            and averaged_gain.system_id = tied_group.system_id
            and averaged_gain.query_id = tied_group.query_id
            and averaged_gain.first_rank = tied_group.first_rank
    group by
        averaged_gain.rank_rule,
        averaged_gain.gain_rule,
        averaged_gain.system_id,
        averaged_gain.query_id,
        averaged_gain.first_rank
),
-- end

single_gain as (
    select
        document_gain.rank_rule,
        document_gain.gain_rule,
        document_gain.system_id,
        document_gain.query_id,
        document_gain.rank,
        document_gain.gain,
    from document_gain
    inner join rank_rule on document_gain.rank_rule = rank_rule.rank_rule
    where rank_rule.ties <> 'average'
)

select *, from single_gain
-- only ties: average
union all
select
    group_gain.rank_rule,
    group_gain.gain_rule,
    group_gain.system_id,
    group_gain.query_id,
    graded_doc.rank,
    group_gain.gain,
from group_gain
inner join graded_doc
    on
        group_gain.rank_rule = graded_doc.rank_rule
        and group_gain.system_id = graded_doc.system_id
        and group_gain.query_id = graded_doc.query_id
        and group_gain.first_rank = graded_doc.first_rank
-- end
