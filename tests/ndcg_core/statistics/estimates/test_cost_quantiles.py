"""Quantiles of costs: their definition, intervals of order statistics, and differences of the same queries."""

import math

import numpy as np
import pytest
from scipy.stats import binom, ttest_1samp

from ndcg_core.statistics.averages import quantile, quantile_share
from ndcg_core.statistics.estimates.cost_quantiles import (
    Sample,
    Tails,
    interval_from_draws,
    least_queries,
    mean_interval,
)
from ndcg_core.statistics.estimates.cost_quantiles import draw_quantile_bounds as quantile_bounds

TAILS = Tails(0.025, 0.025)
SHARES = (0.5, 0.95, 0.99)


def generator() -> np.random.Generator:
    return np.random.default_rng(4)


@pytest.mark.parametrize("share", [0.5, 0.95, 0.99, 0.07, 0.3, 0.999])
def test_a_quantile_is_numpys_inverted_cdf(share: float) -> None:
    rng = generator()
    for count in (1, 2, 19, 20, 21, 100, 1000):
        values = rng.integers(0, 9, count).astype(float)
        assert quantile(list(values), share) == np.quantile(values, share, method="inverted_cdf")
        weights = rng.integers(1, 5, count)
        repeated = np.repeat(values, weights)
        weighed = quantile(list(values), share, [0.1 * weight for weight in weights])
        assert weighed == np.quantile(repeated, share, method="inverted_cdf"), "a weight is so many queries"


def test_95_of_100_are_the_share_of_p95_whatever_the_last_bits_are() -> None:
    for count in range(20, 2001, 20):
        assert quantile([float(index) for index in range(1, count + 1)], 0.95) == count * 19 // 20


@pytest.mark.parametrize("text", ["p0", "p100", "p", "95", "p9.9999", "median", "p-5", "p0.0"])
def test_what_is_no_statistic(text: str) -> None:
    with pytest.raises(ValueError, match="must be mean or a percentile"):
        quantile_share(text)


def test_the_shares_of_statistics() -> None:
    assert [quantile_share(text) for text in ("mean", "p50", "p95", "p99.9")] == [None, 0.5, 0.95, 0.999]


def test_nothing_has_no_quantile() -> None:
    with pytest.raises(ValueError, match="no values"):
        quantile([], 0.5)


@pytest.mark.first_case
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("count", [10, 60, 100, 500])
def test_the_interval_of_one_quantile_is_that_of_order_statistics(share: float, count: int) -> None:
    """The smallest rank whose chance to lie below the quantile is at most .025, and the largest on the other side."""
    values = np.arange(1.0, count + 1)[:, None]
    low, high = quantile_bounds(values, [share], draws=20_000, seed=1)
    found = interval_from_draws(low[:, 0, 0], high[:, 0, 0], TAILS)
    for end, tail in ((found.high, TAILS.high), (found.low, TAILS.low)):
        if math.isinf(end):
            assert (share**count if end > 0 else (1 - share) ** count) > 0.9 * tail
            continue
        # The chance that the end lies on the wrong side, and that the next rank inside would: the tail is between.
        rank = int(end)
        if end == found.high:
            wrong, nearer = binom.sf(rank - 1, count, share), binom.sf(rank - 2, count, share)
        else:
            wrong, nearer = binom.cdf(rank - 1, count, share), binom.cdf(rank, count, share)
        assert wrong <= 1.1 * tail, "up to the error of 20,000 draws"
        assert nearer >= 0.9 * tail, "as near as may be"


@pytest.mark.first_case
@pytest.mark.parametrize(("share", "count"), [(0.95, 72), (0.99, 368), (0.5, 6)])
def test_how_many_queries_an_upper_end_needs(share: float, count: int) -> None:
    assert least_queries(share, 0.025) == count
    for queries, is_open in ((count - 10, True), (count + 10, False)) if count > 10 else ((5, True), (7, False)):
        low, high = quantile_bounds(np.arange(float(queries))[:, None], [share], draws=20_000, seed=2)
        assert math.isinf(interval_from_draws(low[:, 0, 0], high[:, 0, 0], TAILS).high) == is_open


def test_where_the_baseline_is_constant_the_difference_has_the_candidates_interval() -> None:
    values = np.stack([np.full(120, 2.0), generator().permutation(np.arange(120.0))], axis=1)
    low, high = quantile_bounds(values, [0.95], draws=5_000, seed=1)
    alone = interval_from_draws(low[:, 1, 0], high[:, 1, 0], TAILS)
    both = interval_from_draws(low[:, 1, 0] - high[:, 0, 0], high[:, 1, 0] - low[:, 0, 0], TAILS)
    assert (both.low, both.high) == (alone.low - 2, alone.high - 2)


def test_draws_depend_on_the_seed_alone_and_the_first_are_the_same_of_more() -> None:
    values = generator().normal(size=(40, 2))
    first, again = (quantile_bounds(values, SHARES, draws=300, seed=1) for _ in range(2))
    longer, other = (
        quantile_bounds(values, SHARES, draws=600, seed=1),
        quantile_bounds(values, SHARES, draws=300, seed=2),
    )
    assert all(np.array_equal(one, two) for one, two in zip(first, again, strict=True))
    assert np.array_equal(longer[0][:300], first[0])
    assert not np.array_equal(other[0], first[0])
    alone = quantile_bounds(values[:, :1], SHARES, draws=300, seed=1)
    assert np.array_equal(alone[0][:, 0], first[0][:, 0]), "another system changes nothing"


def test_queries_of_a_cluster_are_one_unit() -> None:
    """Ten copies of every query tell no more than the queries do; equal weights nothing at all."""
    values = generator().normal(size=(30, 1))
    plain = quantile_bounds(values, [0.5], draws=1_000, seed=1)
    members = np.repeat(np.arange(30), 10)
    clustered = quantile_bounds(np.repeat(values, 10, axis=0), [0.5], draws=1_000, seed=1, sample=Sample(None, members))
    weighed = quantile_bounds(values, [0.5], draws=1_000, seed=1, sample=Sample(np.full(30, 7.0), None))
    for at in range(2):
        assert np.array_equal(plain[at], clustered[at])
        assert np.array_equal(plain[at], weighed[at])


def test_what_lies_beyond_weighs_as_the_queries_near_it() -> None:
    """Slow queries are heavy: a slower one, that is not in the sample, is heavy, too."""
    weights = np.linspace(1, 9, 60)
    low, high = quantile_bounds(np.arange(60.0)[:, None], [0.95], draws=20_000, seed=5, sample=Sample(weights, None))
    near = weights[np.cumsum(weights) >= 0.95 * weights.sum()].mean()
    gaps = generator().standard_exponential((20_000, 61))
    beyond = near * gaps[:, 60]
    expected = np.mean(beyond > 0.05 * (gaps[:, :60] @ weights + beyond))
    assert np.mean(np.isinf(high)) == pytest.approx(expected, abs=0.01)
    assert not np.isinf(low).any(), "light ones below leave hardly anything there"


def test_the_interval_of_a_mean_is_students() -> None:
    values = generator().normal(3, 2, 50)
    found = mean_interval(values, Tails(0.01, 0.025))
    assert found.low == pytest.approx(ttest_1samp(values, 0).confidence_interval(0.98).low)
    assert found.high == pytest.approx(ttest_1samp(values, 0).confidence_interval(0.95).high)
    assert mean_interval(values[:1], TAILS) == (-math.inf, math.inf)
    assert mean_interval(values, TAILS, Sample(None, np.zeros(50, dtype=np.intp))) == (-math.inf, math.inf)
