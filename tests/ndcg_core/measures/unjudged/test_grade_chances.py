"""Chances of grades by rank band, counted by hand."""

import numpy as np
import pytest

from ndcg_core.measures.notation import parse
from ndcg_core.measures.unjudged.contributions import JudgedCounts, RankedResults
from ndcg_core.measures.unjudged.grade_chances import GradeChances, estimate_chances, expect_gain, rank_band


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
