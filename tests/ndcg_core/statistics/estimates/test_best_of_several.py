"""The best of several candidates: what allows for the choice, against the definition, and by simulation."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import integrate, stats

from ndcg_core.statistics.estimates import best_of_several as winner
from ndcg_core.statistics.estimates.best_of_several import Room, best_mean_bounds, select_best, truncated_share
from ndcg_core.statistics.estimates.mean_difference import interval_from_moments
from ndcg_core.statistics.paired import moments_of, sort_by_query
from ndcg_core.statistics.verdicts.comparison import Column, Comparison, compare_family
from ndcg_core.statistics.verdicts.record import Selection
from ndcg_core.statistics.verdicts.verdict import Verdict
from tests.ndcg_core.statistics.columns import around, column
from tests.repeated import mostly_soaked


def candidates(seed: int, queries: int, means: list[float], correlation: float = 0.5) -> list[Column]:
    rng = np.random.default_rng(seed)
    own = rng.normal(size=(queries, len(means))) * math.sqrt(1 - correlation)
    values = own + math.sqrt(correlation) * rng.normal(size=(queries, 1)) + means
    return [column(each, candidate=f"c{number}") for number, each in enumerate(values.T)]


def selected(columns: list[Column], alpha: float = 0.05) -> dict[int, Selection]:
    paired = sort_by_query(columns)
    return select_best(paired, [moments for pairs in paired if (moments := moments_of(pairs))], alpha)


def best(columns: list[Column]) -> Comparison:
    (found,) = [row for row in compare_family(columns, resamples=200) if row.selection]
    return found


def test_a_winner_far_ahead_has_its_usual_interval() -> None:
    columns = candidates(1, 60, [5.0, 0.0, 0.0])
    (found,) = selected(columns).values()
    usual = interval_from_moments(moments_of(sort_by_query(columns)[0]))
    assert found.among == 3
    assert found.estimate == pytest.approx(usual.low / 2 + usual.high / 2, abs=1e-6)
    assert (found.low, found.high) == pytest.approx(usual, rel=0.01)
    assert found.low <= usual.low < usual.high <= found.high


def test_a_winner_among_equals_is_taken_down() -> None:
    columns = candidates(2, 60, [0.0] * 8)
    row = best(columns)
    assert row.selection.estimate < row.difference
    assert row.selection.low < row.low
    assert row.selection.low <= row.selection.estimate <= row.selection.high
    assert not any("best of" in note for note in row.notes), "a note where nothing is shown would promise something"


def test_a_winner_that_is_shown_has_its_interval_as_a_note() -> None:
    row = best(candidates(2, 60, [1.0] + [0.0] * 7))
    assert row.conclusion is Verdict.IMPROVED
    assert f"as the best of 8 candidates {row.selection.low:+.4f} to {row.selection.high:+.4f}" in row.notes


def test_the_share_is_that_of_the_truncated_distribution() -> None:
    of = moments_of(sort_by_query([column(around(0.03))])[0])
    for mean, room in ((0.02, Room(0.01, 0.05)), (-0.02, Room(0.02, math.inf)), (0.1, Room(-math.inf, 0.04))):
        density = stats.t(of.freedom, loc=mean, scale=of.error).pdf
        low, high = max(room.low, mean - 6 * of.error), min(room.high, mean + 6 * of.error)
        expected = integrate.quad(density, low, 0.03)[0] / integrate.quad(density, low, high)[0]
        assert truncated_share(of, mean, room, 6.0) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("ratio", "room"),
    [
        (0.0, Room(0.2, math.inf)),  # independent: at least as large as the other
        (0.5, Room(0.1, math.inf)),  # .2 - .5 * .3 = .05 stays: b >= .05 + .5 b from .1 on
        (1.5, Room(-math.inf, 0.5)),  # .2 - 1.5 * .3 = -.25 stays: b >= -.25 + 1.5 b up to .5
        (1.0, Room(-math.inf, math.inf)),  # goes along: never larger
    ],
)
def test_the_room_of_the_best_by_hand(ratio: float, room: Room) -> None:
    assert best_mean_bounds(1, np.array([0.2, 0.3]), np.array([ratio, 1.0])) == pytest.approx(room)


def test_correlated_candidates_leave_more_room() -> None:
    """The same means with residuals that go along: the choice between them tells less of the best one's own error."""
    close, apart = candidates(3, 80, [0.2, 0.1], 0.95), candidates(3, 80, [0.2, 0.1], 0.0)
    for columns in (close, apart):
        paired = sort_by_query(columns)
        of = [moments_of(pairs) for pairs in paired]
        table = np.array([each.differences for each in columns])
        order = max((0, 1), key=lambda place: of[place].mean)
        ratio = winner.covariance_ratios(order, paired, of)
        covariance = np.cov(table)
        assert ratio == pytest.approx(covariance[order] / covariance[order, order])


def test_who_is_not_chosen_has_no_selection() -> None:
    columns = candidates(4, 40, [0.0, 0.3])
    other = [dataclasses.replace(each, metric="p@10") for each in columns[:1]]  # alone on its metric
    found = compare_family([*columns, *other], resamples=200)
    assert [row.selection is None for row in found] == [True, False, True]
    assert all(row.selection is None for row in compare_family(columns, resamples=200, exploratory=True))
    assert selected(
        [columns[0], dataclasses.replace(columns[0], candidate="twin")]
    )  # the same rankings under two names
    tied = column(np.array(columns[1].differences)[::-1].copy(), candidate="as large")
    assert selected([columns[1], tied]) == {}
    assert selected([column([0.3] * 20), columns[0]]) == {}, "without an error there is nothing to allow for"


def test_weights_clusters_and_absent_queries_enter() -> None:
    columns = candidates(5, 60, [0.1, 0.0, 0.0])
    plain = selected(columns)
    weights = np.linspace(0.5, 3, 60)
    clusters = tuple(f"s{number // 3}" for number in range(60))
    short = dataclasses.replace(
        columns[1], query_ids=columns[1].query_ids[:40], differences=np.array(columns[1].differences)[:40]
    )
    others = [
        [dataclasses.replace(each, weights=weights) for each in columns],
        [dataclasses.replace(each, clusters=clusters) for each in columns],
        [columns[0], short, columns[2]],
    ]
    for each in others:
        assert selected(each) != plain
        assert len(selected(each)) == 1
    alike = [dataclasses.replace(each, weights=np.full(60, 2.0)) for each in columns]
    assert selected(alike) == plain
    assert list(selected(columns[::-1]).values()) == pytest.approx(list(plain.values()))


TIES, ONE_AHEAD = [0.0] * 6, [0.15] + [0.0] * 5


def covered(repetitions: int, means: list[float], queries: int = 50) -> tuple[float, float]:
    """How often the interval holds the winner's true mean, and how often the estimate is above it."""
    held, above = [], []
    for repetition in range(repetitions):
        for place, found in selected(candidates(repetition, queries, means)).items():
            held.append(found.low <= means[place] <= found.high)
            above.append(found.estimate > means[place])
    return float(np.mean(held)), float(np.mean(above))


@pytest.mark.slow
@pytest.mark.parametrize("means", mostly_soaked([TIES, ONE_AHEAD], kept=[TIES]))
def test_the_interval_covers_and_the_estimate_is_as_often_too_large_as_too_small(means: list[float]) -> None:
    held, above = covered(400, means)
    assert 0.93 <= held <= 0.985
    assert 0.44 <= above <= 0.56


@pytest.mark.soak
def test_bounds_that_ignore_the_covariance_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(winner, "covariance_ratios", lambda best, paired, of: np.eye(len(of))[best])
    _, above = covered(300, [0.0] * 6)
    assert not 0.44 <= above <= 0.56
