"""Guardrails: what few queries and rare harm can show, the words for it, and Student's t where no range is known."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

from ndcg_core.statistics.estimates.power import queries_to_hold
from ndcg_core.statistics.hypothesis_tests.guardrails import not_worse_p_value
from ndcg_core.statistics.verdicts.comparison import check_guardrails
from ndcg_core.statistics.verdicts.verdict import Verdict
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
