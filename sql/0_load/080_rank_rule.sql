-- rank_rule: one rule by which metrics order documents; results are ranked once for each.
-- grain:  one row per rank_rule
-- reads:  pulled_rank_rule
-- params: -
-- least_grade: lowest grade that a condensed ranking keeps; null if it keeps every judged document.
select
    rank_rule,
    ties,
    score_precision,
    unjudged,
    least_grade,
from pulled_rank_rule
