"""Every function of the statistics, of sampling and of click models, on sparse and discrete numbers of any scale.

Rare branches are reached there: a resample that lacks a value, a variance of 0, one query with all the weight. What
comes out is a finite number or None; a warning of numpy is an error.
"""

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import click_models as models
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ndcg_core.sampling import draws
from ndcg_core.statistics.estimates import cost_quantiles, power
from ndcg_core.statistics.estimates import mean_difference as means
from ndcg_core.statistics.estimates.power import queries_to_hold
from ndcg_core.statistics.estimates.prediction_powered import check_balance, correct_difference, correct_drawn
from ndcg_core.statistics.hypothesis_tests import guardrails
from ndcg_core.statistics.over_time import Evidence, detectable_at, monitor_tests, split_change
from ndcg_core.statistics.paired import Column
from ndcg_core.statistics.verdicts.comparison import Comparison, check_guardrails, compare_family

pytestmark = pytest.mark.filterwarnings("error")
STEPS = (
    (0.0,) * 6 + (-0.25, 0.25, -0.5, 0.5, 1.0, -1.0),
    (0.0, 1 / 3, -1 / 3, 2 / 3, -2 / 3),
    (0.0,) * 20 + (1.0, -1.0),
    (0.25,) * 20 + (-0.5,),
    (0.0,),
    (0.0, 0.1, -0.3, 0.7123, -0.01),
)
SCALES = (1.0, 1.0, 1.0, 1e-9, 1e-6, 1e-3, 1e3, 1e9)
FEW = 60  # flips and resamples


class Sparse:
    """Differences of a few queries, drawn by one number: weights, clusters and scales are there in a part of them."""

    def __init__(self, number: int) -> None:
        self.generator = np.random.default_rng(number)
        self.n = int(self.pick((2, 3, 4, 5, 8, 12, 20, 41, 80, *range(2, 81))))
        self.scale = float(self.pick(SCALES))
        self.loss = float(self.pick((1.0, 1.0, 1.0, 2.0, math.inf)))
        self.loss *= self.scale
        self.margin = self.scale * float(self.pick((0.01, 0.02, 0.05, 0.3, 0.9)))
        self.alpha = float(self.pick((0.05, 0.05, 0.1, 0.2)))
        heavy = self.pick(((1.0, 2.0, 3.0), (1.0, 1e-3, 1e6), (1e-12, 1.0), (1e-9, 1e9)))
        self.weights = self.positive(heavy) if self.generator.random() < 0.3 else None
        clusters = int(self.generator.integers(1, self.n + 1))
        has_clusters = self.generator.random() < 0.3
        self.members = self.generator.integers(0, clusters, self.n) if has_clusters else None
        self.scales = self.positive((1.0, 0.5, 2.0)) if self.generator.random() < 0.2 else None

    def pick(self, options: Any) -> Any:
        return options[int(self.generator.integers(len(options)))]

    def differences(self) -> np.ndarray:
        if self.generator.random() < 0.2:  # one query alone differs
            return self.scale * self.pick((-1.0, 0.25, 1 / 3)) * (np.arange(self.n) == self.n // 2)
        return self.scale * self.generator.choice(self.pick(STEPS), self.n)

    def positive(self, options: tuple[float, ...]) -> np.ndarray:
        return self.generator.choice(options, self.n)

    def column(self, candidate: str, metric: str, differences: np.ndarray | None = None) -> Column:
        loss = self.loss * (1.0 if self.scales is None else float(self.scales.max()))
        values = self.differences() if differences is None else differences
        room = self.scale - abs(values)
        return Column(
            "old",
            candidate,
            metric,
            tuple(f"q{number:02}" for number in range(self.n)),
            values,
            baseline_values=np.maximum(-values, 0.0)
            + room * self.generator.choice((0.0, 0.0, 1 / 3, 1.0), len(values)),
            weights=self.weights,
            clusters=None if self.members is None else [f"c{member}" for member in self.members],
            smallest_effect=self.margin,
            largest_loss=loss,
            value_range=means.Interval(0.0, self.scale),
            scales=self.scales,
        )


def each_number(found: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Every number of a result, with the names that lead to it."""
    if dataclasses.is_dataclass(found):
        for field in dataclasses.fields(found):
            yield from each_number(getattr(found, field.name), f"{path}.{field.name}")
    elif isinstance(found, dict):
        for key, value in found.items():
            yield from each_number(value, f"{path}[{key}]")
    elif isinstance(found, list | tuple | np.ndarray):
        for number, value in enumerate(found):
            yield from each_number(value, f"{path}[{number}]")
    elif isinstance(found, float | int | np.floating):
        yield path, float(found)


def assert_finite(found: Any, endless: tuple[str, ...] = ()) -> None:
    """endless: what may be infinite by its definition, as the end of an interval that too few queries have none of."""
    wrong = {
        path: value
        for path, value in each_number(found)
        if math.isnan(value) or (math.isinf(value) and not any(name in path for name in endless))
    }
    assert not wrong


def assert_possible(rows: list[Comparison], scale: float) -> None:
    """scale: the largest value of a metric whose least is 0."""
    pairs = (("low", "high"), ("simultaneous_low", "simultaneous_high"), ("lower_bound", "high"))
    for row in rows:
        ends = [(getattr(row, low), getattr(row, high)) for low, high in pairs]
        assert all(-scale <= low <= high <= scale for low, high in ends if low is not None)
        described = row.descriptive
        if described is not None and described.relative_low is not None:
            assert -1 - 1e-12 <= described.relative_low <= described.relative_high


def sparse(count: int) -> Any:
    """Runs a test with so many random cases; a failing one is named by its number."""

    def made(test: Any) -> Any:
        quiet = settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck))
        return quiet(given(number=st.integers(0, 2**32))(test))

    return made


@pytest.mark.slow
@sparse(60)
def test_families(number: int) -> None:
    case = Sparse(number)
    columns = [case.column(name, metric) for metric in ("ndcg", "rr") for name in ("a", "b", "c")][
        : case.pick((1, 3, 6))
    ]
    exploratory = bool(case.pick((False, False, True)))
    found = compare_family(columns, alpha=case.alpha, resamples=FEW, workers=1, exploratory=exploratory)
    assert_finite(found)
    assert_possible(found, case.scale)


@pytest.mark.slow
@sparse(120)
def test_guardrails(number: int) -> None:
    case = Sparse(number)
    columns = [case.column(name, "recall") for name in ("a", "b")]
    found = check_guardrails(columns, alpha=case.alpha, resamples=FEW, workers=1)
    assert_finite(found)
    assert_possible(found, case.scale)
    assert all(row.queries_needed is None or row.queries_needed >= 2 for row in found)


@pytest.mark.slow
@sparse(100)
def test_bounded_means(number: int) -> None:
    case = Sparse(number)
    loss = case.scale
    values, shares = np.clip(case.differences(), -loss, loss), None
    if case.weights is not None:
        shares = means.relative_weights(case.weights, case.n)
    found = [
        queries_to_hold(values, case.margin, loss, case.alpha),
        guardrails.lower_bound(values, case.alpha, loss, shares),
        guardrails.queries_to_rule_out(case.margin, case.alpha, loss, shares),
    ]
    p_values = [
        guardrails.not_worse_p_value(values, case.margin, loss, shares),
        guardrails.bounded_p_value(values, loss, shares),
    ]
    assert_finite([found, p_values])
    assert all(0 <= p_value <= 1 for p_value in p_values)


@sparse(100)
def test_moments_intervals_and_power(number: int) -> None:
    case = Sparse(number)
    values, members = case.differences(), case.members
    if members is not None:
        _, members = np.unique(members, return_inverse=True)
        members = members if members.max() else None
    of = means.compute_moments(values, case.weights, members, long_tailed=bool(number % 2))
    mde = means.minimal_detectable_effect(of.n, of.deviation, case.alpha, 0.8, of.freedom)
    detected = power.queries_to_detect(of, mde, case.margin) if of.deviation > 0 else None
    looked = detectable_at(0.001, case.n, of.deviation, case.pick((None, case.scale))) if of.deviation > 0 else None
    within = of._replace(widest=case.scale)
    between = means.interval_from_moments(within, 1 - case.alpha)
    assert -case.scale <= between.low <= between.high <= case.scale
    assert_finite(
        [
            of[:4],
            means.interval_from_moments(of, 1 - case.alpha),
            means.not_worse_p_value(of, case.margin),
            means.t_p_value(of),
            [mde, detected, looked],
        ]
    )


@sparse(60)
def test_careful_and_proxy_judgments(number: int) -> None:
    case = Sparse(number)
    if case.n < 8:
        return
    proxy = case.column("a", "ndcg")
    careful = case.differences() if number % 3 else np.asarray(proxy.differences) * case.pick((1.0, 0.5, -1.0))
    count = case.n - int(case.pick((2, 4)))
    few = dataclasses.replace(
        case.column("a", "ndcg", careful[:count]),
        query_ids=proxy.query_ids[:count],
        baseline_values=None,
        weights=None if case.weights is None else case.weights[:count],
        clusters=None if proxy.clusters is None else proxy.clusters[:count],
        scales=None if case.scales is None else case.scales[:count],
    )
    plain = [dataclasses.replace(each, scales=None) for each in (few, proxy)]
    corrected = correct_difference(*plain, proxy.query_ids[:count], case.alpha)
    assert_finite(corrected)
    if corrected is not None and corrected.low is not None:
        assert -case.scale <= corrected.low <= corrected.high <= case.scale
    assert_finite(check_balance(proxy, proxy.query_ids[:count]))
    assert_finite(correct_drawn(few, np.asarray(proxy.differences)[:count], 0.1 * case.scale, 1000, case.alpha))


@sparse(60)
def test_costs_and_nights(number: int) -> None:
    case = Sparse(number)
    values = abs(np.stack([case.differences(), case.differences()], axis=1))
    members = None if case.members is None else np.unique(case.members, return_inverse=True)[1]
    sample = cost_quantiles.Sample(case.weights, members)
    tails = cost_quantiles.Tails(0.025, 0.025)
    low, high = cost_quantiles.draw_quantile_bounds(values, (0.5, 0.95), draws=FEW, seed=1, sample=sample)
    between = [cost_quantiles.interval_from_draws(low[:, 0, at], high[:, 0, at], tails) for at in (0, 1)]
    assert_finite([between, cost_quantiles.mean_interval(values[:, 0], tails, sample)], endless=("[0]", "[1]"))
    both = np.stack([case.differences() for _ in range(4)]).reshape(2, 2, case.n)
    weights = case.generator.choice((0.0, 1.0, 1.0, 3.0), (2, case.n))
    assert_finite(split_change(both, weights))
    p_values = case.generator.choice((1e-300, 1e-9, 0.001, 0.05, 1.0), 30).tolist()
    looks = [Evidence(p_value, case.pick((None, 0.0, p_value)), 3, FEW, p_value) for p_value in p_values]
    assert_finite(monitor_tests(looks, case.alpha))


@sparse(60)
def test_drawn_queries(number: int) -> None:
    case = Sparse(number)
    disagreements, is_changed = abs(case.differences()), case.generator.random(case.n) < 0.7
    disagreements[~is_changed] = 0.0
    relative = draws.relative_disagreements(disagreements, is_changed)
    numbers = draws.permanent_numbers([f"q{index}" for index in range(case.n)], number)
    count = int(case.generator.integers(0, case.n + 1))
    drawn = draws.draw_queries(relative, numbers, count)
    more = draws.draw_queries(
        relative, numbers, case.n, draws.EarlierDraw(np.where(drawn.is_drawn, drawn.probability, 0), relative)
    )
    assert_finite([drawn, more])
    assert ((drawn.probability >= 0) & (drawn.probability <= 1)).all()
    taken = drawn.is_drawn & (relative > 0)
    mean = draws.mean_disagreement(relative, case.weights)
    assert_finite(draws.scale_and_weights(relative[taken], 1 / drawn.probability[taken], mean))
    population = draws.Population(disagreements, relative, case.weights, 0.16)
    errors = (draws.drawn_standard_error, draws.random_standard_error)
    assert_finite([draws.queries_to_decide(population, case.pick((0.01, 0.5, 3.0)), error) for error in errors])
    if relative.any() and disagreements.any():
        assert_finite(draws.unit_deviation([case.differences()], relative, disagreements))


@pytest.mark.slow
@sparse(60)
def test_clicks(number: int) -> None:
    case = Sparse(number)
    counts, most = [], int(case.pick((1, 3, 100, 10**9)))
    for index in range(case.n):
        shown = int(case.generator.integers(0, most + 1))
        clicks = int(case.pick((0, 0, 0, 1, shown)))
        counts.append(
            models.ClickCount(
                f"q{index % 3}",
                f"d{int(case.generator.integers(0, 5))}",
                1 + int(case.generator.integers(0, 12)),
                max(shown, clicks),
                clicks,
                case.pick((0, shown, 3 * shown)),
                case.pick((0, clicks, 2 * clicks)),
            )
        )
    for model in models.MODELS:
        values = models.click_values(counts, model)
        assert_finite(values)
        for scale in ("value", "threshold", "quantile"):
            assert_finite(models.click_grades(values, 1, scale, (0.1, 0.5)))
