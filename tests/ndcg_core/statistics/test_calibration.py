"""The simulations of docs/calibration.md, with few repetitions: every row in its range, and faults that it notices.

`make test` takes one measurement and one planted fault, `make soak` all of them.
"""

import csv
import re
from pathlib import Path

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

from benchmarks import simulate
from ndcg_core.measures.notation import parse
from ndcg_core.measures.score import Result, score_query
from ndcg_core.statistics.estimates import mean_difference as estimates
from ndcg_core.statistics.estimates import prediction_powered
from ndcg_core.statistics.hypothesis_tests import bootstrap_max_t, procedures
from ndcg_core.statistics.hypothesis_tests import bounded_mean as bounded
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


@pytest.mark.soak
def test_a_family_that_is_not_adjusted_is_noticed(world: simulate.World, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (procedures, bootstrap_max_t):
        monkeypatch.setattr(module, "monotone_p_values", lambda p_adjusted, p_value, statistic: tuple(p_value))
    rows = simulate.family(world, rng(), 50, queries=50, equal=9, better=0)
    assert [row.what for row in rows if not row.holds(errors=3)] == ["family-wise error"]


@pytest.mark.soak
def test_intervals_that_hold_alone_only_are_noticed(world: simulate.World, monkeypatch: pytest.MonkeyPatch) -> None:
    def alone(moments: estimates.Moments, *arguments: float) -> float:
        return estimates.half_width(moments, arguments[-1])

    monkeypatch.setattr(procedures, "joint_half_width", alone)
    monkeypatch.setattr(procedures, "_studentised", alone)
    rows = simulate.family(world, rng(), 50, queries=50, equal=9, better=0)
    assert [row.what for row in rows if not row.holds(errors=3)] == ["coverage, simultaneous intervals"]


@pytest.mark.soak
def test_a_deviation_without_the_weights_is_noticed(world: simulate.World, monkeypatch: pytest.MonkeyPatch) -> None:
    def unweighted(differences: np.ndarray, weights: np.ndarray) -> estimates.Moments:
        mean = estimates.compute_moments(differences, weights).mean
        return estimates.compute_moments(differences)._replace(mean=mean)

    monkeypatch.setattr(simulate, "compute_moments", unweighted)
    rows = simulate.weighted(world, rng(), 500, 200)
    assert [row.what for row in rows if not row.holds(errors=3)] == ["coverage of the weighted interval"]


@pytest.mark.soak
def test_a_test_of_half_the_alpha_is_noticed(world: simulate.World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The 95 % interval for equivalence, where two one-sided tests at 5 % ask for the 90 % interval."""
    real = simulate.equivalence_p_value
    monkeypatch.setattr(simulate, "equivalence_p_value", lambda of, margin: 2 * real(of, margin))
    rows = simulate.margins(world, rng(), 2_000, 200)
    assert [row.what for row in rows if not row.holds()] == ["type-I error at the margin, equivalence"]


@pytest.mark.soak
def test_a_quick_run_of_proxy_judgments_lies_within_the_ranges() -> None:
    assert [row for row in simulate_proxy.rows(SEED, 150, (60, 100)) if not row.holds(errors=3)] == []


@pytest.mark.soak
def test_proxy_judgments_that_are_taken_for_careful_ones_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the proxy grades of the many were as good as careful ones: the interval is that of all queries."""

    def trusting(given: simulate_proxy.ProxySample, alpha: float) -> ProxyCorrected | None:
        every = np.ones(len(given.proxy), dtype=np.bool_)
        every[-2:] = False
        return prediction_powered.estimate_from_arrays(
            simulate_proxy.ProxySample(given.proxy, given.proxy, every, every, given.shares, given.members), alpha
        )

    monkeypatch.setattr(simulate_proxy, "estimate_from_arrays", trusting)
    rows = simulate_proxy.independent(rng(), np.linspace(-0.4, 0.5, 101), 100, 30, 600, 0.7)
    assert "coverage, corrected by proxy judgments" in [row.what for row in rows if not row.holds(errors=3)]


@pytest.mark.soak
def test_a_quick_run_of_clusters_lies_within_the_ranges() -> None:
    """Conversations of a few turns; of queries alone nothing is asked, and they are far off."""
    rows = simulate_clusters.rows(SEED, 200)
    assert [row for row in rows if not row.holds(errors=3)] == []
    alone = [row.measured for row in rows if "queries alone" in row.setting and "type-I" in row.what]
    assert min(alone) > 0.15


@pytest.mark.soak
def test_a_quick_run_of_guardrails_lies_within_the_ranges() -> None:
    """Rare harm at the margin: the guardrail errs as seldom as it says, and Student's t up to three times in four."""
    rows = simulate_guardrails.rows(SEED, 100, quick=True)
    assert [row for row in rows if not row.holds(errors=3)] == []
    by_t = {row.setting: row.measured for row in rows if row.what == "passes at the margin, t"}
    assert by_t["n = 25, margin 0.01, 1 in 100 loses 1"] > 0.6


@pytest.mark.soak
def test_a_bound_without_the_query_that_is_added_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = bounded._chance_not_positive
    monkeypatch.setattr(bounded, "_chance_not_positive", lambda factors: sound(factors[:-1]))
    rows = simulate_guardrails.error_rows(rng(), 100, "rare", simulate_guardrails.rare(1, 0.01), 25, 0.01)
    assert [row.what for row in rows if not row.holds(errors=3)] == ["passes at the margin, guardrail"]


@pytest.mark.soak
def test_slices_that_are_not_adjusted_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (procedures, bootstrap_max_t):
        monkeypatch.setattr(module, "monotone_p_values", lambda p_adjusted, p_value, statistic: tuple(p_value))
    rows = simulate_guardrails.slices(rng(), 60, 300)
    assert [row.what for row in rows if not row.holds(errors=3)] == ["a gate fails, slices together"]


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
    assert all(row.holds() for row in rows) and rows == simulate_labels.rows(SEED, 1, quick=True)
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


@pytest.mark.soak
def test_a_quick_run_of_rare_differences_lies_within_the_ranges() -> None:
    assert [row for row in simulate_rare.rows(SEED, 60) if not row.holds(errors=3)] == []
