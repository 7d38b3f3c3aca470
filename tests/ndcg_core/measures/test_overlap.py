"""Overlap and rank-biased overlap of two rankings."""

import pytest

from ndcg_core.measures.overlap import overlap, rank_biased_overlap


@pytest.mark.parametrize(
    ("first", "second", "value"),
    [  # made by `rbo.RankingSimilarity(list(first), list(second)).rbo_ext(p=.9)` of the library rbo 0.1.3
        ("abcdefghij", "abcdefghij", 1.0),
        ("abcdefghij", "klmnopqrst", 0.0),
        ("abcde", "bacde", 0.9),
        ("abcde", "abxde", 0.823555),
        ("abcdefghij", "jihgfedcba", 0.5116075656428573),
        ("abcdefg", "acbxyzd", 0.6532460714285714),
        ("abc", "abcdefg", 1.0),
        ("ab", "bcadefgh", 0.5855676267857143),
        ("abcdefg", "zb", 0.45),
        ("a", "b", 0.0),
        ("a", "ba", 0.45),
    ],
)
def test_rank_biased_overlap_is_that_of_another_library(first: str, second: str, value: float) -> None:
    assert rank_biased_overlap(first, second, 0.9) == pytest.approx(value, abs=1e-12)
    assert rank_biased_overlap(second, first, 0.9) == pytest.approx(value, abs=1e-12)


def test_of_equal_length_it_is_the_shorter_formula() -> None:
    """Equation 30 of the paper: X_k/k p^k + (1 - p)/p (sum of X_d/d p^d), worked out by hand for X = 0, 2, 2."""
    assert rank_biased_overlap("abx", "bay", 0.5) == pytest.approx(2 / 3 / 8 + 1 / 4 + 2 / 3 / 8)


def test_where_nothing_was_returned() -> None:
    assert (rank_biased_overlap("", ""), overlap("", "")) == (1.0, 1.0)
    assert (rank_biased_overlap("", "ab"), overlap("ab", "")) == (0.0, 0.0)


def test_overlap_is_over_the_longer_one() -> None:
    assert overlap("abcd", "dcx") == 0.5
