"""Differences corrected by proxy judgments: the formulas of the literature, computed here again, and what must hold."""

import dataclasses
import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from ndcg_core.statistics.estimates import prediction_powered
from ndcg_core.statistics.estimates.mean_difference import compute_moments, interval_from_moments
from ndcg_core.statistics.estimates.prediction_powered import (
    ProxySample,
    check_balance,
    correct_difference,
    correct_drawn,
    estimate_from_arrays,
)
from ndcg_core.statistics.verdicts.comparison import Column, compare_family
from ndcg_core.statistics.verdicts.record import ProxyCorrected

FloatArray = NDArray[np.float64]
ALPHA = 0.05


@pytest.fixture(autouse=True)
def _few_are_enough(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The formulas are those of any number."""
    if "least_differing" not in request.fixturenames:
        monkeypatch.setattr(prediction_powered, "LEAST_DIFFERING", 4)


@pytest.fixture
def least_differing() -> int:
    """As it is."""
    return prediction_powered.LEAST_DIFFERING


def numbers(corrected: ProxyCorrected) -> list[float]:
    return [value for value in dataclasses.astuple(corrected) if value is not None]


def draw_differences(careful: int, every: int, correlation: float, seed: int = 3) -> tuple[FloatArray, FloatArray]:
    """Careful and (biased) proxy differences of all queries, of which the first are judged carefully."""
    rng = np.random.default_rng(seed)
    exact = rng.normal(0.03, 0.2, every)
    noise = rng.normal(0, 0.2, every)
    return exact, 0.1 + 0.5 * (correlation * exact + math.sqrt(1 - correlation**2) * noise)


def proxy_sample(
    exact: FloatArray, proxy: FloatArray, careful: int, **others: NDArray[np.intp] | FloatArray
) -> ProxySample:
    known = np.arange(len(exact)) < careful
    return ProxySample(proxy, exact, known, known, **others)  # type: ignore[arg-type]


def corrected_difference(
    exact: FloatArray, proxy: FloatArray, careful: int, **others: NDArray[np.intp] | FloatArray
) -> ProxyCorrected:
    corrected = estimate_from_arrays(proxy_sample(exact, proxy, careful, **others), ALPHA)
    assert corrected is not None
    return corrected


def columns(exact: FloatArray, proxy: FloatArray, careful: int, names: list[str]) -> tuple[Column, Column]:
    return (
        Column("old", "new", "ndcg@10", tuple(names[:careful]), exact[:careful]),
        Column("old", "new", "ndcg@10", tuple(names), proxy),
    )


@pytest.mark.parametrize(("careful", "every", "correlation"), [(40, 600, 0.8), (25, 60, 0.6), (200, 5_000, 0.9)])
def test_the_formulas_of_prediction_powered_inference(careful: int, every: int, correlation: float) -> None:
    """PPI++: a tuned share, the mean of both samples, and the sum of two variances; what the slope costs apart."""
    exact, proxy = draw_differences(careful, every, correlation)
    d, c, u = exact[:careful], proxy[:careful], proxy[careful:]
    ratio = len(u) / careful
    share = np.cov(d, c)[0, 1] / (np.var(c, ddof=1) + np.var(u, ddof=1) / ratio)
    mean = share * u.mean() + (d - share * c).mean()
    exact_part = np.var(d - share * c, ddof=1) / careful * (careful - 1) / (careful - 3)
    proxy_part = share**2 * np.var(u, ddof=1) / len(u)
    variance = exact_part + proxy_part
    freedom = variance**2 / (exact_part**2 / (careful - 2) + proxy_part**2 / (len(u) - 1))
    margin = stats.t.ppf(1 - ALPHA / 2, freedom) * math.sqrt(variance)
    usual = stats.t.ppf(1 - ALPHA / 2, careful - 1) * d.std(ddof=1) / math.sqrt(careful)
    p_value = 2 * stats.t.sf(abs(mean) / math.sqrt(variance), freedom)
    expected = ProxyCorrected(
        mean, mean - margin, mean + margin, p_value, careful, every, np.corrcoef(d, c)[0, 1], share, math.nan
    )
    corrected = corrected_difference(exact, proxy, careful)
    assert numbers(corrected)[:-1] == pytest.approx(numbers(expected)[:-1], rel=1e-9)
    assert corrected.saved == pytest.approx(careful * ((usual / margin) ** 2 - 1), rel=1e-9)


@pytest.mark.parametrize("factor", [0.0, -1.0])
def test_proxy_judgments_of_no_use_leave_the_classical_interval(factor: float) -> None:
    """They do not vary, or they say the opposite."""
    exact, _ = draw_differences(50, 500, 0)
    corrected = corrected_difference(exact, factor * exact, 50)
    classical = interval_from_moments(compute_moments(exact[:50]))
    assert (corrected.low, corrected.high) == pytest.approx(classical, rel=1e-12)
    assert (corrected.share, corrected.saved) == (0, 0)
    assert corrected.correlation == (None if factor == 0 else pytest.approx(-1))
    assert corrected.p_value == pytest.approx(stats.ttest_1samp(exact[:50], 0).pvalue)


def test_others_whose_proxy_differences_do_not_vary_tell_nothing() -> None:
    """All of them 0.1, which is no whole number of bits: their mean would be known without an error."""
    exact, _ = draw_differences(20, 60, 0)
    corrected = corrected_difference(exact, np.where(np.arange(60) < 20, exact, 0.1), 20)
    assert (corrected.share, corrected.saved) == (0, 0)


@pytest.mark.parametrize("seed", range(20))
def test_the_interval_is_never_wider_than_the_classical_one(seed: int) -> None:
    exact, proxy = draw_differences(20, 60, 0.1, seed)
    corrected = corrected_difference(exact, proxy, 20)
    classical = interval_from_moments(compute_moments(exact[:20]))
    assert corrected.high - corrected.low <= (classical.high - classical.low) * (1 + 1e-12)
    assert corrected.saved >= 0


def test_the_classical_interval_behind_it_is_that_of_the_comparison() -> None:
    """With weights and clusters, too: where the proxy judgments say nothing, the two are the same."""
    exact, _ = draw_differences(60, 200, 0)
    rng = np.random.default_rng(5)
    names = [f"q{number:03d}" for number in range(200)]
    weights, groups = rng.lognormal(0, 0.5, 200), tuple(str(number // 4) for number in range(200))
    careful, proxy = columns(exact, np.zeros(200), 60, names)
    careful = dataclasses.replace(careful, weights=weights[:60], clusters=groups[:60])
    proxy = dataclasses.replace(proxy, weights=weights, clusters=groups)
    (row,) = compare_family([careful], resamples=100)
    corrected = correct_difference(careful, proxy, careful.query_ids, ALPHA)
    assert corrected is not None
    assert (corrected.difference, corrected.low, corrected.high) == pytest.approx((row.difference, row.low, row.high))


def test_clusters_are_summed() -> None:
    """Every query twice is no more than every query once, where the two are one cluster."""
    exact, proxy = draw_differences(30, 300, 0.7)
    twice = [np.repeat(values, 2) for values in (exact, proxy)]
    known = np.arange(600) < 60
    doubled = estimate_from_arrays(
        ProxySample(twice[1], twice[0], known, known, members=np.repeat(np.arange(300), 2)), ALPHA
    )
    once = corrected_difference(exact, proxy, 30)
    assert doubled is not None
    assert (doubled.low, doubled.high, doubled.correlation) == pytest.approx((once.low, once.high, once.correlation))
    alone = estimate_from_arrays(ProxySample(twice[1], twice[0], known, known), ALPHA)
    assert alone is not None
    assert alone.high - alone.low < 0.8 * (once.high - once.low)


def test_a_query_that_the_careful_judgments_cannot_score_counts_among_the_proxy_ones() -> None:
    """It is left out of the mean of the careful differences, and not of what it is corrected by."""
    exact, proxy = draw_differences(40, 400, 0.8)
    judged = np.arange(400) < 40
    scored = judged & (np.arange(400) >= 4)
    corrected = estimate_from_arrays(ProxySample(proxy, np.where(scored, exact, 0), judged, scored), ALPHA)
    assert corrected is not None
    assert corrected.careful_queries == 36
    expected = exact[4:40].mean() + corrected.share * (proxy[40:].mean() - proxy[:40].mean())
    assert corrected.difference == pytest.approx(expected)


@pytest.mark.parametrize(
    ("exact", "careful"),
    [([0.1, 0.2, 0.0, 0.1, 0.3, 0.2], 3), ([0.1] * 6, 4), ([0.0] * 6, 4), ([0.1, 0.2, 0.0, 0.1, 0.3, 0.2], 5)],
    ids=["three careful queries", "no variance", "identical", "one other query"],
)
def test_what_cannot_be_estimated_is_none(exact: list[float], careful: int) -> None:
    assert estimate_from_arrays(proxy_sample(np.array(exact), np.linspace(0, 1, 6), careful), ALPHA) is None


def test_a_careful_query_without_a_proxy_judgment_is_refused() -> None:
    exact, proxy = draw_differences(10, 50, 0.7)
    careful, all_proxy = columns(exact, proxy, 10, [f"q{number}" for number in range(50)])
    stranger = dataclasses.replace(careful, query_ids=("elsewhere", *careful.query_ids[1:]))
    with pytest.raises(ValueError, match="query 'elsewhere' is judged carefully, must be judged by proxy too"):
        correct_difference(stranger, all_proxy, careful.query_ids[1:], ALPHA)


def test_a_sample_that_is_no_random_one_is_noticed_as_by_welch() -> None:
    _, proxy = draw_differences(40, 400, 0.8)
    names = tuple(f"q{number:03d}" for number in range(400))
    column = Column("old", "new", "ndcg@10", names, proxy)
    usual = check_balance(column, names[:40])
    assert usual.p_value == pytest.approx(stats.ttest_ind(proxy[:40], proxy[40:], equal_var=False).pvalue, rel=1e-9)
    assert (usual.careful, usual.others) == pytest.approx((proxy[:40].mean(), proxy[40:].mean()))
    best = [names[place] for place in np.argsort(proxy)[-40:]]
    assert check_balance(column, best).p_value < 1e-9
    assert check_balance(dataclasses.replace(column, differences=np.zeros(400)), names[:40]).p_value == 1
    assert check_balance(column, names[:1]).p_value == 1


@pytest.mark.parametrize("extra", [-1, 0])
@pytest.mark.parametrize("clustered", [False, True])
def test_too_few_careful_differences_give_no_difference(least_differing: int, extra: int, clustered: bool) -> None:
    """Counted are the queries that differ, or the clusters; the reason is given."""
    differing, careful, every = least_differing + extra, 100, 1_000
    rng = np.random.default_rng(1)
    exact = np.where(np.arange(every) % careful < differing, 1.0, 0.0)
    proxy = exact + 0.1 * rng.normal(size=every)
    members = {"members": np.arange(every)} if clustered else {}
    corrected = corrected_difference(exact, proxy, careful, **members)
    if extra == 0:
        assert corrected.why_none is None and corrected.difference is not None
        return
    units = "clusters" if clustered else "queries"
    assert corrected.why_none == f"carefully judged {units} that differ: 29, and an interval that holds needs 30"
    assert (corrected.difference, corrected.low, corrected.high, corrected.p_value) == (None,) * 4
    assert (corrected.careful_queries, corrected.cheap_queries) == (careful, every)


@pytest.mark.parametrize("use", [0.0, 1.0])
def test_intervals_of_drawn_queries_allow_for_long_tails(use: float) -> None:
    """Degrees of freedom by the kurtosis of what is left: of the differences alone, and of the corrected ones."""
    rng = np.random.default_rng(6)
    careful, noise = rng.standard_t(3, 50), rng.standard_t(3, 50)
    proxy = use * (careful + 0.3 * noise) - (1 - use) * careful
    column = Column("a", "b", "m", tuple(f"q{index:02}" for index in range(50)), careful, scales=np.ones(50))
    corrected = correct_drawn(column, proxy, 0.1, 100, ALPHA)
    assert corrected is not None and (corrected.share > 0) == bool(use)
    errors, close = careful - careful.mean(), proxy - proxy.mean()
    share = max(0.0, errors @ close / (close @ close))
    left, plain = errors - share * close, 48 if use else 49
    freedom = 1 / (1 / plain + stats.kurtosis(left) / (2 * 50))
    assert freedom < 0.9 * plain
    error = math.sqrt(left @ left / 50 / (47 if use else 49))
    assert (corrected.high - corrected.low) / 2 == pytest.approx(stats.t.ppf(1 - ALPHA / 2, freedom) * error)
    assert corrected.p_value == pytest.approx(2 * stats.t.sf(abs(corrected.difference) / error, freedom))


@pytest.mark.parametrize("factor", [1.0, 0.5, 0.3, 1 / 3, 0.7])
def test_proxy_differences_in_proportion_to_the_careful_ones_do_not_tell_how_far_off_they_are(factor: float) -> None:
    """As where somebody gives the careful judgments as proxy ones: no error is left that could be estimated."""
    rng = np.random.default_rng(4)
    careful, scales = rng.normal(size=40), rng.uniform(0.5, 2, 40)
    column = Column("a", "b", "m", tuple(map(str, range(40))), careful, weights=1 / scales, scales=scales)
    corrected = correct_drawn(column, factor * careful, 0.1, 100, 0.05)
    assert corrected is not None and corrected.difference is None and corrected.why_none is not None
    assert "in proportion to the careful ones" in corrected.why_none
