-- metric: one configured metric, with the names of the rules that define it.
-- grain:  one row per metric_id
-- reads:  pulled_metric
-- params: -
-- position: 0, 1, 2 … in the configured order. rank_rule: rule for the order of documents. gain_rule: rule for the gain
-- of a grade. relevance_rule: gain rule that decides whether a query has relevant documents. discount_rule: rule for
-- the factor of a rank. own_depth: number of the system's top results in a local or recall ideal (null: all).
select
    metric_id,
    position,
    name,
    measure,
    cutoff,
    rank_rule,
    gain_rule,
    relevance_rule,
    discount_rule,
    ideal,
    case
        when ideal = 'local' then cutoff
        when ideal = 'recall' then recall_depth
    end as own_depth,
    max_grade,
    ideal_cut,
    unanswered,
    no_relevant,
from pulled_metric
