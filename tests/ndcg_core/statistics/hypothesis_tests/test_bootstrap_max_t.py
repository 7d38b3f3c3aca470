"""The studentised bootstrap against its definition, resample by resample; what it must not depend on, and is for."""

import dataclasses
import itertools
import math

import numpy as np
import pytest

from ndcg_core.statistics.estimates.mean_difference import Moments, half_width
from ndcg_core.statistics.hypothesis_tests import procedures as module
from ndcg_core.statistics.hypothesis_tests.procedures import (
    BootstrapResult,
    FamilyTest,
    bootstrap_family,
    bootstrap_max_t,
    draw_counts,
    sign_flip_family,
)
from ndcg_core.statistics.paired import Column, sort_by_query
from ndcg_core.statistics.verdicts import verdict
from ndcg_core.statistics.verdicts.comparison import compare_family
from tests.ndcg_core.statistics.columns import column

RESAMPLES = 700


def skewed(seed: int, queries: int = 40, columns: int = 6, shift: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.exponential(size=(queries, columns)) - 1 + 0.5 * rng.normal(size=(queries, 1)) + shift


def resampled(values: np.ndarray, shares: np.ndarray | None = None, **settings: object) -> BootstrapResult:
    weights = np.ones_like(values) if shares is None else shares
    means = (values * weights).sum(axis=0) / weights.sum(axis=0)
    known = {"levels": (0.95, 0.8), "resamples": RESAMPLES, "seed": 3, "workers": 1, **settings}
    return bootstrap_max_t(means.tolist(), weights * (values - means), shares, **known)  # type: ignore[arg-type]


def open_single_requests(values: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """p, adjusted p and the 95 % bound from t statistics that are computed one resample after the other."""
    means = (values * shares).sum(axis=0) / shares.sum(axis=0)

    def t(counts: np.ndarray, around: np.ndarray) -> np.ndarray:
        weights = counts[:, np.newaxis] * shares
        mean = (weights * values).sum(axis=0) / weights.sum(axis=0)
        squares = (counts[:, np.newaxis] * np.square(shares * (values - mean))).sum(axis=0)
        return np.abs(mean - around) / (np.sqrt(squares) / weights.sum(axis=0))

    observed = t(np.ones(len(values)), np.zeros(values.shape[1]))
    blocks = range(math.ceil(RESAMPLES / module.BLOCK))
    drawn = np.concatenate(
        [counts for block in blocks for counts in draw_counts(len(values), 3, block, RESAMPLES)], axis=1
    )
    found = np.array([t(counts, means) for counts in drawn.T])
    order = np.argsort(-observed)
    p_value = (1 + (found >= observed).sum(axis=0)) / (RESAMPLES + 1)
    p_adjusted, highest = np.zeros(len(observed)), 0.0
    for index, number in enumerate(order):
        reached = (found[:, order[index:]].max(axis=1) >= observed[number]).sum()
        highest = p_adjusted[number] = max(highest, (1 + reached) / (RESAMPLES + 1))
    return p_value, p_adjusted, np.sort(found.max(axis=1))[math.ceil(0.95 * (RESAMPLES + 1)) - 1]


@pytest.mark.parametrize("weighted", [False, True])
def test_resample_by_resample(weighted: bool) -> None:
    values = skewed(1, shift=0.25)
    shares = np.random.default_rng(2).uniform(0.3, 2, values.shape) if weighted else np.ones_like(values)
    if weighted:
        shares[::5, 2] = 0.0  # queries that a column does not have
    p_value, p_adjusted, bound = open_single_requests(values, shares)
    found = resampled(values, shares if weighted else None)
    assert found.p_value == pytest.approx(p_value)
    assert found.p_adjusted == pytest.approx(p_adjusted)
    assert found.quantiles[0] == pytest.approx(bound)
    assert found.quantiles[0] > found.quantiles[1] > 1
    assert all(alone <= adjusted for alone, adjusted in zip(found.p_value, found.p_adjusted, strict=True))


def test_every_resample_draws_as_many_units_as_there_are() -> None:
    counts = np.concatenate(list(draw_counts(31, 4, 1, 300)), axis=1)
    assert counts.shape == (31, 300 - module.BLOCK)
    assert (counts.sum(axis=0) == 31).all()
    assert counts.mean(axis=1) == pytest.approx(np.ones(31), abs=0.6)


def test_what_it_does_not_depend_on(monkeypatch: pytest.MonkeyPatch) -> None:
    values = skewed(5)
    found = resampled(values)
    monkeypatch.setattr("ndcg_core.statistics.hypothesis_tests.flips.WORTH", 1)
    assert resampled(values, workers=3) == found
    assert resampled(values, np.ones_like(values)).p_adjusted == found.p_adjusted
    turned = resampled(values[:, ::-1])
    assert (turned.p_value[::-1], turned.p_adjusted[::-1]) == (found.p_value, found.p_adjusted)
    assert resampled(values * 2.0**-30).p_adjusted == found.p_adjusted, "t has no unit"
    assert resampled(values, seed=4) != found
    monkeypatch.setattr(module, "AT_ONCE", 100)
    assert resampled(values) == found


def test_columns_that_hardly_differ_disturb_no_other() -> None:
    values = skewed(6, columns=3, shift=0.4)
    sparse = np.zeros((40, 2))
    sparse[:2, 0] = 1.0
    found = resampled(np.hstack([values, sparse]), least_values=6)
    assert found.p_value[3:] == found.p_adjusted[3:] == (1.0, 1.0)
    alone = resampled(values)
    assert (found.p_adjusted[:3], found.quantiles) == (alone.p_adjusted, alone.quantiles)
    assert resampled(sparse, least_values=6) == BootstrapResult((1.0, 1.0), (1.0, 1.0), (0.0, 0.0))
    assert resampled(np.full((20, 1), 0.25)).p_value == (1 / (RESAMPLES + 1),), "no variance, and never 0"


HOW = FamilyTest(alpha=0.05, seed=3, resamples=RESAMPLES, workers=1)


def bootstrapped(columns: list[Column]) -> tuple[list[Moments], list[verdict.TestResult]]:
    """The columns as a family of the bootstrap alone."""
    paired = sort_by_query(columns)
    known = [moments for pairs in paired if (moments := pairs.moments()) is not None]
    return known, bootstrap_family(paired, known, HOW)


def test_a_family_by_the_bootstrap() -> None:
    columns = [column(values, candidate=f"c{number}") for number, values in enumerate(skewed(7, shift=0.3).T)]
    known, found = bootstrapped(columns)
    assert {row.procedure for row in found} == {"studentised bootstrap, step-down max-T"}
    for moments, row in zip(known, found, strict=True):
        assert row.reaches.wide > half_width(moments, 0.95)
    moments, (alone,) = bootstrapped(columns[:1])
    assert alone.reaches.wide == half_width(moments[0], 0.95)
    short = dataclasses.replace(
        columns[1], query_ids=columns[1].query_ids[:25], differences=columns[1].differences[:25]
    )
    _, (_, other) = bootstrapped([columns[0], short])
    assert 0 < other.p_value <= other.p_adjusted < 1


def test_a_family_that_decides_has_the_larger_p_and_the_wider_reach_of_both_tests() -> None:
    columns = [column(values, candidate=f"c{number}") for number, values in enumerate(skewed(8, columns=9).T - 0.5)]
    rows = compare_family(columns, resamples=RESAMPLES, seed=3)
    paired = sort_by_query(columns)
    known, drawn = bootstrapped(columns)
    flipped = sign_flip_family(paired, known, HOW)
    for row, moments, one, other in zip(rows, known, flipped, drawn, strict=True):
        assert (row.p_value, row.p_adjusted) == (one.p_value, max(one.p_adjusted, other.p_adjusted))
        reach = max(one.reaches.wide, other.reaches.wide)
        assert row.simultaneous_high == pytest.approx(moments.mean + reach * moments.error)
    assert any(
        (one.p_adjusted <= 0.05) != (other.p_adjusted <= 0.05) for one, other in zip(flipped, drawn, strict=True)
    )


@pytest.mark.slow
def test_both_tests_decide_at_every_size_with_fewer_resamples_where_it_is_large() -> None:
    how = FamilyTest(alpha=0.05, seed=3, resamples=10_000, workers=1)
    assert how.for_bootstrap(1_001, 1) == how
    assert how._replace(alpha=0.001).for_bootstrap(10**6, 50).resamples == 10_000
    counts = [how.for_bootstrap(units, 50).resamples for units in range(1_000, 10_000)]
    assert all(0 <= before - after <= before / 500 for before, after in itertools.pairwise(counts)), "no jump"
    assert (counts[0], counts[-1]) == (10_000, 2_000)
    rng = np.random.default_rng(1)
    for units, columns in ((1_000, 1), (1_001, 1), (10, 501)):
        family = [column(each, candidate=f"c{at}") for at, each in enumerate(rng.normal(size=(columns, units)))]
        assert {"bootstrap" in row.procedure for row in compare_family(family, resamples=99)} == {True}


@pytest.mark.parametrize(("queries", "ties"), [(20, 1), (41, 1), (41, 2)])
def test_equal_losses_beside_a_few_ties_are_shown(queries: int, ties: int) -> None:
    """A resample that draws no tie does not vary at all: a third of them, of 41 queries with one."""
    values = np.where(np.arange(queries) < ties, 0.0, -0.5)[:, np.newaxis]
    found = resampled(values, resamples=2000)
    assert found.p_adjusted[0] == 1 / 2001
    assert math.isfinite(found.quantiles[0])
