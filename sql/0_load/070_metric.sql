-- metric: the definitions asked for, each with the rules it is put together from.
-- grain:  one row per metric_id
-- reads:  pulled_metric
-- params: -
-- rank_rule: how documents are ordered. gain_rule: what a grade is worth. relevance_rule: which queries have
-- something to find (those with a gain by this rule). discount_rule: the factor of a rank. own_depth: how deep
-- a local or recall ideal looks into the system's own documents (null: everything returned).
select
    metric_id,
    place,
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
