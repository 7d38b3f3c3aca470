-- rank_rule: one rule by which metrics order documents.
-- grain:  one row per rank_rule
-- reads:  pulled_rank_rule
-- params: -
-- ties: rule for equal scores. unjudged: condense to leave unjudged results out of the ranking, or zero. least_grade:
-- lowest grade of documents in a condensed ranking; null if it contains every judged document.
select
    rank_rule,
    ties,
    score_precision,
    unjudged,
    least_grade,
from pulled_rank_rule
