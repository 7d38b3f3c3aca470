-- metric: one configured metric, with the names of the rules that define it.
-- grain:  one row per metric_id
-- reads:  pulled_metric
-- params: -
-- position: 0, 1, 2 … in the configured order. rank_rule: rule for the order of documents. gain_rule: rule for the gain
-- of a grade. relevance_rule: gain rule by which a query has relevant documents or none. discount_rule: rule for the
-- factor of a rank. cutoff: null if the metric uses all ranks. own_depth: number of the system's top results in a local
-- or recall ideal; null for all results, and for other ideals. max_grade: the grade of a max ideal, or the highest
-- grade of err; null for the highest grade of all judgments.
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
