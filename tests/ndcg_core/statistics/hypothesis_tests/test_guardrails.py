"""Guardrails: what few queries and rare harm can show, in words; Gaffke's bound, and Student's t without a range."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ndcg_core.statistics.estimates.power import queries_to_hold
from ndcg_core.statistics.hypothesis_tests import guardrails as bounded
from ndcg_core.statistics.hypothesis_tests.guardrails import (
    bounded_p_value,
    lower_bound,
    not_worse_p_value,
    queries_to_rule_out,
)
from ndcg_core.statistics.verdicts.comparison import check_guardrails
from ndcg_core.statistics.verdicts.verdict import Verdict
from tests.examples import examples
from tests.ndcg_core.statistics.columns import around_mean, column, compare, guard

UNKNOWN = "the metric's range is not known: rare harm may go unseen"


@pytest.mark.parametrize(
    ("differences", "verdict", "notes"),
    [
        ([], "not testable (n = 0)", ()),
        ([0.0], "not testable (n = 1)", ()),
        ([0.0] * 100, "identical (100 queries; 299 needed to rule out a loss of 0.01)", ()),
        ([0.0] * 298, "identical (298 queries; 299 needed to rule out a loss of 0.01)", ()),
        ([0.0] * 299, "not worse than 0.01", ()),
        (
            [0.0] * 97 + [0.1, 0.1, -0.1],
            "worse by more than 0.01 not ruled out",
            ("only 3 of 100 queries differ: 299 without a difference rule out a loss of 0.01",),
        ),
        ([0.0] * 99 + [0.1], "worse by more than 0.01 not ruled out", ("only 1 of 100 queries differs: 299 ",)),
        (
            [0.1, -0.1] * 50,
            "worse by more than 0.01 not ruled out",
            ("100 queries: 299 without a difference rule out a loss of 0.01",),
        ),
        ([-0.2] * 40 + [0.2] * 40, "worse by more than 0.01 not ruled out", ("80 queries: 299 without a difference",)),
        ([-1.0] * 5, "worse by more than 0.01 not ruled out", ()),  # by the bound alone it is worse
        ([0.3] * 20, "not worse than 0.01", ()),  # gains on every query need fewer
        ([-0.005] * 30, "worse, and not shown to be within 0.01", ()),
        ([-0.3] * 30, "worse, and not shown to be within 0.01", ("shown to be worse than 0.01",)),
        ([-0.02] * 30, "worse, and not shown to be within 0.01", ()),  # of t, without any spread, p would be 1
        ([0.1, -0.1] * 500, "not worse than 0.01", ()),
        ([0.1, -0.12] * 500, "worse, and not shown to be within 0.01", ()),
    ],
)
def test_what_a_guardrail_says(differences: list[float], verdict: str, notes: tuple[str, ...]) -> None:
    found = guard(differences, 0.01)
    assert found.verdict == verdict
    assert found.notes[: len(notes)] == pytest.approx(notes) or found.notes[0].startswith(notes[0])
    assert (found.bound_method, found.needed) == (("gaffke", 299) if len(differences) > 1 else (None, None))
    own = [note for note in found.notes if "rule out" in note or "worse" in note]
    assert len(own) == len(notes)


def test_guardrails_are_not_adjusted_and_count_what_is_tested() -> None:
    alone = guard(around_mean(-0.01), 0.2)
    columns = [column(around_mean(-0.01), 0.2), column(around_mean(-0.2), 0.01, "bad"), column([0.1], 0.01, "short")]
    first, _, short = check_guardrails(columns)
    assert {(row.seed, row.resamples) for row in check_guardrails(columns, seed=7, resamples=500)} == {(7, 500)}
    assert first == dataclasses.replace(alone, family_size=2, reach=first.reach), "harm is looked for in all of them"
    assert (short.p_value, short.family_size) == (None, 2)


def test_weights_and_clusters_need_more() -> None:
    weights = [1.0 + index % 3 for index in range(300)]
    weighted = guard([0.0] * 300, 0.01, weights=weights)
    assert weighted.verdict == "identical (300 queries; 447 needed to rule out a loss of 0.01)"
    assert guard([0.0] * 450, 0.01, weights=[1.0 + index % 3 for index in range(450)]).conclusion.holds_margin
    clusters = [f"c{index // 2}" for index in range(500)]
    of_two = guard([0.0] * 500, 0.01, clusters=clusters)
    assert of_two.verdict == "identical (250 clusters; 299 needed to rule out a loss of 0.01)"
    few = guard([0.1] + [0.0] * 499, 0.01, clusters=clusters)
    assert few.notes[0] == "only 1 of 250 clusters differs: 299 without a difference rule out a loss of 0.01"


def test_what_a_query_can_lose_is_asked_for() -> None:
    with pytest.raises(ValueError, match=r"'q0001' == -1.5, must not be below -largest_loss == -1.0; math.inf says"):
        guard([0.1, -1.5], 0.01)
    assert guard([-1.5, 1.5] * 30, 0.1, largest_loss=3).needed == 89
    assert guard([0.0] * 100, 0.01, largest_loss=0.3).conclusion.holds_margin  # 89 suffice
    with pytest.raises(ValueError, match="largest_loss == 0, must be above 0"):
        guard([0.1, 0.2], 0.01, largest_loss=0)
    with pytest.raises(ValueError, match="candidate 'new', metric 'rr': a guardrail needs a smallest_effect"):
        check_guardrails([column([0.1, 0.2])])
    with pytest.raises(ValueError, match=r"alpha == 1, must lie"):
        guard(around_mean(0), 0.1, alpha=1)


# ---- Student's t, where a query may lose any amount


@pytest.mark.parametrize(
    ("mean", "margin", "verdict"),
    [
        (-0.01, 0.045, "not worse than 0.045"),  # lower one-sided 95 % bound: -.01 - .0342; two-sided: -.0512
        (-0.01, 0.044, "worse by more than 0.044 not ruled out"),
        (-0.10, 0.135, "not worse than 0.135"),  # though it has regressed
        (0.10, 0.001, "not worse than 0.001"),
    ],
)
def test_without_a_range_it_is_the_t_test(mean: float, margin: float, verdict: str) -> None:
    found = guard(around_mean(mean), margin, largest_loss=math.inf)
    assert found.verdict == verdict
    assert found.lower_bound == pytest.approx(mean - 0.03416, abs=1e-5)
    one_sided = stats.ttest_1samp(around_mean(mean), -margin, alternative="greater").pvalue
    assert found.p_value == found.p_adjusted == pytest.approx(one_sided)
    assert (found.procedure, found.bound_method) == ("one-sided t, every guardrail must hold", "t")
    assert (found.needed, found.notes[0]) == (None, UNKNOWN)


def test_a_t_test_at_another_alpha() -> None:
    margin = 0.01 + stats.t.ppf(0.99, 25) * 0.02
    for more, verdict in ((1e-6, Verdict.NOT_WORSE), (-1e-6, Verdict.MAY_BE_WORSE)):
        assert guard(around_mean(-0.01), margin + more, alpha=0.01, largest_loss=math.inf).conclusion is verdict


# ---- harm that is shown, and how many queries settle what is open


@pytest.mark.slow
def test_harm_is_adjusted_over_all_guardrails() -> None:
    rng = np.random.default_rng(8)
    lost = rng.normal(-0.04, 0.1, 60)
    alone = guard(lost, 0.02)
    assert alone.conclusion is Verdict.WORSE and alone.conclusion.is_harm
    assert alone.harm_p_adjusted is not None and alone.harm_p_adjusted < 0.02
    others = [column(rng.normal(0, 0.1, 60), 0.02, f"c{index}") for index in range(40)]
    among = check_guardrails([column(lost, 0.02), *others])
    assert among[0].harm_p_adjusted is not None and among[0].harm_p_adjusted > alone.harm_p_adjusted
    assert (among[0].p_value, among[0].lower_bound) == (alone.p_value, alone.lower_bound)
    gained = guard(-lost, 0.02)
    assert gained.harm_p_adjusted == alone.harm_p_adjusted and not gained.conclusion.is_harm
    assert guard([-0.3] * 5 + [0.0] * 20, 0.01).conclusion is Verdict.MAY_BE_WORSE  # five differing show nothing


@pytest.mark.parametrize("margin", [0.0, -0.1, math.nan, math.inf])
@pytest.mark.parametrize("largest_loss", [1.0, math.inf])
def test_a_margin_that_is_not_above_0_is_refused(margin: float, largest_loss: float) -> None:
    with pytest.raises(ValueError, match=f"smallest_effect == {margin}, must be above 0 and finite"):
        guard([0.1, 0.2, 0.3], margin, largest_loss=largest_loss)


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("values", "margin"),
    [
        (np.random.default_rng(1).normal(0, 0.1, 50), 0.02),
        (np.random.default_rng(2).normal(0.01, 0.2, 50), 0.05),
        (np.random.default_rng(3).choice([-0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5], 70), 0.04),
        (np.where(np.arange(80) % 20, 0.6 / 19, -0.6), 0.03),
    ],
)
def test_the_number_of_queries_holds_four_times_out_of_five(values: np.ndarray, margin: float) -> None:
    """By the rule that decides, on samples of that many; 15 % fewer or more make about .08 of a difference."""
    values = np.clip(values, -1, 1)
    count = guard(values, margin).queries_needed
    assert count == queries_to_hold(values, margin, 1.0)
    assert count is not None
    rng = np.random.default_rng(5)
    held = np.mean([not_worse_p_value(rng.choice(values, count), margin, 1.0) < 0.05 for _ in range(300)])
    assert 0.72 <= held <= 0.89


def test_no_number_of_queries_shows_what_is_not_so() -> None:
    lost = np.array([-0.05, 0.02, -0.08, 0.01, 0.0] * 3)
    assert queries_to_hold(lost, 0.02, 1.0) is None
    found = guard(lost, 0.01)  # measured beyond its margin: the number shows the harm
    assert (found.conclusion, found.queries_needed) == (Verdict.MAY_BE_WORSE, 34)
    assert guard([0.0] * 40, 0.05).queries_needed is None, "an identical pair says what it needs"
    assert guard([-1.0, -0.9] * 2, 0.05).queries_needed == 6, "fewer cannot be tested"
    assert guard([-0.8, -0.6, -0.6, -0.5, -0.3, 0.1], 0.05).queries_needed is None, "there are as many as t needs"
    mixed = [-0.1, 0.1] * 15
    plain, weighted = guard(mixed, 0.05), guard(mixed, 0.05, weights=[1.0] * 15 + [3.0] * 15)
    assert plain.queries_needed is not None and weighted.queries_needed is not None
    assert weighted.queries_needed > 1.1 * plain.queries_needed, "unequal weights leave fewer"


@pytest.mark.parametrize("heaviest", [3.0, 20.0])
def test_so_many_queries_of_unequal_weight_as_are_said_hold_with_a_chance_of_80_percent(heaviest: float) -> None:
    rng = np.random.default_rng(6)
    values, weights = rng.normal(0, 0.2, 40).clip(-1, 1), np.where(np.arange(40) % 10 == 0, heaviest, 1.0)
    values -= np.average(values, weights=weights)
    count = guard(values, 0.05, weights=weights).queries_needed
    assert count is not None

    def holds() -> bool:
        chosen = rng.choice(40, count)
        shares = weights[chosen] / weights[chosen].mean()
        return not_worse_p_value(values[chosen], 0.05, 1.0, shares) < 0.05

    assert 0.72 <= np.mean([holds() for _ in range(300)]) <= 0.89


def test_a_difference_that_is_shown_has_a_p_that_allows_for_rare_losses() -> None:
    found = compare([0.3] * 30, largest_loss=1.0)
    assert (found.conclusion, found.largest_loss) == (Verdict.IMPROVED, 1.0)
    assert found.bounded_p_value == pytest.approx(2 * 1.3**-30)
    assert compare([-0.3] * 30, largest_loss=1.0).bounded_p_value == found.bounded_p_value
    assert compare([0.3, -0.3] * 15, largest_loss=1.0).bounded_p_value is None, "nothing is shown"
    unknown = compare([0.3] * 30)
    assert (unknown.bounded_p_value, unknown.largest_loss) == (None, None), "nobody knows what a query can lose"
    assert compare([0.3] * 30, largest_loss=0.2).bounded_p_value is None, "more than a query can lose"


# ---- Gaffke's bound: against Clopper and Pearson's, closed forms and draws; its order, its weights, the worst null


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
