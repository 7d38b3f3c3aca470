"""Which change moved a mean: values by hand, the six orders, and that the parts add up."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ndcg_core.statistics.over_time.attribution import CAUSES, Split, split_change

NONE = np.nan


def scores(*rows: tuple[float, float, float, float]) -> NDArray[np.float64]:
    """A row per query: old ranking by old and new judgments, new ranking by old and new judgments."""
    return np.array(rows).T.reshape(2, 2, len(rows))


def parts(values: NDArray[np.float64], old: list[float], new: list[float]) -> Split:
    found = split_change(values, np.array([old, new]))
    assert found is not None
    return found


def test_by_hand() -> None:
    """One query, by hand: 0.2 becomes 0.9; the ranking alone gives 0.5, the judgments alone 0.4."""
    found = parts(scores((0.2, 0.4, 0.5, 0.9)), [1], [1])
    assert (found.before, found.now) == (0.2, 0.9)
    assert found.parts == pytest.approx(((0.3 + 0.5) / 2, (0.2 + 0.4) / 2, 0.0), abs=1e-15)


@pytest.mark.parametrize(
    ("rows", "old", "new", "expected"),
    [
        ([(0.2, 0.2, 0.6, 0.6), (0.4, 0.4, 0.4, 0.4)], [1, 1], [1, 1], (0.2, 0, 0)),
        ([(0.2, 0.6, 0.2, 0.6), (0.4, 0.4, 0.4, 0.4)], [1, 1], [1, 1], (0, 0.2, 0)),
        ([(0.2, 0.2, 0.2, 0.2), (NONE, NONE, NONE, 0.8)], [1, 0], [1, 1], (0, 0, 0.3)),
        ([(0.2, 0.2, 0.2, 0.2), (0.8, NONE, NONE, NONE)], [1, 1], [1, 0], (0, 0, -0.3)),
        ([(0.2, 0.2, 0.2, 0.2), (0.8, 0.8, 0.8, 0.8)], [1, 1], [1, 3], (0, 0, 0.15)),
        ([(0.2, 0.2, 0.2, 0.2), (0.8, NONE, 0.8, NONE)], [1, 1], [1, 1], (0, -0.3, 0)),
        ([(0.2, 0.2, 0.2, 0.2), (0.8, 0.8, NONE, NONE)], [1, 1], [1, 1], (-0.3, 0, 0)),
        ([(0.2, 0.2, 0.2, 0.2)], [1], [1], (0, 0, 0)),
    ],
    ids=["ranking", "judgments", "new query", "gone query", "weight", "not scored by judgments", "left out", "nothing"],
)
def test_one_change_alone_is_the_whole(
    rows: list[tuple[float, float, float, float]], old: list[float], new: list[float], expected: tuple[float, ...]
) -> None:
    found = parts(scores(*rows), old, new)
    assert found.parts == pytest.approx(expected, abs=1e-15)


def test_a_query_with_a_low_value_lowers_the_mean_that_it_comes_to() -> None:
    found = parts(scores((0.8, 0.8, 0.8, 0.8), (NONE, NONE, NONE, 0.2)), [1, 0], [1, 1])
    assert found.parts[2] == pytest.approx(-0.3)
    assert found.of_queries[2] == pytest.approx((0.0, -0.3), abs=1e-15)


def test_only_queries_that_came_or_went_stand_behind_the_set() -> None:
    """The others count for more or less than before, but alike."""
    values = scores(*[(value, value, value, value) for value in (0.1, 0.5, 0.9)], (0.3, NONE, NONE, NONE))
    found = parts(values, [1, 2, 1, 1], [2, 4, 2, 0])
    assert found.of_queries[2] == pytest.approx((0, 0, 0, 0.2 / 5), abs=1e-15)
    reweighed = parts(values, [1, 1, 1, 1], [1, 1, 3, 1])
    assert reweighed.of_queries[2, 2] == max(abs(reweighed.of_queries[2])) > 0


def test_no_query_is_left_in_a_mean() -> None:
    assert split_change(scores((0.5, NONE, 0.5, NONE), (NONE, NONE, NONE, 0.5)), np.array([[1, 0], [1, 1]])) is None


def mean(values: NDArray[np.float64], weights: NDArray[np.float64], state: dict[str, int]) -> float:
    """The definition in one loop, query by query."""
    total = weighed = 0.0
    side = state["queries"]
    for query in range(values.shape[2]):
        if not weights[side, query]:
            continue
        shared = weights[0, query] > 0 and weights[1, query] > 0
        value = values[state["ranking"], state["judgments"], query] if shared else values[side, side, query]
        if not np.isnan(value):
            total += weights[side, query] * value
            weighed += weights[side, query]
    return total / weighed


VALUE = st.one_of(st.floats(0, 1), st.floats(0, 1), st.just(NONE))
QUERY = st.tuples(*[VALUE] * 4, *[st.one_of(st.just(0.0), st.floats(1e-3, 1e3))] * 2)


@given(st.lists(QUERY, min_size=1, max_size=12), st.floats(0, 1))
def test_the_parts_are_those_of_the_six_orders_and_add_up(rows: list[tuple[float, ...]], always: float) -> None:
    drawn = np.array([*rows, (always, 1 - always, always / 2, 1.0, 1.0, 2.0)])
    values, weights = drawn[:, :4].T.reshape(2, 2, -1), drawn[:, 4:].T
    found = parts(values, weights[0].tolist(), weights[1].tolist())
    moved = dict.fromkeys(CAUSES, 0.0)
    for order in permutations(CAUSES):
        state = dict.fromkeys(CAUSES, 0)
        for cause in order:
            earlier = mean(values, weights, state)
            state[cause] = 1
            moved[cause] += (mean(values, weights, state) - earlier) / 6
    assert found.parts == pytest.approx(tuple(moved.values()), abs=1e-12)
    assert sum(found.parts) == pytest.approx(found.now - found.before, abs=1e-12)
    assert found.of_queries.sum(axis=1) == pytest.approx(found.parts, abs=1e-12)
