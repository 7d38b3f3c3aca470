"""The position-based model: the greatest likelihood, on counts by chance and where steps of expectation maximisation
creep, or are caught."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ndcg_core.statistics.estimates.click_positions import ClickCounts, FloatArray, fit_counts


@st.composite
def click_counts(draw: st.DrawFn) -> ClickCounts:
    rows = draw(st.dictionaries(st.tuples(st.integers(0, 4), st.integers(0, 4)), st.integers(1, 30), min_size=1))
    document, rank = (np.unique(column, return_inverse=True)[1] for column in zip(*rows, strict=True))
    impressions = np.array([*rows.values()], dtype=np.float64)
    clicks = [draw(st.one_of(st.just(0), st.integers(0, int(most)))) for most in impressions]
    return ClickCounts(document, rank, impressions, np.array(clicks, dtype=np.float64))


def log_likelihood(counts: ClickCounts, attraction: FloatArray, examination: FloatArray) -> float:
    """The log likelihood."""
    chance = attraction[counts.document] * examination[counts.rank]
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = (counts.clicks, np.log(chance)), (counts.impressions - counts.clicks, np.log(1 - chance))
        return float(sum(np.where(weight > 0, weight * logs, 0.0).sum() for weight, logs in parts))


def step(counts: ClickCounts, attraction: FloatArray, examination: FloatArray) -> tuple[FloatArray, FloatArray]:
    """One of expectation maximisation."""
    a, e = attraction[counts.document], examination[counts.rank]
    silent = (counts.impressions - counts.clicks) / np.where(a * e < 1, 1 - a * e, 1.0)
    pairs = (
        (counts.document, counts.clicks + silent * a * (1 - e)),
        (counts.rank, counts.clicks + silent * e * (1 - a)),
    )
    first, second = (np.bincount(number, likely) / np.bincount(number, counts.impressions) for number, likely in pairs)
    return first, second


@given(counts=click_counts())
def test_no_step_and_no_expectation_maximisation_finds_a_greater_likelihood(counts: ClickCounts) -> None:
    found = fit_counts(counts)
    for after, before in zip(step(counts, *found), found, strict=True):
        assert np.abs(after - before).max() < 1e-6
    attraction, examination = (np.full(len(each), 0.5) for each in found)
    for _ in range(200):
        attraction, examination = step(counts, attraction, examination)
    assert log_likelihood(counts, *found) >= log_likelihood(counts, attraction, examination) - 1e-9
    assert found[1].max() in (0, 1)


@pytest.mark.parametrize(
    ("rows", "attraction", "examination"),
    [
        # Every examination of 1 would be kept by expectation maximisation as well, and is far from the best.
        ([(0, 0, 15, 0), (0, 1, 4, 3), (0, 2, 25, 1), (0, 3, 25, 0)], [0.75], [0, 1, 0.04 / 0.75, 0]),
        ([(0, 0, 22, 9), (1, 0, 25, 24)], [9 / 22, 24 / 25], [1.0]),
        ([(0, 0, 10, 10), (0, 1, 10, 5)], [1.0], [1.0, 0.5]),
    ],
)
def test_by_hand(rows: list[tuple[int, ...]], attraction: list[float], examination: list[float]) -> None:
    document, rank, impressions, clicks = np.array(rows).T
    found = fit_counts(ClickCounts(document, rank, impressions.astype(np.float64), clicks.astype(np.float64)))
    assert found[0] == pytest.approx(attraction, abs=1e-6)
    assert found[1] == pytest.approx(examination, abs=1e-6)


def test_without_rows_or_clicks_there_is_nothing_to_look_for() -> None:
    none, some = np.zeros(0), np.zeros(1, dtype=np.int64)
    assert not fit_counts(ClickCounts(none.astype(np.int64), none.astype(np.int64), none, none))[0].any()
    assert fit_counts(ClickCounts(some, some, np.ones(1), np.zeros(1))) == (np.zeros(1), np.zeros(1))
