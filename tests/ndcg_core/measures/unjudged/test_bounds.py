"""Bounds of what unjudged documents can do, against every completion of small cases."""

import random
import time
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ndcg_core.measures.metric import Metric
from ndcg_core.measures.notation import parse
from ndcg_core.measures.registry import MEASURES, Counted, Measure, Quotient
from ndcg_core.measures.score import Result, arrange_places, score_query
from ndcg_core.measures.unjudged import walk_bounds
from ndcg_core.measures.unjudged.bounds import difference_bounds, why_unbounded
from ndcg_core.measures.unjudged.completions import Completions
from ndcg_core.measures.unjudged.many_completions import OF_MANY
from ndcg_core.measures.unjudged.next_label import possible_differences
from ndcg_core.measures.unjudged.places import Bounds, Judged, Places
from tests.examples import examples

METRICS = (
    "ndcg@3",
    "ndcg@2",
    "ndcg",
    "ndcg(gain=exponential)@3",
    "ndcg(gain={1:1, 2:5, 3:6})@3",
    "ndcg(discount=reciprocal, ideal_cut=none)@2",
    "ndcg(ideal=max)@3",
    "ndcg(ties=average)@3",
    "ndcg(no_relevant=zero)@3",
    "dcg@3",
    "dcg(ties=average)@2",
    "precision@3",
    "precision(relevant_from=2)@3",
    "recall@2",
    "recall",
    "rbp",
    "ndcg(gain={1:5, 2:1, 3:0}, ideal=max)@2",
    "ndcg(no_relevant=one)@2",
    "dcg(no_relevant=one)@2",
    "rr@3",
    "rr(no_relevant=one, relevant_from=2)",
    "accuracy(no_relevant=one)@2",
    "err@3",
    "err(max_grade=4, no_relevant=one)",
    "ap@3",
    "ap(relevant_from=2, no_relevant=one)",
    "rprec",
    "rprec(ties=average, no_relevant=one)",
)
JUDGED_APART = ("bpref", "bpref(no_relevant=one)", "infap", "infap(relevant_from=2)")
Query = tuple[dict[str, float], list[Result], list[Result]]  # judgments, what candidate and baseline returned


def places(metric: Metric, rankings: list[list[Result]], queries: list[dict[str, float]]) -> Places:
    """What one system shows, query by query; a document is known by its name's number."""
    rows = []
    for number, (results, judgments) in enumerate(zip(rankings, queries, strict=True)):
        placed = arrange_places(metric, results, judgments)
        for rank, place in enumerate(placed, start=1):
            size = sum(each.first_rank == place.first_rank for each in placed)
            group = (place.first_rank, size) if metric.ties == "average" else (rank, 1)
            rows.append((number, int(place.doc_id[1:]), rank, *group, judgments.get(place.doc_id, np.nan)))
    *columns, grades = np.array(rows, dtype=np.float64).reshape(-1, 6).T
    return Places(*(column.astype(np.int64) for column in columns), grades)


def bounds(metric: Metric, queries: list[Query], grades: tuple[float, ...]) -> Bounds:
    highest = max(grades)
    judgments = [query[0] for query in queries]
    counts = np.array([[sum(each == grade for each in known.values()) for grade in grades] for known in judgments])
    differences = np.array([difference(metric, query, query[0], highest) for query in queries])
    candidate, baseline = (places(metric, [query[side] for query in queries], judgments) for side in (1, 2))
    return difference_bounds(metric, differences, candidate, baseline, Judged(grades, counts))


def difference(metric: Metric, query: Query, judgments: dict[str, float], highest: float) -> float:
    values = [score_query(metric, ranking, judgments, highest) for ranking in query[1:]]
    return (values[0] or 0.0) - (values[1] or 0.0)


def completions(metric: Metric, query: Query, grades: tuple[float, ...]) -> list[float]:
    """The difference for all grades of the unjudged documents that either system shows."""
    known = query[0]
    shown = set()
    for ranking in query[1:]:
        placed = arrange_places(metric, ranking, known)[: None if metric.ties == "average" else metric.cutoff]
        shown |= {place.doc_id for place in placed if place.first_rank <= (metric.cutoff or len(placed))}
    open_docs = sorted(shown - known.keys())
    possible = Judged(grades, np.zeros((1, len(grades)), dtype=np.int64)).add_possible_grade(metric).grades
    levels = sorted({0.0, *possible})
    filled = [known | dict(zip(open_docs, each, strict=True)) for each in product(levels, repeat=len(open_docs))]
    return [difference(metric, query, judgments, max(levels)) for judgments in filled]


@st.composite
def small_queries(draw: st.DrawFn) -> tuple[Query, tuple[float, ...]]:
    names = [f"d{number}" for number in range(7)]
    grades = draw(st.sampled_from([(0.0, 1.0), (0.0, 1.0, 2.0, 3.0), (1.0, 3.0), (-1.0, 2.0), (0.0,)]))
    known = draw(st.dictionaries(st.sampled_from(names), st.sampled_from(grades), min_size=1, max_size=5))

    def ranking() -> list[Result]:
        docs = draw(st.lists(st.sampled_from(names), max_size=4, unique=True))
        return [Result(doc, float(draw(st.integers(0, 4)))) for doc in docs]

    return (known, ranking(), ranking()), grades


@settings(max_examples=examples(60), deadline=None)
@given(case=small_queries(), name=st.sampled_from(METRICS))
def test_bounds_hold_every_completion_and_are_reached(case: tuple[Query, tuple[float, ...]], name: str) -> None:
    query, grades = case
    metric = parse(name)
    told = bounds(metric, [query], grades)
    found = completions(metric, query, grades)
    assert told.is_exact.all()
    assert told.low[0] == pytest.approx(min(found), abs=1e-12)
    assert told.high[0] == pytest.approx(max(found), abs=1e-12)


@settings(max_examples=examples(20), deadline=None)
@given(case=small_queries(), name=st.sampled_from(JUDGED_APART))
def test_where_an_unjudged_document_is_not_one_of_grade_0_they_hold_the_value_as_it_is(
    case: tuple[Query, tuple[float, ...]], name: str
) -> None:
    """The value can lie beyond all completions: then the bounds go as far, and are not exact."""
    query, grades = case
    metric = parse(name)
    told = bounds(metric, [query], grades)
    found = completions(metric, query, grades)
    as_it_is = difference(metric, query, query[0], max(grades))
    assert told.low[0] == pytest.approx(min(*found, as_it_is), abs=1e-12)
    assert told.high[0] == pytest.approx(max(*found, as_it_is), abs=1e-12)
    assert told.is_exact[0] == (min(found) - 1e-9 <= as_it_is <= max(found) + 1e-9)


@pytest.mark.parametrize("most", [("MOST_TRIED", 2), ("MOST_CELLS", 40), ("MOST_CELLS", 0)])
@settings(max_examples=examples(20), deadline=None)
@given(case=small_queries(), name=st.sampled_from((*METRICS[-5:], *JUDGED_APART)))
def test_where_too_much_would_be_tried_they_are_outer_ones(
    most: tuple[str, int], case: tuple[Query, tuple[float, ...]], name: str
) -> None:
    query, grades = case
    metric = parse(name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(walk_bounds, *most)
        told = bounds(metric, [query], grades)
    found = completions(metric, query, grades)
    assert told.low[0] <= min(found) + 1e-12 and max(found) - 1e-12 <= told.high[0]
    # what is unjudged may count by infap's epsilon otherwise than any grade: 3e-11 of .33 for three documents
    is_reached = (
        abs(told.low[0] - min(found)) < walk_bounds.CLOSE and abs(told.high[0] - max(found)) < walk_bounds.CLOSE
    )
    assert is_reached or not told.is_exact[0]


def test_deep_rankings_have_outer_bounds_and_say_so() -> None:
    """40 unjudged documents that both show in other orders: 2^40 completions. Those that could be drawn lie between."""
    made, metric = random.Random(5), parse("ap")
    docs = [f"d{number}" for number in range(45)]
    known = {doc: float(number < 3) for number, doc in enumerate(docs[:5])}
    query = (known, *([Result(doc, made.random()) for doc in docs] for _ in range(2)))
    told = bounds(metric, [query], (0.0, 1.0))
    assert not told.is_exact[0]
    assert -1 < told.low[0] < told.high[0] < 1
    for _ in range(100):
        share = made.random()
        graded = known | {doc: float(made.random() < share) for doc in docs[5:]}
        assert told.low[0] <= difference(metric, query, graded, 1.0) <= told.high[0]


def test_every_measure_with_factors_can_be_taken_of_many() -> None:
    assert {measure.factors for measure in MEASURES.values() if measure.factors} == OF_MANY.keys()


@pytest.mark.parametrize("name", ["ndcg@5", "ap@5", "rr", "err@4", "bpref"])
def test_many_queries_at_once_are_what_each_is_by_itself(name: str) -> None:
    made = random.Random(3)
    metric, grades = parse(name), (0.0, 1.0, 3.0)
    queries: list[Query] = []
    for _ in range(40):
        docs = [f"d{number}" for number in range(12)]
        known = {doc: made.choice(grades) for doc in made.sample(docs, made.randint(1, 12))}
        sides = [[Result(doc, made.random()) for doc in made.sample(docs, made.randint(0, 8))] for _ in range(2)]
        queries.append((known, *sides))
    told = bounds(metric, queries, grades)
    for number, query in enumerate(queries):
        alone = bounds(metric, [query], grades)
        assert (told.low[number], told.high[number]) == (pytest.approx(alone.low[0]), pytest.approx(alone.high[0]))


@pytest.mark.parametrize(
    ("name", "known", "candidate", "baseline", "low", "high"),
    [
        # Both show the same documents in the same order: no grade changes a difference of 0.
        ("ndcg@2", {"d1": 1}, ["d1", "d2"], ["d1", "d2"], 0.0, 0.0),
        # Alone at rank 1 each: d2 relevant gives 1 - 0 over an ideal of one place, d3 the other way.
        ("ndcg@1", {"d1": 1}, ["d2"], ["d3"], -1.0, 1.0),
        ("precision@2", {"d1": 1}, ["d1", "d2"], ["d1"], 0.0, 0.5),
        # One relevant document is known and found; of the two then relevant, the baseline finds one.
        ("recall@2", {"d1": 1}, ["d1", "d2"], ["d1"], 0.0, 0.5),
        # A query that nothing is relevant for counts as 0 on both sides, until something is.
        ("ndcg(no_relevant=zero)@1", {"d1": 0, "d9": 0}, ["d2"], ["d1"], 0.0, 1.0),
        # Or as 1 on both sides: the baseline does not stay there.
        ("rr(no_relevant=one)@2", {"d1": 0}, ["d1", "d2"], ["d1"], 0.0, 0.5),
        # The highest grade gains nothing, and neither does anything that is divided by it.
        ("ndcg(gain={1:0}, ideal=max)@2", {"d1": 0, "d9": 1}, ["d2"], ["d1"], 0.0, 0.0),
        # d3 alone relevant: 0 - 1. d1 and d2: (1 + 1) / 2 - (1 / 2) / 2.
        ("ap@2", {"d9": 0}, ["d1", "d2"], ["d3", "d1"], -1.0, 0.75),
        # d2 relevant: 1 - 1; not: 1 - 1/2.
        ("ap@2", {"d1": 1}, ["d1", "d2"], ["d2", "d1"], 0.0, 0.5),
    ],
)
def test_by_hand(
    name: str, known: dict[str, float], candidate: list[str], baseline: list[str], low: float, high: float
) -> None:
    sides = [[Result(doc, -float(rank)) for rank, doc in enumerate(docs)] for docs in (candidate, baseline)]
    found = bounds(parse(name), [(known, sides[0], sides[1])], (0.0, 1.0))
    assert (found.low[0], found.high[0]) == (pytest.approx(low), pytest.approx(high))


@pytest.mark.parametrize(
    "name",
    ["judged@3", "ndcg(unjudged=condense)@3", "ap(unjudged=condense)@3", "ndcg(ideal=local)@3", "precision"],
)
def test_others_have_none_and_say_why(name: str) -> None:
    metric = parse(name)
    assert why_unbounded(metric)
    with pytest.raises(ValueError, match="no bounds"):
        bounds(metric, [({"d1": 1.0}, [], [])], (0.0, 1.0))


def test_the_choice_of_another_ideal_end_has_none() -> None:
    assert why_unbounded(parse("ndcg(ideal_cut=returned)@3"))
    assert why_unbounded(parse("ndcg(ideal=max)"))


def divided_by_both(counted: Counted) -> Quotient:
    """The F-measure: twice what is found, over what is returned and what is relevant."""
    return Quotient(2 * counted.total, len(counted.gains) + counted.ideal)


def test_a_measure_that_does_not_declare_it_has_no_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    added = Measure("f1", divided_by_both, ideal="global")
    monkeypatch.setitem(MEASURES, "f1", added)
    metric = Metric("f1", 3)
    assert why_unbounded(metric) == "the measure f1 does not declare that they can be computed (has_bounds)"
    nothing = places(metric, [], [])
    none_judged = Judged((0.0, 1.0), np.zeros((0, 2), dtype=np.int64))
    with pytest.raises(ValueError, match="no bounds"):
        difference_bounds(metric, np.zeros(0), nothing, nothing, none_judged)
    with pytest.raises(ValueError, match="no effect of a grade"):
        possible_differences(metric, np.zeros(0), nothing, nothing, none_judged, (0.0, 1.0))
    with pytest.raises(ValueError, match="no completions"):
        Completions(metric, none_judged, np.zeros(0, dtype=np.int64), np.zeros((2, 0)))


@pytest.mark.parametrize(
    ("name", "grades", "possible"),
    [
        ("ndcg@3", (0.0,), (0.0, 1.0)),
        ("ndcg@3", (-1.0, 0.0), (-1.0, 0.0, 1.0)),
        ("ndcg@3", (0.0, 0.5), (0.0, 0.5)),
        ("precision(relevant_from=2)@3", (0.0, 1.0, 3.0), (0.0, 1.0, 3.0)),
        ("precision(relevant_from=2)@3", (0.0, 1.0), (0.0, 1.0, 2.0)),
        ("ndcg(gain={1:0, 2:4, 3:6})@3", (0.0, 1.0), (0.0, 1.0, 2.0)),
        ("err(max_grade=0.5)@3", (0.0,), (0.0, 0.5)),
    ],
)
def test_a_grade_that_gains_is_possible_before_any_is_given(
    name: str, grades: tuple[float, ...], possible: tuple[float, ...]
) -> None:
    found = Judged(grades, np.ones((2, len(grades)), dtype=np.int64)).add_possible_grade(parse(name))
    assert found.grades == possible
    assert found.counts.sum(axis=1).tolist() == [len(grades)] * 2
    assert found.counts[:, [possible.index(grade) for grade in grades]].all()


def test_what_many_different_grades_cost_rises_with_their_number() -> None:
    """3,000 queries with two grades of their own took minutes: queries x grades^2."""
    queries, made = 1_500, np.random.default_rng(1)
    grades = tuple(sorted(made.random(queries).tolist()))
    judged = Judged(grades, np.eye(queries, dtype=np.int64)[made.permutation(queries)])
    one = Places(*(np.array([value]) for value in (0, 0, 1, 1, 1)), np.array([np.nan]))
    started = time.process_time()
    found = difference_bounds(parse("ndcg@3"), np.zeros(queries), one, None, judged)
    assert time.process_time() - started < 1.5  # 2,250,000 numbers; it was 6 s
    assert found.high[0] > 0
