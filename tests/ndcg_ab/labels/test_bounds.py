"""Bounds of unjudged documents in a whole evaluation: against every completion, and where they are told."""

from io import StringIO
from itertools import product
from math import fsum
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import ndcg_ab
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.duckdb import DuckDBEngine
from ndcg_ab.errors import InputError
from ndcg_ab.labels import bounds
from ndcg_ab.pipeline.conclude import make_outcome
from ndcg_ab.report.comment.comment import format_comment
from ndcg_ab.report.terminal.screen import print_outcome
from ndcg_ab.results.outcome import Outcome
from ndcg_ab.scoring import loading
from ndcg_ab.scoring.parity import recompute_sample
from ndcg_ab.scoring.scoring import score_metrics
from ndcg_ab.sources import Queries
from ndcg_core.measures.notation import parse
from ndcg_core.measures.score import Result, arrange_places, score_query
from ndcg_core.measures.unjudged import walk_bounds
from ndcg_core.measures.unjudged.places import Bounds
from ndcg_core.statistics.verdicts.comparison import Column, Comparison
from ndcg_core.statistics.verdicts.verdict import Verdict
from tests import completing
from tests.laboratory import (
    Judgments,
    Ranking,
    evaluation_of,
    in_order,
    outcome_of,
    pulled_judgments,
    pulled_ranking,
)
from tests.places import shared
from tests.references import collections
from tests.repeated import mostly_soaked

pytestmark = pytest.mark.slow

Rankings = dict[str, Ranking]

JUDGMENTS: Judgments = {"a": {"d1": 2.0, "d2": 0.0}, "b": {"d1": 1.0}, "c": {"d3": 0.0}, "none": {"d1": 0.0}}
RANKINGS: Rankings = {
    "old": {
        "a": [Result("d1", 1.0), Result("x1", 1.0), Result("d2", 0.5)],
        "b": in_order("x1", "d1", "x2"),
        "c": in_order("d3"),
    },
    "new": {
        "a": [Result("x2", 2.0), Result("x1", 1.0), Result("d1", 1.0)],
        "b": in_order("d1", "x1"),
        "c": in_order("x1"),
    },
}
WALKED = ("rr@3", "accuracy@2", "err@3", "rr(relevant_from=2)@2", "ap@3", "ap(no_relevant=zero)@2")
SUMS = ("ndcg@2", "ndcg@3", "ndcg(ties=average)@2", "ndcg(no_relevant=zero)@2", "dcg@3", "precision@2", "recall@1")
EVERY = (*SUMS, *WALKED)
NONE = "ndcg(unjudged=condense)@3"


def concluded(judgments: Judgments, rankings: Rankings, metrics: tuple[str, ...], **keys: Any) -> Outcome:
    statistics = dict(keys.pop("statistics", {}))
    evaluation = evaluation_of(list(rankings), metrics, statistics=statistics, **keys)
    with DuckDBEngine(1) as engine:
        tables = {name: pulled_ranking(name, ranking) for name, ranking in rankings.items()}
        loading.load_tables(engine, pulled_judgments(judgments), Queries(), tables, evaluation)
        score_metrics(engine, evaluation.metric_list)
        return make_outcome(engine, evaluation, [], recompute_sample(engine, evaluation.metric_list))


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    return concluded(JUDGMENTS, RANKINGS, (*EVERY, NONE))


def row_of(outcome: Outcome, metric: str) -> Comparison:
    return next(row for row in outcome.comparisons if row.metric == metric)


def extremes(name: str) -> tuple[float, float]:
    """Lowest and highest mean difference over all grades of what either system shows and nobody judged."""
    metric, levels = parse(name), (0.0, 1.0, 2.0)
    ends: list[tuple[float, float]] = []
    for query, known in JUDGMENTS.items():
        sides = [RANKINGS[system].get(query, []) for system in ("new", "old")]
        if score_query(metric, sides[0], known, 2.0) is None:
            continue
        placed = [enumerate(arrange_places(metric, side, known), start=1) for side in sides]
        shown = {
            place.doc_id
            for side in placed
            for rank, place in side
            if (place.first_rank if metric.ties == "average" else rank) <= metric.cutoff
        } - known.keys()
        values = []
        for grades in product(levels, repeat=len(shown)):
            judged = {**known, **dict(zip(sorted(shown), grades, strict=True))}
            new, old = (score_query(metric, side, judged, 2.0) or 0.0 for side in sides)
            values.append(new - old)
        ends.append((min(values), max(values)))
    return fsum(low for low, _ in ends) / len(ends), fsum(high for _, high in ends) / len(ends)


@pytest.mark.parametrize("name", EVERY)
def test_bounds_are_the_extremes_of_all_completions(name: str, outcome: Outcome) -> None:
    row = row_of(outcome, parse(name).name)
    low, high = extremes(name)
    assert (row.bound_low, row.bound_high) == (pytest.approx(low), pytest.approx(high))
    assert row.bound_exact


@pytest.fixture(scope="module")
def against_nothing() -> Outcome:
    return concluded(JUDGMENTS, {"nothing": {}, "new": RANKINGS["new"]}, EVERY)


@pytest.mark.parametrize("name", EVERY)
def test_a_system_has_bounds_of_its_mean(name: str, outcome: Outcome, against_nothing: Outcome) -> None:
    """The difference from a system that returns nothing is its value."""
    against = row_of(against_nothing, parse(name).name)
    system = next(row for row in outcome.systems if (row.system_id, row.metric) == ("new", parse(name).name))
    assert (system.bound_low, system.bound_high) == (against.bound_low, against.bound_high)
    assert (system.bound_low or 0.0) <= (system.mean or 0.0) < (system.bound_high or 0.0)


def test_what_outer_bounds_turn_may_be_unsettled(monkeypatch: pytest.MonkeyPatch) -> None:
    judgments, rankings = many("axy", "xya", {"a": 1.0})
    (decision,) = concluded(judgments, rankings, ("ap@3",)).decisions
    assert "unjudged results could move it" in decision.reason
    monkeypatch.setattr(walk_bounds, "MOST_TRIED", 3)
    outcome = concluded(judgments, rankings, ("ap@3",))
    assert "unjudged results could at most move it" in outcome.decisions[0].reason
    assert row_of(outcome, "ap@3").bound_exact is False
    assert [row.bound_low for row in outcome.systems] == [None, None]


def half_irrelevant() -> tuple[Judgments, Rankings]:
    """40 queries, 20 of them with nothing relevant among what is judged; there new shows an unjudged document first."""
    queries = [f"q{number:02}" for number in range(40)]
    judgments = {query: {"d": float(number < 20), "e": 0.0} for number, query in enumerate(queries)}
    old = {query: in_order("d", "e") for query in queries}
    new = {query: in_order("d", "e") if number < 20 else in_order("x", "d") for number, query in enumerate(queries)}
    return judgments, {"old": old, "new": new}


@pytest.mark.parametrize(
    "measure", mostly_soaked(["rr", "accuracy", "err", "ap", "ndcg", "precision"], kept=["rr", "ap"])
)
def test_a_query_worth_one_while_nothing_is_relevant_does_not_stay_there(measure: str) -> None:
    """With x relevant the baseline has nothing of it, and half of the queries go from 1 against 1 to a win."""
    name = f"{measure}(no_relevant=one)@10"
    outcome = concluded(*half_irrelevant(), (name,), statistics={"bounds": True})
    row = row_of(outcome, name)
    won = {"err": 0.5, "precision": 0.1}.get(measure, 1.0)
    assert (row.difference, row.bound_low) == (0.0, 0.0)
    assert row.bound_high == pytest.approx(won / 2)
    assert (row.bound_exact, row.label_settled) == (True, False)
    systems = {system.system_id: system for system in outcome.systems}
    assert systems["old"].bound_low == systems["old"].bound_high == systems["old"].mean, "it shows nothing unjudged"
    new = systems["new"]
    assert new.bound_high == new.mean
    assert new.bound_low == pytest.approx((new.mean or 0.0) - (1 - won) / 2)


def test_where_the_highest_grade_gains_nothing_there_is_nothing_to_gain() -> None:
    """Every value is 0: the ideal of every place is."""
    found = ndcg_ab.compare(
        {"a": {"d": 1, "e": 2}, "b": {"d": 2}},
        {"old": {"a": {"d": 1.0}, "b": {"x": 1.0}}, "new": {"a": {"x": 2.0, "d": 1.0}, "b": {"d": 1.0}}},
        metrics="ndcg(gain={1:1, 2:0}, ideal=max, no_relevant=zero)@2",
        bounds=True,
    )
    row = found.comparisons[0]
    assert (row.bound_low, row.bound_high, row.bound_exact) == (0.0, 0.0, True)
    assert [(system.bound_low, system.bound_high) for system in found.systems] == [(0.0, 0.0)] * 2


def test_every_completion_of_random_evaluations_lies_between() -> None:
    """`python -m tests.completing --count 5000` draws more."""
    counted, found = completing.run(12, seed=8)
    assert found == []
    assert counted["exact"] and counted["systems"] and counted["verdicts"]


def test_a_metric_without_bounds_has_none(outcome: Outcome) -> None:
    row = row_of(outcome, NONE)
    assert (row.bound_low, row.bound_exact, row.label_settled, row.bound_left_out) == (None, None, None, None)


def test_queries_that_grades_could_bring_in_are_counted(outcome: Outcome) -> None:
    """c shows x1, whose grade could make it count; none shows nothing unjudged; no_relevant=zero counts both."""
    assert row_of(outcome, "ndcg@3").bound_left_out == 1
    assert row_of(outcome, "ndcg(no_relevant=zero)@2").bound_left_out == 0


def test_unjudged_documents_within_the_cutoff_are_counted_once(outcome: Outcome) -> None:
    """x1 and x2 of a and of b, whoever shows them; c is not counted."""
    assert row_of(outcome, "ndcg@3").bound_documents == 4
    assert row_of(outcome, "precision@2").bound_documents == 3, "of b x2 stands below"
    assert row_of(outcome, NONE).bound_documents is None


def many(new: str, old: str, judged: dict[str, float], count: int = 30) -> tuple[Judgments, Rankings]:
    """The same query over and over; documents by their letters, in the order of each system."""
    queries = [f"q{number:02}" for number in range(count)]
    return (
        dict.fromkeys(queries, judged),
        {
            "old": {query: in_order(*old) for query in queries},
            "new": {query: in_order(*new) for query in queries[:-1]} | {queries[-1]: in_order(*old)},
        },
    )


@pytest.fixture(scope="module")
def turned() -> Outcome:
    """New has the relevant document first, old an unjudged one: relevant, that would make both alike."""
    return concluded(*many("ab", "xa", {"a": 1.0}), ("ndcg@1",))


def test_verdicts_at_both_ends(turned: Outcome) -> None:
    row = row_of(turned, "ndcg@1")
    assert row.conclusion is Verdict.IMPROVED
    assert (row.bound_low, row.bound_high) == (0.0, row.difference)
    assert (row.bound_low_conclusion, row.bound_high_conclusion) == (Verdict.IDENTICAL, Verdict.IMPROVED)
    assert row.label_settled is False


def test_a_verdict_that_no_grade_turns_is_settled() -> None:
    row = row_of(concluded(*many("abx", "bxa", {"a": 3.0, "b": 0.0}), ("ndcg@3",)), "ndcg@3")
    assert row.conclusion is Verdict.IMPROVED
    assert 0 < (row.bound_low or 0.0) < (row.bound_high or 0.0)
    assert row.label_settled


def test_a_decision_that_grades_could_turn_says_so(turned: Outcome) -> None:
    (decision,) = turned.decisions
    told = "; unjudged results could move it to between +0.0000 and +0.9667"
    assert decision.reason == f"ndcg@1 improved (+0.9667){told}; set a smallest effect to decide whether this is enough"
    console = Console(width=120, record=True, file=StringIO())
    print_outcome(console, turned, details=True)
    line = "depending on unjudged grades: identical (+0.0000) to improved (+0.9667)"
    text = console.export_text()
    assert f"    {line};" in text
    assert "documents further down are taken to gain nothing" in " ".join(text.split())
    assert f"- new {line}" in format_comment(turned, [])


def test_weights_weigh_the_bounds_too() -> None:
    """Query a: between 0 and 1, as x is relevant or not; b: fully judged, 0. Three to one."""
    found = ndcg_ab.compare(
        {"a": {"d": 1}, "b": {"d": 1}},
        {"old": {"a": {"x": 1.0}, "b": {"d": 1.0}}, "new": {"a": {"d": 1.0}, "b": {"d": 1.0}}},
        metrics="ndcg@1",
        queries={"a": {"weight": 3}, "b": {"weight": 1}},
        bounds=True,
    )
    row = found.comparisons[0]
    assert (row.bound_low, row.bound_high) == (0.0, 0.75)
    old, new = found.systems
    assert (old.bound_low, old.bound_high, new.bound_low, new.bound_high) == (0.25, 1.0, 1.0, 1.0)


def test_what_nothing_is_unjudged_for_has_none_by_default() -> None:
    every = many("ab", "ba", {"a": 1.0, "b": 0.0})
    assert row_of(concluded(*every, ("ndcg@2",)), "ndcg@2").bound_low is None
    row = row_of(concluded(*every, ("ndcg@2",), statistics={"bounds": True}), "ndcg@2")
    assert (row.bound_low, row.bound_high, row.label_settled) == (row.difference, row.difference, True)


def test_by_default_they_take_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """59 answers with an unjudged document (30 of old, 29 of new) x 2 places x 2 x 1 grade."""
    given = many("ax", "xa", {"a": 1.0})
    monkeypatch.setattr(bounds, "MOST_STEPS", 60 * 2 * 2)
    assert row_of(concluded(*given, ("ndcg@2",)), "ndcg@2").bound_low is not None
    monkeypatch.setattr(bounds, "MOST_STEPS", 60 * 2 * 2 - 1)
    assert row_of(concluded(*given, ("ndcg@2",)), "ndcg@2").bound_low is None
    assert row_of(concluded(*given, ("ndcg@2",), statistics={"bounds": True}), "ndcg@2").bound_low is not None


def test_they_can_be_left_out() -> None:
    outcome = concluded(*many("ab", "xa", {"a": 1.0}), ("ndcg@1",), statistics={"bounds": False})
    assert row_of(outcome, "ndcg@1").bound_low is None


def test_a_guardrail_has_them_within_the_declared_range() -> None:
    given = many("ab", "xa", {"a": 1.0, "c": 3.0})
    keys = {"guardrails": {"dcg@1": 0.1}, "statistics": {"ranges": {"dcg@1": [0, 2]}}}
    row = row_of(concluded(*given, ("ndcg@1",), **keys), "dcg@1")
    assert row.conclusion is Verdict.NOT_WORSE
    assert row.bound_low_conclusion is Verdict.WORSE
    assert row.bound_low == pytest.approx(-2 * 29 / 30), "a loss of 3 - 1 in every query but the last"


@pytest.mark.parametrize("scales", [None, np.array([2.0, 1.0])])
def test_a_column_at_its_bound_can_lose_what_it_loses_there(scales: Any) -> None:
    """With what was not drawn a query may lose more than the metric's range: a guardrail is to count that, scaled."""
    column = Column("old", "new", "rr", ("a", "b"), np.array([-0.5, 0.1]), largest_loss=1.0, scales=scales)
    ends = Bounds(np.array([-1.5, -0.2]), np.array([-0.5, 0.4]), 0, np.ones(2, dtype=bool))
    evaluation = evaluation_of(["old", "new"], ["rr"])
    worst = {"low": 1.5 if scales is None else 3.0, "high": 1.0}
    for end, expected in worst.items():
        (found,) = bounds.columns_at_bound([column], {("rr", "new"): ends}, end, evaluation)
        assert (found.largest_loss, found.differences) == (expected, getattr(ends, end))


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("judged@3", "there are none of judged@3, since it is the share that is judged"),
        ("ndcg(unjudged=condense)@3", "since documents without a judgment are taken out of the ranking"),
    ],
)
def test_asked_for_where_there_are_none(metric: str, message: str) -> None:
    with pytest.raises(InputError, match="take --bounds") as caught:
        concluded(JUDGMENTS, RANKINGS, (metric,), statistics={"bounds": True})
    assert message in str(caught.value)


def test_of_scores_there_are_none() -> None:
    with pytest.raises(ValueError, match=r"statistics\.bounds = true: needs rankings"):
        Evaluation(name="t", scores=[{"file": "a.csv"}], statistics={"bounds": True})


@pytest.mark.slow
@pytest.mark.skipif(shared() is None, reason="CAsT 2021 is not here (NDCG_AB_DATA)")
def test_two_thousand_completions_of_cast_2021_lie_between() -> None:
    """Values recomputed here in numpy: random grades, a sorted ideal."""
    (cast,) = (each for each in collections() if each.name == "cast2021")
    judgments = cast.judgments()
    rankings = {
        name: {query: [Result(doc, score) for doc, score in docs.items()] for query, docs in cast.ranking(name).items()}
        for name in (cast.first, cast.second)
    }
    row = row_of(concluded(judgments, rankings, ("ndcg@10",)), "ndcg@10")
    metric, made, completions = parse("ndcg@10"), np.random.default_rng(14), 2_000
    discounts = 1 / np.log2(np.arange(2, 12))
    differences = []
    for query, known in judgments.items():
        if max(known.values()) <= 0:
            continue
        tops = [
            [place.doc_id for place in arrange_places(metric, rankings[name].get(query, []), known)][:10]
            for name in rankings
        ]
        shown = sorted({doc for top in tops for doc in top} - known.keys())
        grades = made.integers(0, 5, (completions, len(shown))).astype(float)
        best = np.sort(list(known.values()))[::-1][:10]
        every = np.hstack([np.tile(best, (completions, 1)), grades])
        ideal = np.sort(every, axis=1)[:, ::-1][:, :10] @ discounts[: min(10, every.shape[1])]
        gains = {doc: grades[:, place] for place, doc in enumerate(shown)}
        old, new = (
            sum(
                discount * gains.get(doc, float(known.get(doc, 0)))
                for discount, doc in zip(discounts, top, strict=False)
            )
            for top in tops
        )
        differences.append((new - old) / ideal)
    means = np.mean(differences, axis=0)
    assert len(differences) == row.queries and means.shape == (completions,)
    assert row.bound_low <= means.min() < means.max() <= row.bound_high
    assert row.bound_low < row.difference < row.bound_high


def test_a_metric_that_takes_long_leaves_the_others_their_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """What would take too many steps is left out, and the answer says which; whoever asks for bounds has them all."""
    monkeypatch.setattr(bounds, "MOST_STEPS", 2000)
    judgments = {f"q{number}": {"a": 1.0, "b": 0.0} for number in range(12)}
    rankings = {
        name: {query: in_order(*order) for query in judgments} for name, order in (("old", "xab"), ("new", "abx"))
    }
    metrics = ["ap", "ndcg@2", "rr"]
    found = outcome_of(judgments, rankings, metrics)
    assert {row.metric for row in found.comparisons if row.bound_low is not None} == {"ndcg@2"}
    (note,) = (finding.message for finding in found.findings if finding.code == "not_asked")
    assert note.startswith("whether grades of unjudged documents could turn a verdict on ap, rr was not asked: 24 ")
