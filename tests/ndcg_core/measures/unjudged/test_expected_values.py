"""Expected differences against every completion, weighted by its chance."""

from random import Random

import numpy as np
import pytest

from ndcg_core.measures.metric import Metric
from ndcg_core.measures.notation import parse
from ndcg_core.measures.registry import MEASURES, Divisor, Measure, cumulated
from ndcg_core.measures.score import Result
from ndcg_core.measures.unjudged import expected_values
from ndcg_core.measures.unjudged.contributions import lacks_expected_value
from ndcg_core.measures.unjudged.expected_values import SystemPair, find_grade_effects
from ndcg_core.measures.unjudged.grade_chances import GradeChances, rank_band
from tests.ndcg_core.measures.unjudged.small_pairs import DOCS, GRADES, METRICS, Pair, draw_pair

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
        for doc, differences in zip(docs, find_grade_effects(shown)[1].tolist(), strict=True):
            expected = [pair.difference(metric, {DOCS[doc]: grade}) for grade in GRADES]
            assert differences == pytest.approx(expected, abs=1e-12)


def test_of_many_grades_some_stand_for_their_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expected_values, "MOST_GRADES", 2)
    chances, differences = find_grade_effects(draw_pair(Random(2)).shown(parse("ndcg@3")))
    assert differences.shape[1] == 2
    assert chances.sum(axis=1) == pytest.approx(np.ones(len(chances)))
