-- query_dcg: the DCG of one system for one query within a metric's cutoff.
-- grain:  one row per (system_id, query_id, metric_id)
-- reads:  dcg_by_rank, metric
-- params: -
-- dcg: the DCG at the cutoff. first_rank: the first rank with a gain. A ranking without a gain within the cutoff has no
-- row.
-- Inside: DCG never falls with the rank, so its value at the cutoff is its maximum down to there.
select
    dcg_by_rank.system_id,
    dcg_by_rank.query_id,
    metric.metric_id,
    max(dcg_by_rank.dcg) as dcg,
    min(dcg_by_rank.rank) as first_rank,
from metric
inner join dcg_by_rank
    on
        metric.rank_rule = dcg_by_rank.rank_rule
        and metric.gain_rule = dcg_by_rank.gain_rule
        and metric.discount_rule = dcg_by_rank.discount_rule
        and dcg_by_rank.rank <= coalesce(metric.cutoff, dcg_by_rank.rank)
group by
    dcg_by_rank.system_id,
    dcg_by_rank.query_id,
    metric.metric_id
