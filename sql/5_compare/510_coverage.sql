-- coverage: the share of judged results of one query within the cutoff of a metric (judged@k).
-- grain:  one row per (system_id, query_id, metric_id)
-- reads:  dcg_by_rank, judged_doc, metric, query_score, rank_rule, returned
-- params: -
-- judged: the share of the results that there are: with two judged of only three results, it is 2/3 at any cutoff from
-- 3 on. Queries without results have no row. With ties = average, a group of equal scores at the cutoff counts in part.
with judged_in_cutoff as (
    select
        judged_doc.system_id,
        judged_doc.query_id,
        metric.metric_id,
        cast(count(*) as double) as judged,
    from metric
    inner join rank_rule on metric.rank_rule = rank_rule.rank_rule
    inner join judged_doc
        on
            metric.rank_rule = judged_doc.rank_rule
            and judged_doc.rank <= coalesce(metric.cutoff, judged_doc.rank)
    where rank_rule.ties <> 'average'
    group by
        judged_doc.system_id,
        judged_doc.query_id,
        metric.metric_id
    -- only ties: average
    union all
    select
        dcg_by_rank.system_id,
        dcg_by_rank.query_id,
        metric.metric_id,
        max(dcg_by_rank.dcg) as judged,
    from metric
    inner join rank_rule on metric.rank_rule = rank_rule.rank_rule
    inner join dcg_by_rank
        on
            metric.rank_rule = dcg_by_rank.rank_rule
            and dcg_by_rank.rank <= coalesce(metric.cutoff, dcg_by_rank.rank)
    where
        rank_rule.ties = 'average'
        and dcg_by_rank.gain_rule = 'judged'
        and dcg_by_rank.discount_rule = 'none'
    group by
        dcg_by_rank.system_id,
        dcg_by_rank.query_id,
        metric.metric_id
-- end
)

select
    query_score.system_id,
    query_score.query_id,
    query_score.metric_id,
    coalesce(judged_in_cutoff.judged, 0.0)
    / least(coalesce(metric.cutoff, returned.returned), returned.returned) as judged,
from query_score
inner join metric on query_score.metric_id = metric.metric_id
inner join returned
    on
        metric.rank_rule = returned.rank_rule
        and query_score.system_id = returned.system_id
        and query_score.query_id = returned.query_id
left join judged_in_cutoff
    on
        query_score.system_id = judged_in_cutoff.system_id
        and query_score.query_id = judged_in_cutoff.query_id
        and query_score.metric_id = judged_in_cutoff.metric_id
where returned.returned > 0
