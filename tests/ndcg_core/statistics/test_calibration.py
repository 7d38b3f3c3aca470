"""The simulations of docs/calibration.md, with few repetitions: every row in its range, and faults that it notices.

`make test` takes one measurement and one planted fault, `make soak` all of them.
"""

import csv
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import calibration
import numpy as np
import pytest
import simulate_clusters
import simulate_decisions
import simulate_draws
import simulate_guardrails
import simulate_labels
import simulate_proxy
import simulate_rare
from scipy.special import ndtri

from benchmarks import simulate, simulate_costs, simulate_drops, simulate_nights, simulate_words
from ndcg_core.measures.notation import parse
from ndcg_core.measures.score import Result, score_query
from ndcg_core.statistics import over_time
from ndcg_core.statistics.estimates import cost_quantiles, prediction_powered
from ndcg_core.statistics.estimates import mean_difference as estimates
from ndcg_core.statistics.hypothesis_tests import flips, procedures
from ndcg_core.statistics.hypothesis_tests import guardrails as bounded
from ndcg_core.statistics.verdicts import comparison
from ndcg_core.statistics.verdicts.record import ProxyCorrected
from tests.repeated import mostly_soaked

SEED = 7
pytestmark = [pytest.mark.slow, pytest.mark.no_cover]


def rng() -> np.random.Generator:
    return np.random.default_rng(SEED)


@pytest.fixture(scope="module")
def world() -> simulate.World:
    return simulate.world(SEED)


@pytest.mark.parametrize("place", mostly_soaked(range(len(simulate.measurements())), kept=[0]))
def test_a_quick_run_lies_within_three_standard_errors_of_the_ranges(place: int) -> None:
    for row in simulate.measured(place, SEED, quick=True):
        assert row.holds(errors=3), row


def test_a_measurement_is_repeatable_and_the_seed_matters() -> None:
    assert simulate.measured(0, SEED, 50) == simulate.measured(0, SEED, 50) != simulate.measured(0, SEED + 1, 50)


def test_values_of_the_world_are_those_of_the_core() -> None:
    ranked = rng().integers(0, 4, size=(20, 1, simulate.DOCUMENTS)).astype(float)
    for grades, values in zip(ranked[:, 0], simulate._values(ranked)[:, 0], strict=True):
        judgments = {f"d{index}": float(grade) for index, grade in enumerate(grades)}
        results = [Result(doc_id, -float(index)) for index, doc_id in enumerate(judgments)]
        assert [score_query(parse(name), results, judgments) for name in simulate.METRICS] == pytest.approx(values)


def test_ties_are_as_described(world: simulate.World) -> None:
    for kind, share in (("one relevant", 0.5), ("graded", 0.3)):
        assert np.mean(world.differences(kind, better=False) == 0) == pytest.approx(share, abs=0.03)


def test_the_mean_under_the_coin_is_as_described(world: simulate.World) -> None:
    differences = world.differences("graded", better=False)
    sample = simulate.coin(rng(), differences, 400_000, 1, 0.3)
    error = sample.std() / np.sqrt(len(sample))
    assert sample.mean() == pytest.approx(simulate.mean_at(differences, 0.3), abs=4 * error)
    assert sample.mean() / sample.std() == pytest.approx(0.3, abs=0.01)


def test_a_range_is_widened_at_both_ends() -> None:
    row = simulate.Row("", "", 100, 0.1, (0.04, 0.06))
    assert (row.holds(), row.holds(1), row.holds(2)) == (False, False, True)
    assert simulate.Row("", "", 100, 0.1).holds()
    assert "| OUT |" in simulate.table([row])


# ---- faults, planted


def test_z_for_t_in_the_interval_is_noticed(world: simulate.World, monkeypatch: pytest.MonkeyPatch) -> None:
    (sound,) = simulate.coverage(world, rng(), 20_000, "graded", 25)
    monkeypatch.setattr(estimates, "_t_quantile", lambda probability, freedom: float(ndtri(probability)))
    (faulty,) = simulate.coverage(world, rng(), 20_000, "graded", 25)
    assert sound.holds()
    assert not faulty.holds()


def unadjusted(p_adjusted: object, p_value: Sequence[float], statistic: object) -> tuple[float, ...]:
    return tuple(p_value)


def alone(moments: estimates.Moments, *arguments: float) -> float:
    """Return the half width of an interval that holds for one comparison."""
    return estimates.half_width(moments, arguments[-1])


def without_weights(differences: np.ndarray, weights: np.ndarray) -> estimates.Moments:
    mean = estimates.compute_moments(differences, weights).mean
    return estimates.compute_moments(differences)._replace(mean=mean)


def trusting(given: simulate_proxy.ProxySample, alpha: float) -> ProxyCorrected | None:
    """As if the proxy grades of the many were as good as careful ones: the interval is that of all queries."""
    every = np.ones(len(given.proxy), dtype=np.bool_)
    every[-2:] = False
    sample = simulate_proxy.ProxySample(given.proxy, given.proxy, every, every, given.shares, given.members)
    return prediction_powered.estimate_from_arrays(sample, alpha)


UNADJUSTED = {f"{flips.__name__}.monotone_p_values": unadjusted}
TWICE, BOUND = simulate.equivalence_p_value, bounded._chance_not_positive
DETECTABLE = comparison._detectable_difference
FAULTS: dict[str, tuple[dict[str, Any], Callable[[simulate.World], Iterable[Any]], float, set[str]]] = {
    "a family that is not adjusted": (
        UNADJUSTED,
        lambda world: simulate.family(world, rng(), 50, queries=50, equal=9, better=0),
        3,
        {"family-wise error"},
    ),
    "intervals that hold alone": (
        {f"{procedures.__name__}.{name}": alone for name in ("joint_half_width", "_studentised")},
        lambda world: simulate.family(world, rng(), 50, queries=50, equal=9, better=0),
        3,
        {"coverage, simultaneous intervals"},
    ),
    "a deviation without the weights": (
        {f"{simulate.__name__}.compute_moments": without_weights},
        lambda world: simulate.weighted(world, rng(), 500, 200),
        3,
        {"coverage of the weighted interval"},
    ),
    "the 95 % interval for equivalence, where two one-sided tests at 5 % ask for that of 90 %": (
        {f"{simulate.__name__}.equivalence_p_value": lambda of, margin: 2 * TWICE(of, margin)},
        lambda world: simulate.margins(world, rng(), 2_000, 200),
        0,
        {"type-I error at the margin, equivalence"},
    ),
    "proxy judgments that are taken for careful ones": (
        {f"{simulate_proxy.__name__}.estimate_from_arrays": trusting},
        lambda _: simulate_proxy.independent(rng(), np.linspace(-0.4, 0.5, 101), 100, 30, 600, 0.7)[:1],
        3,
        {"coverage, corrected by proxy judgments"},
    ),
    "a bound without the query that is added": (
        {f"{bounded.__name__}._chance_not_positive": lambda factors: BOUND(factors[:-1])},
        lambda _: simulate_guardrails.error_rows(rng(), 100, "rare", simulate_guardrails.rare(1, 0.01), 25, 0.01),
        3,
        {"passes at the margin, guardrail"},
    ),
    "a detectable effect of one comparison alone": (
        {f"{comparison.__name__}._detectable_difference": lambda of, test, size, alpha: DETECTABLE(of, None, 1, alpha)},
        lambda _: simulate_words.power(rng(), 100, queries=50, columns=15)[:1],
        3,
        {"power at the family's MDE, adjusted p"},
    ),
    "slices that are not adjusted": (
        UNADJUSTED,
        lambda _: simulate_guardrails.slices(rng(), 60, 300),
        3,
        {"a gate fails, slices together"},
    ),
}


@pytest.mark.soak
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_noticed(fault: str, world: simulate.World, monkeypatch: pytest.MonkeyPatch) -> None:
    patches, rows, errors, expected = FAULTS[fault]
    for place, planted in patches.items():
        monkeypatch.setattr(place, planted)
    assert {row.what for row in rows(world) if not row.holds(errors=errors)} == expected


QUICK = {
    "proxy": lambda: simulate_proxy.rows(SEED, 150, (60, 100)),
    "clusters": lambda: simulate_clusters.rows(SEED, 200),
    "guardrails": lambda: simulate_guardrails.rows(SEED, 100, quick=True),
    "rare": lambda: simulate_rare.rows(SEED, 60),
}
SIMPLER = {  # the error of a simpler method, which is too large: its setting, its name, the least of it
    "clusters": ("queries alone", "type-I", 0.15),
    "guardrails": ("n = 25, margin 0.01, 1 in 100 loses 1", "passes at the margin, t", 0.6),
}


@pytest.mark.soak
@pytest.mark.parametrize("name", QUICK)
def test_another_quick_run_lies_within_the_ranges(name: str) -> None:
    rows = QUICK[name]()
    assert [row for row in rows if not row.holds(errors=3)] == []
    setting, what, least = SIMPLER.get(name, ("", "", 0.0))
    assert min(row.measured for row in rows if setting in row.setting and what in row.what) >= least


@pytest.mark.soak
def test_drawn_queries_tell_of_their_log() -> None:
    """With simulated rankings; a draw that does not say how likely it was is noticed."""
    pairs = list(simulate_draws.simulated(SEED))
    found = [row for each in pairs for row in simulate_draws.measured(rng(), each, 200)]
    assert [row for row in found if not row.holds(errors=3)] == []
    draws = rng()
    apart = 1.0 + 2 * (draws.random(simulate_draws.LOG) < 0.5)
    log = simulate_draws.Log(apart, 0.1 * apart + draws.normal(0, 0.1, simulate_draws.LOG))
    relative = log.relative()
    drawn = simulate_draws.draw_queries(relative, draws.random(simulate_draws.LOG), 400)
    told = simulate_draws.estimate(log, drawn, relative)
    fault = simulate_draws.Draw(drawn.is_drawn, np.ones(simulate_draws.LOG))
    assert told.holds and not simulate_draws.estimate(log, fault, np.where(log.is_changed, 1.0, 0.0)).holds


@pytest.mark.parametrize("shapes", mostly_soaked([1, 2], kept=[1]))
def test_decisions_of_a_whole_evaluation(shapes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody as good as the baseline is stopped more often than promised, and real harm is; `shapes` of differences."""
    kept = dict(list(simulate_decisions.SHAPES.items())[: 1 + shapes])  # a quick run leaves the first out
    monkeypatch.setattr(simulate_decisions, "SHAPES", kept)
    rows = simulate_decisions.rows(SEED, 10, quick=True)
    assert all(row.holds(3) for row in rows), [row for row in rows if not row.holds(3)]
    stopped = [row.measured for row in rows if row.what == "decided: do not ship" and "-0.1" in row.setting]
    assert min(stopped) >= 0.4


def test_decisions_with_few_judgments_never_point_the_wrong_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if judgments were complete where only the baseline's results are judged: the better candidate is stopped."""
    rows = simulate_labels.rows(SEED, 1, quick=True)
    assert all(row.holds() for row in rows)
    sound = simulate_labels.ndcg_ab.compare
    monkeypatch.setattr(
        simulate_labels.ndcg_ab, "compare", lambda *a, **options: sound(*a, **options, complete_judgments=True)
    )
    found = simulate_labels.rows(SEED, 1, quick=True)
    assert [row.measured for row in found if row.what == "wrong direction" and "top 10" in row.setting] == [1.0]
    (together,) = [row for row in found if "together" in row.setting and row.what == "wrong direction"]
    assert not together.holds()


def test_one_command_makes_every_simulation_and_says_which_rows_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those of real rankings are left out where these are not there; a row outside its range ends with 1."""
    monkeypatch.setenv("NDCG_AB_DATA", str(tmp_path))
    assert {"simulate", "simulate_rare"} < set(calibration.simulations())
    (tmp_path / "simulate_good.py").write_text("print('| a | b | 1 | 0.05 | – | ok |')")
    (tmp_path / "simulate_bad.py").write_text("print('| c | d | 1 | 0.50 | – | OUT |'); raise SystemExit(1)")
    (tmp_path / "simulate_broken.py").write_text("raise SystemExit('no such thing')")
    monkeypatch.setattr(calibration, "HERE", tmp_path)
    monkeypatch.delenv("NDCG_AB_DATA", raising=False)
    assert calibration.main(["--into", str(tmp_path / "out")]) == 1
    printed = capsys.readouterr().out
    assert "simulate_good: 0 outside" in printed and "simulate_bad: | c | d | 1 | 0.50 | – | OUT |" in printed
    assert "simulate_broken: no such thing" in printed
    with (tmp_path / "out" / "simulate_bad.csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == [calibration.COLUMNS, ["c", "d", "1", "0.50", "–", "OUT"]]
    assert (tmp_path / "out" / "verdicts.txt").read_text(encoding="utf-8") in printed


def test_the_page_is_short_and_has_a_row_of_every_simulation() -> None:
    """Full tables belong into build/calibration; the page says what each simulation found."""
    page = (calibration.HERE.parent / "docs" / "calibration.md").read_text(encoding="utf-8")
    assert len(page.split()) <= 2_500
    missing = {path.stem for path in calibration.HERE.glob("simulate*.py")} - set(re.findall(r"`(simulate\w*)`", page))
    assert missing == set()


# ---- a verdict's words


# Not those of 45 columns and more at 200 queries: they take seconds.
@pytest.mark.parametrize("index", mostly_soaked([0, 2, 4, 8, 9, 10, 11, 13, 16, 18, 19, 20], kept=[0]))
def test_a_quick_run_of_words_lies_within_the_ranges(index: int) -> None:
    for row in simulate_words.measured(index, SEED, quick=True):
        assert row.holds(errors=3), row


def test_sizes_from_intervals_that_hold_alone_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "_interval", lambda of, reach: estimates.interval_from_moments(of, 0.95))
    claims = simulate_words.sizes(rng(), 40, queries=100, columns=45, errors=5.0)
    assert [row.holds(errors=3) for row in claims] == [False, True, True]


# ---- costs of requests

INDEPENDENT_200 = 2  # the index of a world with few queries beyond p95, where both tails are used up
WORLDS = range(len(simulate_costs.WORLDS) * len(simulate_costs.COUNTS))


@pytest.mark.parametrize("index", mostly_soaked(WORLDS, kept=[INDEPENDENT_200]))
def test_a_quick_run_of_costs_lies_within_the_ranges(index: int) -> None:
    rows = simulate_costs.measured(index, SEED, quick=True)
    of_weights = any("weights" in row.setting for row in rows)
    assert sum(row.accepted is not None for row in rows) == (0 if of_weights else 4)
    assert [row for row in rows if not row.holds(errors=3)] == []


def weighted_quantile(values: Any, weights: Any, share: float) -> float:
    order = np.argsort(values)
    below = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(below, share * below[-1])])


def test_true_differences_are_those_of_large_samples() -> None:
    for name, draw in simulate_costs.WORLDS.items():
        base, other, sample = draw(400_000, rng())
        weights = np.ones(len(base)) if sample.weights is None else sample.weights
        for share in simulate_costs.SHARES:
            later, before = (weighted_quantile(values, weights, share) for values in (other, base))
            expected = simulate_costs.world_differences(name, share)
            assert later - before == pytest.approx(expected, abs=1.0), (name, share)


def test_draws_that_know_nothing_beyond_the_sample_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain quantiles of Rubin's bootstrap, without what lies beyond all queries: the intervals are too short."""
    draw = cost_quantiles.draw_quantile_bounds
    monkeypatch.setattr(simulate_costs, "draw_quantile_bounds", lambda *given, **keys: (draw(*given, **keys)[0],) * 2)
    rows = [row for index in (0, 1) for row in simulate_costs.measured(index, SEED, repetitions=200)]
    assert [row for row in rows if not row.holds(errors=3)] != []


# ---- nights


@pytest.mark.soak
def test_a_quick_run_of_nights_lies_within_the_ranges() -> None:
    places = range(len(simulate_nights.measurements()))
    rows = [row for place in places for row in simulate_nights.measured(place, SEED, quick=True)]
    assert [row for row in rows if not row.holds(errors=3)] == []
    assert sum(row.accepted is not None for row in rows) == 28 + (0 if simulate_nights.cast() is None else 2)


def test_looks_that_spend_too_much_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (simulate_nights, over_time):
        monkeypatch.setattr(module, "spend_alpha", lambda alpha, look: alpha)
    rows = simulate_nights.measured(4, SEED, quick=True)
    assert [row.what for row in rows if not row.holds(errors=3)] == ["any night of a year, monitor"]


def test_a_rule_that_trusts_the_tail_of_t_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulate_nights, "bounded", lambda sample, p_value, level: p_value)
    monitored = simulate_nights.measured(32, SEED, quick=True)
    assert monitored[-1].setting.split(", ")[-1] == "the others lose as much"
    assert not monitored[-1].holds(errors=3)


def test_new_judgments_make_no_drop_and_hide_none() -> None:
    rows = [row for place in (0, 1) for row in simulate_drops.measured(place, SEED, quick=True)]
    assert [row for row in rows if not row.holds(errors=3)] == []
    assert next(row for row in rows if row.what == "any drop on a harmless night, now - then").measured > 0.9
