-- rank_rule: the ways to order documents that the metrics ask for; each is ranked once.
-- grain:  one row per rank_rule
-- reads:  pulled_rank_rule
-- params: -
select
    rank_rule,
    ties,
    score_precision,
    unjudged,
from pulled_rank_rule
