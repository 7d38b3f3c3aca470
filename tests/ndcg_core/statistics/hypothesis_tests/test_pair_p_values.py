"""P-values of every two systems from the sums of their differences to one of them, against those of each column."""

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from ndcg_core.statistics.hypothesis_tests import procedures
from ndcg_core.statistics.hypothesis_tests.pair_p_values import p_values_of_two
from ndcg_core.statistics.hypothesis_tests.sign_flip import sign_flip_p_values
from ndcg_core.statistics.paired import sort_by_query
from ndcg_core.statistics.verdicts.comparison import Column, compare_family

SETTINGS = {"resamples": 700, "seed": 11, "workers": 2}
QUERIES = 90
IDS = tuple(f"q{number:03}" for number in range(QUERIES))
RNG = np.random.default_rng(4)
SYSTEMS = {
    "smooth": RNG.random((6, QUERIES)) ** 2,
    "fifths, whose sums are often equal": np.round(RNG.random((6, QUERIES)) * 5) / 5,
    "binary": np.round(RNG.random((6, QUERIES))),
    "huge and tiny": RNG.random((6, QUERIES)) * np.array([1e9, 1.0, 1e-6, 1e-8, 1.0, 1e9])[:, np.newaxis],
    "nearly alike": 0.5 + np.round(RNG.random((6, QUERIES)) * 4) * 0.8e-9,
    "few that differ": np.where(np.arange(QUERIES) < 12, RNG.random((6, QUERIES)), 0.25),
    "equal sums": np.stack([np.roll(RNG.random(QUERIES).round(2), place) for place in range(6)]),
}


def columns(values: NDArray[np.float64], weights: NDArray[np.float64] | None = None) -> list[Column]:
    return [
        Column(f"s{first}", f"s{second}", "rr", IDS, values[second] - values[first], values[first], weights)
        for first, second in combinations(range(len(values)), 2)
    ]


@pytest.mark.parametrize("weights", [None, np.geomspace(1.0, 40.0, QUERIES)])
@pytest.mark.parametrize("name", SYSTEMS)
def test_as_from_each_column(name: str, weights: NDArray[np.float64] | None) -> None:
    paired = sort_by_query(columns(SYSTEMS[name], weights))
    flippable = [pairs.units.flippable for pairs in paired]
    told = p_values_of_two(flippable, procedures.find_differences_of_two(paired), **SETTINGS)
    expected = sign_flip_p_values(np.array(flippable).T, **SETTINGS)
    assert told == {number: expected[number] for number in told}
    if name in ("smooth", "fifths, whose sums are often equal", "binary"):
        assert len(told) == 10, "all but those of the first system"


def test_what_is_no_difference_of_the_two_has_no_p_value() -> None:
    first, second, other = RNG.random((3, QUERIES)) - 0.45
    assert p_values_of_two([first, second, other], {2: (0, 1)}, **SETTINGS) == {}


def test_a_family_of_pairs_is_that_without_the_shortcut(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [*columns(SYSTEMS["smooth"]), *columns(SYSTEMS["few that differ"])[:1]]
    settings = {"exploratory": True, "resamples": 700}
    quick = compare_family(pairs, **settings)
    asked = []
    monkeypatch.setattr(procedures, "p_values_of_two", lambda *given, **more: asked.append(1) or {})
    assert quick == compare_family(pairs, **settings)
    assert asked


def test_which_column_is_made_of_which() -> None:
    paired = sort_by_query(columns(SYSTEMS["smooth"][:3]))
    assert procedures.find_differences_of_two(paired) == {2: (1, 0)}  # s2 - s1 is (s2 - s0) - (s1 - s0)
    assert procedures.find_differences_of_two(paired[1:]) == {}
