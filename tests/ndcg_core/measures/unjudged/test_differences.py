"""Chances of grades by rank band, counted by hand; expected differences and bounds against every completion."""

from random import Random

import numpy as np
import pytest

from ndcg_core.measures.metric import Metric
from ndcg_core.measures.notation import parse
from ndcg_core.measures.registry import MEASURES, Divisor, Measure, cumulated
from ndcg_core.measures.score import Result
from ndcg_core.measures.unjudged import differences
from ndcg_core.measures.unjudged.contributions import JudgedCounts, RankedResults, lacks_expected_value
from ndcg_core.measures.unjudged.differences import (
    GradeChances,
    SystemPair,
    difference_bounds,
    estimate_chances,
    expect_gain,
    find_grade_effects,
    has_bounds,
    rank_band,
)
from tests.ndcg_core.measures.unjudged.small_pairs import DOCS, GRADES, METRICS, Pair, draw_pair, judged_of


def results_of(rank: list[int], grade: list[float]) -> RankedResults:
    ranks = np.array(rank)
    return RankedResults(
        np.zeros(len(rank), int), np.arange(len(rank)), ranks, ranks, np.ones(len(rank), int), np.array(grade)
    )


JUDGED = JudgedCounts(np.array([0, 0]), np.array([0.0, 2.0]), np.array([1, 1]), 1, (0.0, 2.0))


def test_bands_end_where_the_design_says() -> None:
    ranks = np.array([1, 2, 3, 5, 6, 10, 11, 20, 21, 50, 51, 900])
    assert rank_band(ranks).tolist() == np.repeat(range(6), 2).tolist()


def test_each_band_counts_the_whole_as_two_results_more() -> None:
    """Ranks 1, 2: grades 2, 2; rank 3: grade 0. Over all: 1/3 and 2/3. First band: (0 + 2/3) / 4, (2 + 4/3) / 4."""
    found = estimate_chances(parse("ndcg@10"), JUDGED, results_of([1, 2, 3, 4], [2.0, 2.0, 0.0, np.nan]))
    assert found.chances[0] == pytest.approx([1 / 6, 5 / 6])
    assert found.chances[1] == pytest.approx([(1 + 2 / 3) / 3, (4 / 3) / 3])
    assert found.chances[5] == pytest.approx([1 / 3, 2 / 3])


def test_without_a_judged_result_the_judgments_say_it() -> None:
    assert estimate_chances(parse("ndcg@10"), JUDGED, results_of([1], [np.nan])).chances[0] == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize(("factor", "gain", "relevant"), [(1, 0.8, 0.5), (1.5, 1.2, 0.75), (5, 1.6, 1.0), (0, 0, 0)])
def test_a_factor_multiplies_the_chances_of_gains_up_to_one(factor: float, gain: float, relevant: float) -> None:
    """Grades 1 and 2 with .2 and .3: mean .8. At the cap the two keep their proportion."""
    chances = GradeChances(np.array([0.0, 1.0, 2.0]), np.array([[0.5, 0.2, 0.3]]))
    found = expect_gain(parse("dcg@10"), chances, factor)
    assert (found.mean[0], found.relevant[0]) == pytest.approx((gain, relevant))
    scale = relevant / 0.5
    assert found.variance[0] == pytest.approx(scale * (0.2 + 1.2) - gain**2)


def test_before_any_grade_gains_the_least_that_may_is_possible() -> None:
    """All grades are 0: grade 1 counts as one of three results over all bands."""
    zeros = JudgedCounts(np.array([0]), np.array([0.0]), np.array([2]), 1, (0.0,))
    found = estimate_chances(parse("ndcg@10"), zeros, results_of([1, 2, 3], [0.0, 0.0, np.nan]))
    assert found.grades.tolist() == [0.0, 1.0]
    assert found.chances[5] == pytest.approx([2 / 3, 1 / 3])
    assert (
        estimate_chances(parse("ndcg(relevant_from=2, gain=binary)@10"), zeros, results_of([1], [0.0])).grades[-1] == 2
    )


CHANCES = np.array([0.4, 0.3, 0.2, 0.1])


class Certain(SystemPair):
    """A pair whose chances are the same in every band."""

    chances = GradeChances(np.array(GRADES), np.tile(CHANCES, (6, 1)))  # type: ignore[assignment]


def certain(pair: Pair, name: str) -> Certain:
    shown = pair.shown(parse(name))
    return Certain(shown.metric, shown.judged, shown.candidate, shown.baseline)


def test_an_unjudged_document_is_in_the_band_of_its_better_rank() -> None:
    """d0 is at ranks 1 and 6, d6 at 3 of the candidate alone, d2 … d5 at 2 … 5 of the baseline alone."""
    orders = ("d0", "d1", "d6"), ("d1", "d2", "d3", "d4", "d5", "d0")
    candidate, baseline = ([Result(doc, -float(rank)) for rank, doc in enumerate(order)] for order in orders)
    found = Pair({"d1": 1.0}, (candidate, baseline)).shown(parse("dcg")).unjudged
    assert found.doc.tolist() == [0, 2, 3, 4, 5, 6]
    assert found.band.tolist() == rank_band(np.array([1, 2, 3, 4, 5, 3])).tolist()


@pytest.mark.first_case
@pytest.mark.parametrize("name", [each for each in METRICS if parse(each).traits.divisor is not Divisor.IDEAL])
def test_expectation_and_variance_are_those_over_all_completions(name: str) -> None:
    """Exact for measures whose divisor no grade changes."""
    random = Random(4)
    for pair in (draw_pair(random) for _ in range(15)):
        first = second = 0.0
        for grades, difference in pair.completions(parse(name)):
            chance = float(np.prod([CHANCES[GRADES.index(grade)] for grade in grades]))
            first, second = first + chance * difference, second + chance * difference**2
        differences, variances = certain(pair, name).expected_differences(1.0, 1.0)
        assert differences[0] == pytest.approx(first, abs=1e-12)
        if parse(name).traits.is_additive:
            assert variances[0] == pytest.approx(second - first**2, abs=1e-12)


@pytest.mark.parametrize("name", METRICS)
def test_exchanging_the_systems_reverses_the_sign(name: str) -> None:
    random = Random(5)
    for pair in (draw_pair(random) for _ in range(20)):
        found = certain(pair, name).expected_differences(0.5, 2.0)
        other = certain(Pair(pair.judgments, pair.rankings[::-1]), name).expected_differences(2.0, 0.5)
        assert found[0] == pytest.approx(-other[0], abs=1e-12)
        assert found[1] == pytest.approx(other[1], abs=1e-12)


def test_a_measure_that_divides_by_something_else_has_no_expected_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """An F-measure, added by CONTRIBUTING's recipe: its divisor must be said, and OTHER is refused."""
    f_measure = Measure("f1", cumulated, Divisor.OTHER, is_additive=True, is_bounded=True)
    monkeypatch.setitem(MEASURES, "f1", f_measure)
    assert lacks_expected_value(Metric("f1", 3))
    with pytest.raises(TypeError, match="divisor"):
        Measure("f1", cumulated)  # type: ignore[call-arg]


@pytest.mark.parametrize("name", METRICS)
def test_differences_with_one_more_grade_are_those_of_the_core(name: str) -> None:
    random, metric = Random(8), parse(name)
    for pair in (draw_pair(random) for _ in range(12)):
        shown = pair.shown(metric)
        docs = shown.unjudged.doc.tolist()
        assert len({*docs}) == len(docs)
        for doc, effects in zip(docs, find_grade_effects(shown)[1].tolist(), strict=True):
            expected = [pair.difference(metric, {DOCS[doc]: grade}) for grade in GRADES]
            assert effects == pytest.approx(expected, abs=1e-12)


def test_of_many_grades_some_stand_for_their_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(differences, "MOST_GRADES", 2)
    chances, effects = find_grade_effects(draw_pair(Random(2)).shown(parse("ndcg@3")))
    assert effects.shape[1] == 2
    assert chances.sum(axis=1) == pytest.approx(np.ones(len(chances)))


BOUNDED = [name for name in METRICS if has_bounds(parse(name), judged_of([{"d0": grade} for grade in GRADES]))]


def test_which_metrics_have_bounds() -> None:
    assert [name for name in METRICS if name not in BOUNDED] == [
        "ndcg(ideal=local)@3",
        "ndcg(ideal_cut=returned)@3",
        "precision",
        "ap",
        "ap@3",
        "err(max_grade=3)@4",
        "rprec",
        "bpref",
        "infap",
    ]


@pytest.mark.first_case
@pytest.mark.parametrize("name", BOUNDED)
def test_bounds_are_the_extremes_of_all_completions(name: str) -> None:
    random, metric = Random(7), parse(name)
    for pair in (draw_pair(random) for _ in range(25)):
        every = [difference for _, difference in pair.completions(metric)]
        low, high = difference_bounds(pair.shown(metric), np.array([pair.difference(metric)]))
        assert (low[0], high[0]) == pytest.approx((min(every), max(every)), abs=1e-12)


def test_a_measure_with_another_divisor_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MEASURES, "f1", Measure("f1", cumulated, Divisor.OTHER, is_additive=True, is_bounded=True))
    pair = draw_pair(Random(1)).shown(Metric("f1", 3))
    assert not has_bounds(pair.metric, pair.judged)


def test_many_grades_have_none() -> None:
    """A pass over the levels costs documents times levels: click rates have one for each document."""
    judged = judged_of([{"d0": 1.0}])._replace(grades=tuple(number / 100 for number in range(100)))
    assert not has_bounds(parse("ndcg@10"), judged)
    assert has_bounds(parse("rr@10"), judged)
