"""Properties of the rule that decides, on whole random evaluations through the Python API (docs/verdicts.md)."""

from random import Random
from typing import Any

import pytest

import ndcg_ab
from ndcg_ab.results.decisions import Choice
from tests.repeated import mostly_soaked

Rankings = dict[str, dict[str, float]]
EXCHANGED = {
    Choice.SHIP: {Choice.DO_NOT_SHIP},
    Choice.SHIP_IF_CHEAP: {Choice.DO_NOT_SHIP},
    Choice.DO_NOT_SHIP: {Choice.SHIP, Choice.SHIP_IF_CHEAP},
}
METRICS = ("ndcg@5", "ap", "rr@5", "precision@3", "recall@5", "err@5", "bpref", "rprec", "rbp@5", "dcg@5")


class Drawn:
    """A random evaluation: judgments, two rankings whose qualities differ by chance, and its settings."""

    def __init__(self, seed: int) -> None:
        random = Random(seed)
        documents = [f"d{number}" for number in range(12)]
        share, self.metric = random.choice([0.5, 0.8, 0.95, 1.0]), random.choice(METRICS)
        better, queries = random.choice([-1.5, -0.5, 0.0, 0.5, 1.5]), random.choice([8, 25, 60])
        self.smallest_effect = random.choice([None, 0.02, 0.2])
        self.judgments: Rankings = {}
        self.old: Rankings = {}
        self.new: Rankings = {}
        for query in (f"q{number:02d}" for number in range(queries)):
            grades = {document: float(random.choice([0, 0, 0, 1, 2])) for document in documents}
            grades["d0"] = 2.0
            self.judgments[query] = {
                each: grade for each, grade in grades.items() if random.random() < share or each == "d0"
            }
            noise = {document: random.gauss(0, 2) for document in documents}
            self.old[query] = {each: grades[each] + noise[each] for each in documents}
            self.new[query] = {
                each: grades[each] * (1 + better) + noise[each] + random.gauss(0, 0.7) for each in documents
            }

    def decide(self, baseline: Rankings, candidate: Rankings, **changes: Any) -> Choice:
        """Return the decision on a candidate."""
        settings: dict[str, Any] = {
            "metrics": [self.metric],
            "smallest_effect": None if self.smallest_effect is None else {self.metric: self.smallest_effect},
            "resamples": 500,
        }
        found = ndcg_ab.compare(self.judgments, {"a": baseline, "b": candidate}, **(settings | changes))
        (decision,) = found.decisions
        return decision.decision


@pytest.mark.slow
@pytest.mark.parametrize("seed", mostly_soaked(range(60), kept=range(4)))
def test_exchanging_the_systems_exchanges_the_decision(seed: int) -> None:
    drawn = Drawn(seed)
    decision, other = drawn.decide(drawn.old, drawn.new), drawn.decide(drawn.new, drawn.old)
    assert other in EXCHANGED.get(decision, {decision})


@pytest.mark.slow
@pytest.mark.parametrize("seed", mostly_soaked(range(300), kept=range(4)))
def test_what_only_describes_never_changes_a_decision(seed: int) -> None:
    """Describing metrics, bounds or none: one of the changes for each seed."""
    drawn = Drawn(seed)
    others = [name for name in METRICS if name != drawn.metric]
    change: dict[str, Any] = [
        {"metrics": [drawn.metric, *others[:8]]},
        {"metrics": [drawn.metric, *others[7::-1]]},
        {"bounds": True},
        {"bounds": False},
    ][seed % 4]
    assert drawn.decide(drawn.old, drawn.new) is drawn.decide(drawn.old, drawn.new, **change)


@pytest.mark.slow
@pytest.mark.parametrize("seed", mostly_soaked(range(30), kept=range(2)))
def test_an_unjudged_document_put_first_everywhere_is_no_harm(seed: int) -> None:
    drawn = Drawn(seed)
    candidate = {query: {"unseen": 1e9, **ranking} for query, ranking in drawn.old.items()}
    settings = {"metrics": ["ndcg@5"], "smallest_effect": 0.01}
    assert drawn.decide(drawn.old, candidate, **settings) in (Choice.JUDGE_RESULTS, Choice.JUDGE_MORE)
    assert drawn.decide(candidate, drawn.old, **settings) in (Choice.JUDGE_RESULTS, Choice.JUDGE_MORE)
    assert drawn.decide(drawn.old, candidate) is not Choice.DO_NOT_SHIP


@pytest.mark.first_case
@pytest.mark.parametrize("seed", mostly_soaked(range(30), kept=range(2)))
def test_complete_judgments_leave_nothing_to_judge(seed: int) -> None:
    drawn = Drawn(seed)
    assert drawn.decide(drawn.old, drawn.new, complete_judgments=True) is not Choice.JUDGE_RESULTS


@pytest.mark.slow
def test_the_decisions_drawn_here_are_of_every_kind() -> None:
    """A generator whose evaluations all end alike would prove nothing: these are the first of each kind."""
    drawn = [Drawn(seed) for seed in (0, 3, 5, 7, 11, 14)]
    assert {each.decide(each.old, each.new) for each in drawn} >= {*Choice} - {Choice.MEASURE_MORE}
