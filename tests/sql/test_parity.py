"""A slip in the SQL stops the evaluation, and says where."""

from typing import Any

import pytest

from ndcg_ab.errors import ParityError
from ndcg_ab.scoring.parity import SAMPLE, sample_queries, sample_size
from tests.laboratory import in_order, outcome_of, plant_fault

JUDGMENTS = {"q1": {"a": 3, "b": 1}, "q2": {"a": 0, "c": 2}}
RANKINGS = {"old": {"q1": in_order("b", "a"), "q2": in_order("c")}, "new": {"q1": in_order("a", "b")}}
FAULTS = [
    ("discount", "log2(possible_rank.rank + 1)", "log2(possible_rank.rank + 2)", "dcg@10"),
    ("discount", "log2(possible_rank.rank + 1)", "log2(possible_rank.rank + 2)", "ndcg@10"),
    ("discount", "1.0 / possible_rank.rank", "1.0 / (possible_rank.rank + 1)", "dcg(discount=reciprocal)@10"),
    ("gain", "power(2.0, wanted_grade.grade) - 1.0", "power(2.0, wanted_grade.grade)", "ndcg(gain=exponential)@10"),
    ("ranked_doc", "order_score desc, ordered_result.doc_id desc", "order_score, ordered_result.doc_id", "ndcg@10"),
    ("ranked_doc", "'score': -order_score", "'score': order_score", "ndcg(ties=doc_id_asc)@10"),
    ("dcg_by_rank", "between unbounded preceding", "between 0 preceding", "cg@10"),
    ("ideal_by_rank", "order by gain.gain desc", "order by gain.gain asc", "ndcg@1"),
    ("own_ideal_by_rank", "order by gain.gain desc", "order by gain.gain asc", "ndcg(ideal=recall)@1"),
    ("max_ideal_by_rank", "max(grade) as grade", "min(grade) as grade", "ndcg(ideal=max)@10"),
    ("query_dcg", "dcg_by_rank.rank <= ", "dcg_by_rank.rank < ", "ndcg@2"),
    ("query_ideal", "ideal_by_rank.rank <= ", "ideal_by_rank.rank < ", "ndcg@2"),
    ("query_score", "dcg / coalesce(cutoff, returned)", "dcg / returned", "precision@10"),
    ("walk_sum", "cast(relevant_seen as double) / rank", "1.0 / rank", "ap"),
    ("walk_sum", "exp(unsatisfied_above)", "1.0", "err@10"),
    ("walk_sum", "rank_gain.rank <= pool.relevant", "rank_gain.rank < pool.relevant", "rprec"),
    ("walk_sum", "gain.gain = 0 and judged_doc.grade >= 0", "gain.gain > 0", "bpref"),
    ("walk_sum", "(pooled_seen - 1)", "0.0", "infap"),
    ("discount", "power(rule.base, possible_rank.rank - 1)", "power(rule.base, possible_rank.rank)", "rbp"),
    ("scored_query", "where gain.gain > 0", "where gain.gain > 1", "ndcg@10"),
]
# Of a query that `new` does not answer.
UNANSWERED = ("query_score", "when coalesce(returned, 0) = 0 then 0.0", "when coalesce(returned, 0) = 0 then 0.5", "rr")


def marked() -> list[Any]:
    """The faults; a third of them are planted every day, all in `make soak`."""
    return [
        pytest.param(*fault, marks=[pytest.mark.slow, *[pytest.mark.soak] * (at % 3 > 0)])
        for at, fault in enumerate(FAULTS)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("table", "right", "wrong", "metric"), [UNANSWERED, *marked()])
def test_a_planted_fault_stops_the_evaluation(
    table: str, right: str, wrong: str, metric: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome_of(JUDGMENTS, RANKINGS, [metric])  # sound before
    plant_fault(monkeypatch, table, right, wrong)
    # One more query, whose only grade is 1: some faults touch no other.
    judgments = {**JUDGMENTS, "q3": {"a": 1}}
    with pytest.raises(ParityError) as caught:
        outcome_of(judgments, RANKINGS, [metric])
    message = str(caught.value)
    assert any(f"query {query!r}" in message for query in judgments)
    assert any(f"system {system}" in message for system in RANKINGS)
    assert f"metric {metric}" in message
    assert "SQL gives" in message
    assert "the Python core" in message


def test_the_sample_is_fixed_and_whole_when_small() -> None:
    many = [f"q{number}" for number in range(1000)]
    assert sample_queries(many[:SAMPLE], 2) == sorted(many[:SAMPLE])
    sample = sample_queries(many, 2)
    assert len(sample) == SAMPLE
    assert sample == sample_queries(list(reversed(many)), 2)
    assert set(sample) - set(many[:500]), "it reaches beyond the first queries"
    assert set(sample_queries(many, 40)) < set(sample)


@pytest.mark.parametrize(("systems", "queries"), [(1, 50), (20, 50), (21, 47), (50, 20), (143, 10), (2000, 10)])
def test_of_many_systems_fewer_queries_are_computed_again(systems: int, queries: int) -> None:
    assert sample_size(systems) == queries


def test_large_values_are_compared_by_their_size() -> None:
    judgments = {f"q{number}": {f"d{index}": 1e8 / (index + 3) + number for index in range(60)} for number in range(20)}
    rankings = {"new": {query: in_order(*grades) for query, grades in judgments.items()}}
    outcome = outcome_of(judgments, rankings, ["dcg@20", "cg"])
    assert outcome.parity_queries == 20
