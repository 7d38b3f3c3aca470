"""Queries drawn with known probabilities: what each stands for, and that samples are extended."""

import hashlib

import numpy as np
import pytest

from ndcg_core.sampling.draws import (
    UNIFORM,
    EarlierDraw,
    Population,
    draw_queries,
    drawn_standard_error,
    expected_probabilities,
    mean_disagreement,
    permanent_numbers,
    queries_to_decide,
    random_standard_error,
    relative_disagreements,
    scale_and_weights,
)
from ndcg_core.statistics.estimates.mean_difference import compute_moments
from ndcg_core.statistics.estimates.power import queries_needed

SIZES = np.array([0.0, 0.2, 0.4, 0.7, 1.0, 1.5, 3.0, 9.0])


def test_a_number_belongs_to_seed_and_id():
    digest = hashlib.blake2b(b"7\nq1", digest_size=8).digest()
    (number,) = permanent_numbers(["q1"], 7)
    assert number == pytest.approx(int.from_bytes(digest, "big") / 2**64, abs=1e-15)
    assert permanent_numbers(["q1"], 8)[0] != number


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("query", range(len(SIZES)))
def test_a_probability_is_the_share_of_a_query_s_own_numbers_that_draw_it(query: int, seed: int):
    """Given the numbers of the others, with and without a kept sample, which was drawn by other sizes."""
    others, grid = np.random.default_rng(seed).random(len(SIZES)), (np.arange(100) + 0.5) / 100
    once, twice = [], []
    for number in grid:
        numbers = np.where(np.arange(len(SIZES)) == query, number, others)
        first = draw_queries(SIZES, numbers, 3)
        kept = EarlierDraw(np.where(first.is_drawn, first.probability, 0.0), SIZES)
        second = draw_queries(SIZES[::-1] + 0.1, numbers, 5, kept)
        assert first.is_drawn.sum() == 3 and second.is_drawn.sum() == 5 and second.is_drawn[first.is_drawn].all()
        for probabilities, draw in (once, first), (twice, second):
            probabilities += draw.probability[[query]].tolist() * bool(draw.is_drawn[query])
    for found in once, twice:
        assert found == pytest.approx([len(found) / len(grid)] * len(found), abs=1 / len(grid))


def test_more_queries_are_the_same_and_others():
    numbers = permanent_numbers([f"q{index}" for index in range(200)], 1)
    sizes = np.random.default_rng(2).exponential(1.0, 200)
    before = draw_queries(sizes, numbers, 1)
    for count in range(2, 201):
        now = draw_queries(sizes, numbers, count)
        assert now.is_drawn.sum() == count and now.is_drawn[before.is_drawn].all()
        assert (now.probability >= before.probability).all()
        before = now
    assert (before.probability == 1).all()


def test_what_cannot_be_kept_is_refused():
    numbers, kept = np.array([0.5, 0.1]), EarlierDraw(np.array([0.4, 0.0]), np.ones(2))
    with pytest.raises(ValueError, match="query 0 was drawn with other numbers"):
        draw_queries(np.ones(2), numbers, 2, kept)
    with pytest.raises(ValueError, match="count == 0, must be at least the 1 that are kept"):
        draw_queries(np.ones(2), numbers, 0, EarlierDraw(np.array([0.6, 0.0]), np.ones(2)))


def test_disagreements_are_relative_to_the_mean_of_the_changed():
    found = relative_disagreements(np.array([0.0, 0.0, 1.0, 3.0]), np.array([False, True, True, True]))
    assert found == pytest.approx([0, UNIFORM, UNIFORM + (1 - UNIFORM) * 0.75, UNIFORM + (1 - UNIFORM) * 2.25])
    assert relative_disagreements(np.zeros(2), np.array([True, False])).tolist() == [1, 0]


def test_no_drawn_query_stands_for_more_than_twice_the_mean_of_the_log():
    """However small its disagreement is: a loss that only it shows cannot hide behind its scale."""
    disagreements = np.array([0.0, 0.0, 1e-9, 0.01, 0.1, 5.0])
    is_changed = np.arange(6) >= 2
    relative = relative_disagreements(disagreements, is_changed)
    mean = mean_disagreement(relative)
    assert mean == pytest.approx(is_changed.mean())
    scales, _ = scale_and_weights(relative[is_changed], np.ones(4), mean)
    assert relative[is_changed].min() >= 0.5 and scales.max() <= 2 * mean


def test_the_estimate_is_a_ratio():
    """By hand: four queries of the log, disagreements 0, 1, 1, 2 (mean 1); two drawn with 1/4 and 1/2."""
    mean = mean_disagreement(np.array([0.0, 1.0, 1.0, 2.0]))
    scale, weights = scale_and_weights(np.array([1.0, 2.0]), np.array([4.0, 2.0]), mean)
    assert scale.tolist() == [1, 0.5] and weights is None  # alike: 4 · 1 and 2 · 2
    differences = np.array([0.1, 0.3])
    assert compute_moments(scale * differences).mean == pytest.approx((4 * 0.1 + 2 * 0.3) / (4 * 1 + 2 * 2))
    _, weights = scale_and_weights(np.array([1.0, 2.0]), np.array([4.0, 1.0]), mean)
    assert weights is not None and weights.tolist() == [4, 2]
    assert mean_disagreement(np.array([0.0, 1.0]), np.array([3.0, 1.0])) == 0.25


def test_expected_probabilities_fill_the_count():
    assert expected_probabilities(np.array([1.0, 10.0, 1.0, 0.0]), 2) == pytest.approx([0.5, 1, 0.5, 0])
    found = expected_probabilities(SIZES, 4)
    assert found.sum() == pytest.approx(4) and found.max() == 1 and found[0] == 0


def test_the_plan_of_a_random_sample_is_that_of_power():
    relative = np.ones(1000)
    population = Population(np.ones(1000), relative, None, 0.1)
    assert random_standard_error(population, 50)[0] == pytest.approx(0.1 / 50**0.5)
    assert drawn_standard_error(population, 50) == pytest.approx(random_standard_error(population, 50))
    assert queries_to_decide(population, 0.03, random_standard_error) == queries_needed(0.03, 0.1)
    assert queries_to_decide(population, 1e-6, random_standard_error) is None


def test_the_plan_expects_squares_by_the_cube_of_the_disagreement():
    """Two queries of disagreement 1 and 2: squares of 1 and 8, in the mean the square of the deviation."""
    population = Population(np.array([1.0, 2.0, 0.0]), np.array([0.7, 1.3, 0.0]), None, 0.3)
    assert population.spread == pytest.approx(np.array([1.0, 8.0, 0.0]) * 0.09 / 3)
    assert drawn_standard_error(population, 1)[0] ** 2 == pytest.approx((0.03 / 0.35 + 0.24 / 0.65) / 9)
    assert drawn_standard_error(population, 2)[0] ** 2 == pytest.approx(0.27 / 9)
