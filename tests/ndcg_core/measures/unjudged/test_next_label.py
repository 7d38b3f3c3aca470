"""What the grade of one more document does, against scoring the judgments with that grade in them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ndcg_core.measures.notation import parse
from ndcg_core.measures.unjudged.next_label import possible_differences, root_mean_square
from ndcg_core.measures.unjudged.places import Judged, Places, no_places
from tests.examples import examples
from tests.ndcg_core.measures.unjudged.test_bounds import (
    JUDGED_APART,
    METRICS,
    Query,
    difference,
    places,
    small_queries,
)


@given(st.sampled_from((*METRICS, *JUDGED_APART)), small_queries())
@settings(max_examples=examples(150), deadline=None)
def test_every_grade_moves_the_difference_as_scoring_with_it_does(
    name: str, case: tuple[Query, tuple[float, ...]]
) -> None:
    metric = parse(name)
    query, grades = case
    judgments = query[0]
    counts = np.array([[sum(each == grade for each in judgments.values()) for grade in grades]])
    before = np.array([difference(metric, query, judgments, max(grades))])
    candidate, baseline = (places(metric, [query[side]], [judgments]) for side in (1, 2))
    levels = sorted({0.0, *grades})
    moved = possible_differences(metric, before, candidate, baseline, Judged(grades, counts), levels)
    for doc, line in zip(moved.doc.tolist(), moved.differences.tolist(), strict=True):
        wanted = [difference(metric, query, judgments | {f"d{doc}": grade}, max(grades)) for grade in levels]
        assert line == pytest.approx(wanted, abs=1e-12)


def test_a_query_counts_with_its_first_relevant_document() -> None:
    metric = parse("ndcg@3")
    judged = Judged((0.0, 1.0), np.array([[1, 0], [1, 1]]))
    rows = [np.array(values) for values in ((0, 1), (7, 7), (1, 2), (1, 2), (1, 1))]
    shown = Places(*rows, np.full(2, np.nan))
    moved = possible_differences(metric, np.zeros(2), shown, no_places(), judged, (0.0, 1.0))
    assert moved.counts.tolist() == [[False, True], [True, True]]
    assert moved.differences[:, 1].tolist() == pytest.approx([1.0, 1 / np.log2(3) / (1 + 1 / np.log2(3))])


def test_what_is_uncertain_and_counts_is_worth_most() -> None:
    changes = np.array([[0.0, 0.2], [0.0, 0.2], [0.0, -0.1]])
    chances = np.array([[0.5, 0.5], [0.9, 0.1], [0.0, 1.0]])
    assert root_mean_square(changes, chances) == pytest.approx([0.02**0.5, 0.004**0.5, 0.1])


def test_a_metric_without_bounds_is_refused() -> None:
    with pytest.raises(ValueError, match="metric judged@10: no effect of a grade"):
        empty = np.zeros(0)
        possible_differences(
            parse("judged@10"), empty, None, None, Judged((1.0,), np.zeros((0, 1), dtype=np.int64)), (0.0,)
        )  # type: ignore[arg-type]
