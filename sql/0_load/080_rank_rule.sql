-- rank_rule: the ways to order documents that the metrics ask for; each is ranked once.
-- grain:  one row per rank_rule
-- reads:  pulled_rank_rule
-- params: -
-- least_grade: of the documents that a condensed ranking keeps; null where it keeps every judged one.
select
    rank_rule,
    ties,
    score_precision,
    unjudged,
    least_grade,
from pulled_rank_rule
