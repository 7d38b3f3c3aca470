"""Gaffke's bound: against Clopper and Pearson's, closed forms and draws; its order, its weights, the worst null."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ndcg_core.statistics.hypothesis_tests import guardrails as bounded
from ndcg_core.statistics.hypothesis_tests.guardrails import (
    bounded_p_value,
    lower_bound,
    not_worse_p_value,
    queries_to_rule_out,
)
from tests.examples import examples


@pytest.mark.parametrize("n", [1, 2, 7, 50, 400, 5000])
def test_two_values_give_clopper_and_pearson(n: int) -> None:
    for lost, margin in itertools.product({0, 1, n // 10, n // 2, n}, (0.001, 0.02, 0.3, 0.9)):
        values = np.zeros(n)
        values[:lost] = -1
        expected = float(stats.binom.cdf(lost, n, margin))
        assert not_worse_p_value(values, margin, 1.0) == pytest.approx(expected, rel=1e-8, abs=1e-11)


def test_one_query_by_hand() -> None:
    """P(E (.3 + .5) <= E' (1 - .5)) = .5 / (.5 + .8)."""
    assert not_worse_p_value(np.array([0.3]), 0.5, 1.0) == pytest.approx(0.5 / 1.3, rel=1e-12)
    assert not_worse_p_value(np.array([-1.0, -1.0]), 0.5, 1.0) == 1
    assert not_worse_p_value(np.array([0.2, 0.1]), 1.0, 1.0) == 0  # a mean of -1 is none of these


@pytest.mark.first_case
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [3, 40])
def test_it_is_the_chance_that_draws_have(n: int, weighted: bool) -> None:
    rng = np.random.default_rng(n)
    values = np.clip(rng.normal(0.02, 0.2, n), -1, 1)
    shares = rng.lognormal(size=n) if weighted else np.ones(n)
    shares /= shares.mean()
    weights = rng.exponential(size=(200_000, n + 1)) * np.append(shares, shares.max())
    means = weights @ np.append(values, -1.0) / weights.sum(axis=1)
    given_shares = shares if weighted else None
    for margin in (0.01, 0.1, 0.4):
        expected = float(np.mean(means <= -margin))
        assert not_worse_p_value(values, margin, 1.0, given_shares) == pytest.approx(expected, abs=0.005)
    assert lower_bound(values, 0.05, 1.0, given_shares) == pytest.approx(float(np.quantile(means, 0.05)), abs=0.01)


@pytest.mark.slow
@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.sampled_from([-1.0, -0.5, -0.01, 0.0, 0.0, 0.1, 0.37, 1.0]), min_size=1, max_size=40),
    st.sampled_from([0.001, 0.05, 0.3]),
)
def test_p_is_below_alpha_exactly_where_the_bound_is_above_the_margin(values: list[float], alpha: float) -> None:
    given_values = np.array(values)
    low = lower_bound(given_values, alpha, 1.0)
    assert -1 <= low < max(max(values), -1 + 1e-12)
    if low > -1:
        assert not_worse_p_value(given_values, -low, 1.0) == pytest.approx(alpha, rel=1e-6)
    margins = np.linspace(0.005, 0.995, 25)
    chances = [not_worse_p_value(given_values, margin, 1.0) for margin in margins]
    assert all(later <= earlier + 1e-12 for earlier, later in itertools.pairwise(chances))
    for margin, chance in zip(margins, chances, strict=True):
        if abs(low + margin) > 1e-6:
            assert (chance < alpha) == (low > -margin)


def test_the_order_does_not_matter_and_many_values_are_shared_out(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(3).normal(0, 0.2, 3000).clip(-1, 1)
    found = not_worse_p_value(values, 0.01, 1.0)
    assert not_worse_p_value(values[::-1], 0.01, 1.0) == found
    monkeypatch.setattr(bounded, "_MOST", 10_000)
    assert not_worse_p_value(values, 0.01, 1.0) == pytest.approx(found, rel=1e-3)


@pytest.mark.parametrize(
    ("margin", "alpha", "worst", "queries"),
    [(0.01, 0.05, 1.0, 299), (0.02, 0.05, 1.0, 149), (0.01, 0.01, 1.0, 459), (0.01, 0.05, 0.3, 89), (1, 0.05, 1, 1)],
)
def test_how_many_queries_rule_out_a_loss(margin: float, alpha: float, worst: float, queries: int) -> None:
    assert queries_to_rule_out(margin, alpha, worst) == queries
    if queries > 1:
        for n in (queries - 1, queries):
            assert (not_worse_p_value(np.zeros(n), margin, worst) < alpha) == (n >= queries)


@pytest.mark.parametrize(("n", "value", "loss"), [(10, 1.0, 1.0), (50, 0.3, 1.0), (200, 0.2, 1.0), (200, 3.0, 10.0)])
def test_a_two_sided_p_stays_exact_far_out_in_the_tail(n: int, value: float, loss: float) -> None:
    """P(value * (E_1 + … + E_n) <= loss * E_0) = (1 + value / loss)^-n, and twice that."""
    expected = 2 * (1 + value / loss) ** -n
    for sign in (1, -1):
        assert bounded_p_value(np.full(n, sign * value), loss) == pytest.approx(expected, rel=1e-9)
    assert bounded_p_value(np.full(n, value), loss, np.ones(n)) == pytest.approx(expected, rel=1e-9)


def test_a_two_sided_p_of_nothing_is_1() -> None:
    assert bounded_p_value(np.zeros(20), 1.0) == 1.0
    assert bounded_p_value(np.array([0.3, -0.3, 0.2, -0.2]), 1.0) == 1.0
