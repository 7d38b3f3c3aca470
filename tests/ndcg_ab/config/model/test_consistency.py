"""Keys that contradict each other, one by one: the first words of what is said."""

from typing import Any

import pytest
from pydantic import ValidationError

from ndcg_ab.config.model.evaluation import Evaluation

SYSTEMS = [{"name": "old", "file": "old.run"}, {"name": "new", "file": "new.run"}]
RANKED: dict[str, Any] = {"name": "small", "judgments": "qrels", "systems": SYSTEMS}
SCORED: dict[str, Any] = {"name": "small", "scores": "scores.csv", "metrics": ["ndcg@10"]}
JUDGE = {"python": "judging:grade"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (SCORED | {"judgments": "qrels"}, "judgments: goes with rankings"),
        (SCORED | {"more_judgments": ["qrels"]}, "more_judgments: goes with rankings"),
        (SCORED | {"gate": {"judged": 0.5}}, "gate.judged: is not known of scores"),
        (SCORED | {"gate": {"unanswered": 3}}, "gate.unanswered: is not known of scores"),
        (RANKED | {"systems": [*SYSTEMS, SYSTEMS[0]]}, "systems: the name 'old' is given twice"),
        (RANKED | {"baseline": "lod"}, "baseline = 'lod': must be one of the systems (old, new)"),
        (RANKED | {"slices": {"by": ["kind"]}}, "queries: missing; slices.by needs a file of queries"),
        (RANKED | {"queries": "q.csv", "gate": {"slice_regression": 0.1}}, "gate.slice_regression: there are no"),
        (RANKED | {"gate": {"proof": True}}, "gate.proof: no guardrail or margin could be shown to hold; give one"),
        (RANKED | {"systems": [SYSTEMS[0], {"name": "new", "python": "a:b"}]}, "queries: missing; system 'new' is a"),
        (RANKED | {"careful_unseen": "ids.csv"}, "careful_unseen: goes with `cheap_judgments`"),
        (RANKED | {"judgments": JUDGE}, "queries: missing; the function of judgments"),
        (RANKED | {"judgments": JUDGE, "more_judgments": [JUDGE], "queries": "q"}, "more_judgments[0]: judgments"),
        (RANKED | {"judgments": JUDGE, "queries": "q", "cheap_judgments": "c"}, "cheap_judgments: go with"),
    ],
)
def test_what_contradicts_is_refused(content: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Evaluation.model_validate(content)
    assert said in str(caught.value)
