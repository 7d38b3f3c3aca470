"""The BCa interval against R, scipy.stats.bootstrap and what must hold of it."""

import math
import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.stats  # type: ignore[import-untyped]
from numpy.typing import NDArray

from ndcg_core.statistics.estimates import bca_bootstrap as bootstrap
from ndcg_core.statistics.estimates.bca_bootstrap import bca_interval
from tests.references import cases


def skewed(n: int = 30, seed: int = 7) -> NDArray[np.float64]:
    return np.random.default_rng(seed).exponential(0.1, n) - 0.05


def weights_of(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights that lean to large differences, so that they matter."""
    rng = np.random.default_rng(11)
    return np.exp(5 * differences + rng.normal(0, 0.4, len(differences)))


# ---- other implementations


@cases("skewed_sixteen", "r_boot_ci")
def test_a_skewed_sample_of_sixteen(case: dict[str, Any]) -> None:
    interval = bca_interval(case["inputs"]["x"], resamples=1_000_000)
    assert interval == pytest.approx(tuple(case["expected"]["bca"]), rel=0.005)


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("n", [9, 30])
def test_the_mean_as_scipy_has_it(n: int, level: float) -> None:
    differences = skewed(n)
    expected = scipy.stats.bootstrap(
        (differences,), np.mean, confidence_level=level, n_resamples=200_000, method="BCa", rng=1, batch=10_000
    )
    found = bca_interval(differences, level=level, resamples=200_000)
    assert found == pytest.approx(tuple(expected.confidence_interval), abs=0.04 * expected.standard_error)


def test_the_weighted_mean_as_scipy_has_it() -> None:
    differences = skewed()
    weights = weights_of(differences)

    def ratio(d: NDArray[np.float64], w: NDArray[np.float64], axis: int) -> Any:
        return (w * d).sum(axis=axis) / w.sum(axis=axis)

    expected = scipy.stats.bootstrap(
        (differences, weights), ratio, paired=True, n_resamples=200_000, method="BCa", rng=1, batch=10_000
    )
    found = bca_interval(differences, resamples=200_000, weights=weights)
    assert found == pytest.approx(tuple(expected.confidence_interval), abs=0.04 * expected.standard_error)


def test_the_acceleration_in_closed_form() -> None:
    differences = skewed()
    deviations = differences - differences.mean()
    expected = np.sum(deviations**3) / (6 * np.sum(deviations**2) ** 1.5)
    assert bootstrap._acceleration(differences, None) == pytest.approx(expected, rel=1e-9)


def test_the_acceleration_of_a_ratio_as_the_means_without_one_query() -> None:
    differences = skewed(12)
    weights = weights_of(differences)
    without = [np.average(np.delete(differences, i), weights=np.delete(weights, i)) for i in range(12)]
    influence = np.mean(without) - np.array(without)
    expected = np.sum(influence**3) / (6 * np.sum(influence**2) ** 1.5)
    assert bootstrap._acceleration(differences, weights) == pytest.approx(expected, rel=1e-9)


# ---- what must hold


def test_the_bias_counts_means_equal_but_for_rounding_half() -> None:
    means = np.array([0.1, 0.3 + 1e-16, 0.3 - 1e-16, 0.3, 0.4, 0.5, 0.6, 0.7])  # one below, three equal: 2.5 of 8
    assert bootstrap._bias(means, 0.3) == pytest.approx(scipy.stats.norm.ppf(2.5 / 8), rel=1e-12)


def test_the_bias_stays_finite_where_every_mean_lies_on_one_side() -> None:
    assert bootstrap._bias(np.array([0.2, 0.3]), 0.1) == pytest.approx(scipy.stats.norm.ppf(0.25))
    assert bootstrap._bias(np.array([0.2, 0.3]), 0.9) == pytest.approx(scipy.stats.norm.ppf(0.75))


def test_beyond_the_pole_of_the_acceleration_lies_the_far_end() -> None:
    assert bootstrap._moved(7.0, 0.0, 1 / 6) == 1
    assert bootstrap._moved(-7.0, 0.0, -1 / 6) == 0
    assert bootstrap._moved(1.96, 0.0, 0.0) == pytest.approx(0.975, abs=1e-4)


def test_every_query_is_drawn_as_often_as_the_others() -> None:
    drawn = bootstrap._drawn(np.random.SFC64(3), 20_000, 7)
    assert drawn.shape == (20_000, 7)
    for place in range(7):  # each column is uniform over the rows, and no two neighbours go together
        assert scipy.stats.chisquare(np.bincount(drawn[:, place], minlength=7)).pvalue > 1e-4
    together = np.bincount(drawn[:, 0] * 7 + drawn[:, 1], minlength=49)
    assert scipy.stats.chisquare(together).pvalue > 1e-4


def test_the_same_seed_gives_the_same_interval_and_another_seed_another() -> None:
    differences = skewed()
    assert bca_interval(differences) == bca_interval(differences.tolist(), seed=1935, resamples=10_000, level=0.95)
    assert bca_interval(differences) != bca_interval(differences, seed=1936)


@pytest.mark.parametrize("n", [30, 31])
def test_the_size_of_a_batch_changes_no_bit(monkeypatch: pytest.MonkeyPatch, n: int) -> None:
    differences = skewed(n)
    weights = weights_of(differences)
    expected = bca_interval(differences, resamples=1_000), bca_interval(differences, resamples=1_000, weights=weights)
    for batch in (1, 7 * n, 64 * n):
        monkeypatch.setattr(bootstrap, "_BATCH", batch)
        assert bca_interval(differences, resamples=1_000) == expected[0]
        assert bca_interval(differences, resamples=1_000, weights=weights) == expected[1]


@pytest.mark.parametrize("weight", [1.0, 0.1, 250.0])
def test_equal_weights_give_the_same_as_none(weight: float) -> None:
    differences = skewed()
    assert bca_interval(differences, weights=[weight] * 30) == pytest.approx(bca_interval(differences), rel=1e-12)


def test_weights_count_only_against_each_other() -> None:
    differences = skewed()
    weights = weights_of(differences)
    first, second = bca_interval(differences, weights=weights), bca_interval(differences, weights=1_000 * weights)
    assert first == pytest.approx(second, rel=1e-12)
    assert first.low > bca_interval(differences).low  # the weights lean to large differences


def test_swapping_baseline_and_candidate_mirrors_the_interval() -> None:
    differences = skewed()
    for weights in (None, weights_of(differences)):
        low, high = bca_interval(differences, weights=weights)
        assert bca_interval(-differences, weights=weights) == pytest.approx((-high, -low), rel=1e-9)


def test_a_higher_level_is_wider() -> None:
    inner, outer = bca_interval(skewed(), level=0.8), bca_interval(skewed(), level=0.99)
    assert outer.low < inner.low < np.mean(skewed()) < inner.high < outer.high


@pytest.mark.parametrize("differences", [[0.0, 0.0], [0.1] * 30, [0.2 - 0.1, 0.5 - 0.4, 0.9 - 0.8]])
def test_equal_differences_have_an_interval_of_width_0(differences: list[float]) -> None:
    for weights in (None, [1.0 + place for place in range(len(differences))]):
        low, high = bca_interval(differences, weights=weights)
        assert low == high == pytest.approx(differences[0])


def test_two_differences_and_one_that_differs_of_many() -> None:
    assert bca_interval([0.0, 1.0]) == (0.0, 1.0)
    low, high = bca_interval([0.0] * 999 + [1.0], level=0.999)
    assert 0 <= low < 0.001 < high <= 1


def test_few_resamples_still_give_an_interval() -> None:
    for resamples in (1, 2, 5):
        low, high = bca_interval(skewed(), resamples=resamples)
        assert math.isfinite(low)
        assert low <= high


@pytest.mark.parametrize("weighted", [False, True])
def test_seven_thousand_queries_need_little_memory(weighted: bool) -> None:
    differences = skewed(7_000)
    weights = weights_of(differences) if weighted else None
    tracemalloc.start()
    try:
        bca_interval(differences, resamples=1_000, weights=weights)
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()


# ---- errors


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"differences": [0.1]}, "n == 1 differences, must be at least 2"),
        ({"differences": [0.1, math.nan]}, r"differences\[1\] == nan, must be finite"),
        ({"differences": [0.1, math.inf]}, r"differences\[1\] == inf, must be finite"),
        ({"differences": np.zeros((2, 2))}, r"shape \(2, 2\)"),
        ({"weights": [1.0]}, r"weights have shape \(1,\)"),
        ({"weights": [1.0, 0.0]}, r"weights\[1\] == 0.0, must be above 0"),
        ({"level": 95}, "level == 95, must lie between 0 and 1"),
        ({"level": math.nan}, "level == nan"),
        ({"resamples": 0}, "resamples == 0, must be at least 1"),
        ({"seed": -1}, "seed == -1, must be at least 0"),
    ],
)
def test_what_cannot_be_is_refused(call: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bca_interval(**{"differences": [0.1, 0.2], **call})
