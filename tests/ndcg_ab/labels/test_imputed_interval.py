"""Likely grades in a whole evaluation: what they say, of what, and where they are told."""

from functools import cache
from io import StringIO
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from rich.console import Console

import ndcg_ab
from ndcg_ab.engines.duckdb import DuckDBEngine
from ndcg_ab.pipeline.conclude import make_outcome
from ndcg_ab.report.terminal.screen import print_outcome
from ndcg_ab.results.outcome import Outcome
from ndcg_ab.scoring import loading
from ndcg_ab.scoring.scoring import score_metrics
from ndcg_ab.sources import Queries
from ndcg_core.statistics.verdicts.comparison import Comparison
from tests.laboratory import Judgments, Ranking, evaluation_of, in_order, pulled_judgments, pulled_ranking

pytestmark = pytest.mark.slow

SHARE = 0.7  # of what new shows first is relevant, judged or not
METRICS = ("ndcg@1",)
NONE = "ndcg(unjudged=condense)@1"


@cache
def world(queries: int, per: int) -> tuple[Judgments, dict[str, Ranking]]:
    """New shows a, old shows b; the first is relevant in 7 of 10 queries, the second in 2. In a third a is unjudged."""
    rng = np.random.default_rng(1)
    names = [f"{number // per:03}_{number % per}" for number in range(queries)]
    good, poor = rng.random(queries) < SHARE, rng.random(queries) < 0.2
    judgments = {}
    for number, name in enumerate(names):
        grades = {"a": float(good[number]), "b": float(poor[number]), "c": 1.0}
        judgments[name] = {doc: grade for doc, grade in grades.items() if doc != "a" or number % 3}
    orders = {"old": "b", "new": "a"}
    return judgments, {system: dict.fromkeys(names, in_order(first)) for system, first in orders.items()}


def concluded(queries: int = 150, metrics: tuple[str, ...] = METRICS, per: int = 1, **keys: Any) -> Outcome:
    judgments, rankings = world(queries, per)
    evaluation = evaluation_of(list(rankings), metrics, **keys)
    with DuckDBEngine(1) as engine:
        tables = {name: pulled_ranking(name, ranking) for name, ranking in rankings.items()}
        loading.load_tables(engine, pulled_judgments(judgments), Queries(), tables, evaluation)
        score_metrics(engine, evaluation.metric_list)
        return make_outcome(engine, evaluation, [], 50)


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    return concluded(guardrails={"precision@1": 0.1}, secondary_metrics=["recall@3", "rr@1", NONE])


def first(outcome: Outcome) -> Comparison:
    return outcome.comparisons[0]


def test_the_unjudged_are_taken_to_be_as_good_as_the_judged(outcome: Outcome) -> None:
    """.7 - .2 is what all judgments would give; with a third of a not relevant it is .7 * 2/3 - .2."""
    row = first(outcome)
    assert row.likely is not None and row.likely.difference is not None and row.likely.low and row.likely.high
    assert row.difference == pytest.approx(SHARE * 2 / 3 - 0.2, abs=0.08)
    assert row.likely.difference == pytest.approx(SHARE - 0.2, abs=0.08)
    assert row.likely.low < row.likely.difference < row.likely.high
    assert row.bound_low < row.likely.difference < row.bound_high
    assert row.likely.draws == 20
    assert 0 < (row.likely.label_share or 0) < 0.5


def test_a_document_has_the_same_grade_in_all_metrics(outcome: Outcome) -> None:
    """With one place and binary grades nDCG, rr and precision, a guardrail, are one number."""
    of = {row.metric: row.likely for row in outcome.comparisons}
    assert of["ndcg@1"] == of["precision@1"] == of["rr@1"]
    assert of["recall@3"] not in (None, of["ndcg@1"])


def test_what_has_no_bounds_has_none(outcome: Outcome) -> None:
    (row,) = (row for row in outcome.comparisons if row.metric == NONE)
    assert row.likely is None
    assert first(concluded(statistics={"bounds": False})).likely is None


def test_another_seed_draws_others(outcome: Outcome) -> None:
    other = first(concluded(statistics={"seed": 2})).likely
    assert other is not None and first(outcome).likely != other
    assert other.difference == pytest.approx((first(outcome).likely or other).difference, abs=0.02)


def test_too_few_judgments_are_said() -> None:
    likely = first(concluded(30)).likely
    assert likely is not None
    assert (likely.draws, likely.difference, likely.low, likely.high, likely.label_share) == (0, None, None, None, None)
    assert likely.why_none == "only 50 of the documents shown are judged, a model needs 100"


def test_clusters_are_the_units_of_the_band() -> None:
    """Ten queries after another are one; the units of the interval are those of the band."""
    alone, together = first(concluded()), first(concluded(per=10, statistics={"cluster_prefix": "_"}))
    assert alone.likely is not None and together.likely is not None and together.clusters is not None
    assert together.clusters.count == 15
    assert together.likely.difference == pytest.approx(alone.likely.difference)
    widths = [(row.high - row.low, row.likely.high - row.likely.low) for row in (alone, together)]
    assert widths[1][0] / widths[0][0] == pytest.approx(widths[1][1] / widths[0][1], rel=0.2)
    assert widths[1][1] != pytest.approx(widths[0][1], rel=0.02)


def test_of_drawn_queries_the_band_allows_for_long_tails() -> None:
    """All with one probability, so that the numbers are the same; one query of fifty differs."""
    ids = [f"q{number:03}" for number in range(150)]
    judgments = {name: {"a": 1.0, "b": 0.0, "c": 1.0} for name in ids}
    orders = {"old": ["b"] * 150, "new": ["a" if number % 50 == 0 else "b" for number in range(150)]}
    systems = {
        system: {name: {doc: 2.0, "c": 1.0} for name, doc in zip(ids, docs, strict=True)}
        for system, docs in orders.items()
    }
    every = {"query_id": [*ids, "left"], "probability": [*[0.5] * 150, None], "disagreement": [1.0] * 151}
    log = pa.table(every)
    plain, drawn = (
        ndcg_ab.compare(judgments, systems, metrics="precision@2", bounds=True, queries=queries).comparison("new")
        for queries in (None, log)
    )
    for row in (plain, drawn):  # nothing is unjudged: the band is the interval
        assert row.likely is not None and (row.likely.low, row.likely.high) == pytest.approx((row.low, row.high))
    assert drawn.difference == plain.difference == pytest.approx(0.01)
    assert drawn.high - drawn.low > 1.02 * (plain.high - plain.low)


def test_it_is_told_with_details_only(outcome: Outcome) -> None:
    for details in (False, True):
        console = Console(width=160, record=True, file=StringIO())
        print_outcome(console, outcome, details=details)
        assert ("if what is unjudged is like what is judged at such places: +0." in console.export_text()) is details
