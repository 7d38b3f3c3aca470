"""Differences with given grades are those of the completed judgments, scored by themselves."""

import numpy as np
import pytest

from ndcg_core.measures.notation import parse
from ndcg_core.measures.score import Result, arrange_places, score_query
from ndcg_core.measures.unjudged.completions import Completions
from ndcg_core.measures.unjudged.places import Judged, Places, no_places

EVERY = (
    *("ndcg@3", "ndcg", "ndcg(ideal=max)@3", "ndcg(gain=exponential)@2", "ndcg(gain=binary, relevant_from=2)@3"),
    *("dcg@3", "precision@2", "recall@3", "ndcg(ties=average)@2", "ndcg(no_relevant=zero)@3", "rbp(p=0.8)@3"),
    *("rr@2", "accuracy@2", "ap", "ap(relevant_from=2)@3", "err@3", "rprec", "rprec(ties=average)", "bpref", "infap"),
    *("ap(no_relevant=one)@2", "rr(no_relevant=one)", "ndcg(gain={1:1, 2:2, 3:0}, ideal=max)@2"),
)
KNOWN = [{"a": 2.0, "b": 0.0}, {"a": 1.0, "c": 3.0, "d": 3.0}, {"b": 0.0}, {"a": 0.0}]
NEW = [["x", "a", "y"], ["a", "x", "c", "b"], ["x", "b"], []]
OLD = [["a", "y", "b"], ["y", "a"], ["b", "y", "z"], ["a"]]
UNJUDGED = [["x", "y", "other"], ["b", "x", "y"], ["x", "y", "z"], ["other"]]
LEVELS = (0.0, 1.0, 2.0, 3.0)


def results(docs: list[str]) -> list[Result]:
    """The first two have equal scores."""
    return [Result(doc, float(-max(place, 1))) for place, doc in enumerate(docs)]


def places(name: str, rankings: list[list[str]]) -> Places:
    """What each shows; doc is the number among all unjudged documents."""
    metric = parse(name)
    numbers = {pair: number for number, pair in enumerate((q, d) for q, docs in enumerate(UNJUDGED) for d in docs)}
    rows = []
    for query, docs in enumerate(rankings):
        placed = arrange_places(metric, results(docs), KNOWN[query])
        firsts = [place.first_rank for place in placed]
        for rank, place in enumerate(placed, start=1):
            is_tied = metric.ties == "average"
            first, size = (place.first_rank, firsts.count(place.first_rank)) if is_tied else (rank, 1)
            grade = KNOWN[query].get(place.doc_id, np.nan)
            rows.append((query, numbers.get((query, place.doc_id), 0), rank, first, size, grade))
    *columns, grades = np.array(rows).T
    return Places(*(column.astype(np.int64) for column in columns), grades)


@pytest.mark.parametrize("name", EVERY)
def test_they_are_the_differences_of_the_completed_judgments(name: str) -> None:
    metric, rng, draws = parse(name), np.random.default_rng(1), 30
    query = np.repeat(np.arange(4), [len(docs) for docs in UNJUDGED])
    grades = rng.choice(LEVELS, (draws, len(query)))
    counts = np.array([[list(known.values()).count(level) for level in LEVELS] for known in KNOWN])
    wanted = np.array([0, 1, 2, 3]) if metric.no_relevant != "exclude" else np.array([1, 0])

    def value(number: int, ranking: list[list[str]], known: dict[str, float]) -> float:
        return score_query(metric, results(ranking[number]), known, 3.0) or 0.0

    before = np.array([value(q, NEW, KNOWN[q]) - value(q, OLD, KNOWN[q]) for q in wanted.tolist()])
    made = Completions(metric, Judged(LEVELS, counts), query, grades)
    found = made.differences(before, wanted, places(name, NEW), places(name, OLD))
    for line, drawn in zip(found, grades, strict=True):
        expected = []
        for number in wanted.tolist():
            given = dict(zip(UNJUDGED[number], drawn[query == number].tolist(), strict=True))
            completed = KNOWN[number] | given
            expected.append(value(number, NEW, completed) - value(number, OLD, completed))
        assert line == pytest.approx(expected)


def test_where_no_grade_gains_anything_nothing_moves() -> None:
    shown = Places(*([np.zeros(1, dtype=np.int64)] * 2), *([np.ones(1, dtype=np.int64)] * 3), np.full(1, np.nan))
    judged = Judged((0.0,), np.ones((1, 1), dtype=np.int64))
    made = Completions(parse("ndcg@3"), judged, np.zeros(1, int), np.zeros((2, 1)))
    assert made.differences(np.zeros(1), np.zeros(1, int), shown, no_places()).tolist() == [[0.0], [0.0]]


def test_a_metric_without_bounds_is_refused() -> None:
    with pytest.raises(ValueError, match="no completions, it is the share that is judged"):
        Completions(
            parse("judged@3"), Judged((0.0,), np.ones((1, 1), dtype=np.int64)), np.zeros(0, int), np.zeros((2, 0))
        )
