-- discount: the factor of one rank by one discount rule.
-- grain:  one row per (discount_rule, rank)
-- reads:  possible_rank, pulled_discount_rule
-- params: -
-- discount: the factor. By the kind of rule, the factor of rank i is: log2: 1/log2(i + 1). jarvelin_kekalainen:
-- 1/max(1, log_b i) (Järvelin and Kekäläinen 2002). reciprocal: 1/i. none: 1. geometric: (1 - p) p^(i - 1) (Moffat and
-- Zobel 2008). The column base of the rule holds b or p.
select
    rule.discount_rule,
    possible_rank.rank,
    case
        when rule.kind = 'log2' then 1.0 / log2(possible_rank.rank + 1)
        when rule.kind = 'jarvelin_kekalainen' then 1.0 / greatest(1.0, log2(possible_rank.rank) / log2(rule.base))
        when rule.kind = 'reciprocal' then 1.0 / possible_rank.rank
        when rule.kind = 'none' then 1.0
        when rule.kind = 'geometric' then (1.0 - rule.base) * power(rule.base, possible_rank.rank - 1)
    end as discount,
from pulled_discount_rule as rule
cross join possible_rank
