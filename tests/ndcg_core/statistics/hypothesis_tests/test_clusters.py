"""Clusters of queries: flipped as wholes, in the intervals as weighted units; singletons change nothing."""

from dataclasses import asdict, replace
from itertools import product

import numpy as np
import pytest
from scipy import stats

from ndcg_core.statistics.estimates.mean_difference import compute_moments, correlate_sizes, interval_from_moments
from ndcg_core.statistics.verdicts.comparison import Clusters, Comparison, compare_family
from ndcg_core.statistics.verdicts.verdict import Obstacle
from tests.ndcg_core.statistics.columns import Column, column, family

TURNS = (5, 3, 4, 2, 6, 1, 4)
"""Queries of seven conversations."""


def conversations(seed: int = 1, sizes: tuple[int, ...] = TURNS) -> Column:
    """Differences in quarters that agree within a conversation; the query ids in no order."""
    rng = np.random.default_rng(seed)
    clusters = [f"c{9 - number}" for number, size in enumerate(sizes) for _ in range(size)]
    shared = np.repeat(rng.integers(-2, 4, len(sizes)), sizes)
    differences = (shared + rng.integers(-1, 2, len(clusters))) / 4
    order = rng.permutation(len(clusters))
    query_ids = tuple(f"q{place:02d}" for place in order)
    return column(differences[order], query_ids=query_ids, clusters=[clusters[place] for place in order])


def compared(*columns: Column, **settings: object) -> list[Comparison]:
    return compare_family(columns, **settings)  # type: ignore[arg-type]


def sums_of(given: Column) -> dict[str, float]:
    assert given.clusters is not None
    found = dict.fromkeys(given.clusters, 0.0)
    for name, difference in zip(given.clusters, np.asarray(given.differences).tolist(), strict=True):
        found[name] += difference
    return found


def test_p_counts_the_signs_of_whole_clusters() -> None:
    given = conversations()
    sums = np.array(list(sums_of(given).values()))
    patterns = np.array(list(product((1, -1), repeat=len(sums)))) @ sums
    (found,) = compared(given)
    assert found.p_value == np.mean(np.abs(patterns) >= abs(sums.sum()) - 1e-9)
    assert found.difference == pytest.approx(sums.sum() / sum(TURNS))
    assert found.clusters == Clusters(7, np.count_nonzero(sums), 1, 6, pytest.approx(25**2 / sum(n**2 for n in TURNS)))


def test_the_interval_is_that_of_the_clusters_as_weighted_units() -> None:
    given = conversations()
    sizes = {name: list(given.clusters or ()).count(name) for name in sums_of(given)}
    means = [total / sizes[name] for name, total in sums_of(given).items()]
    low, high = interval_from_moments(compute_moments(means, list(sizes.values())))
    (found,) = compared(given)
    assert (found.low, found.high) == pytest.approx((low, high))
    (plain,) = compared(replace(given, clusters=None))
    assert found.high - found.low > plain.high - plain.low  # type: ignore[operator]


def test_equal_clusters_have_the_error_of_cr1() -> None:
    given = conversations(sizes=(4,) * 9)
    residuals = np.array(list(sums_of(given).values())) - 4 * np.mean(given.differences)
    error = np.sqrt(9 / 8 * np.sum(residuals**2)) / 36
    (found,) = compared(given)
    low, high = found.low, found.high
    assert low is not None and high is not None
    assert (high - low) / 2 == pytest.approx(2.306004135 * error)  # t(.975, 8)


@pytest.mark.parametrize("weighted", [False, True])
def test_singletons_give_the_bits_of_queries(weighted: bool) -> None:
    columns = family()
    if weighted:
        columns = [replace(each, weights=np.arange(1, len(each.query_ids) + 1.0)) for each in columns]
    single = [replace(each, clusters=[f"x{hash(name) % 97}{name}" for name in each.query_ids]) for each in columns]
    for plain, found in zip(compared(*columns), compared(*single), strict=True):
        clusters = found.clusters
        assert (clusters is not None and clusters.count == clusters.effective == plain.queries) or weighted
        apart = ("clusters", "flippable")
        assert {key: value for key, value in asdict(found).items() if key not in apart} == {
            key: value for key, value in asdict(plain).items() if key not in apart
        }


def test_what_the_weights_leave_is_counted_in_clusters() -> None:
    """Of 24 clusters of two queries: first four clusters are heavy, then in every cluster one of the two queries."""
    given = conversations(sizes=(2,) * 24)
    names = given.clusters or ()
    heavy = sorted(set(names))[:4]
    for weights, said in (
        ([10.0 if name in heavy else 1.0 for name in names], ["9 of 24 clusters"]),
        ([30.0 if names.index(name) == index else 1.0 for index, name in enumerate(names)], []),
    ):
        (found,) = compared(replace(given, weights=weights))
        notes = [note for note in found.notes if "leave" in note]
        assert notes == [f"the weights leave {count}: the interval may be too narrow" for count in said]


def test_a_cluster_that_two_slices_share_is_flipped_once() -> None:
    """Each slice has one query of each of 20 clusters, and the same differences: so they are one hypothesis."""
    rng = np.random.default_rng(3)
    values = rng.normal(0.03, 0.1, 20)
    clusters = [f"c{number}" for number in range(20)]
    halves = [
        column(
            values, candidate=name, query_ids=tuple(f"{name}{number:02d}" for number in range(20)), clusters=clusters
        )
        for name in ("a", "b")
    ]
    first, second = compared(*halves)
    (alone,) = compared(halves[0])
    assert first.p_adjusted == second.p_adjusted == alone.p_adjusted


@pytest.mark.parametrize(
    ("sizes", "obstacle", "words"),
    [
        ((8,), Obstacle.ONE_CLUSTER, "not testable (all queries are of one cluster)"),
        ((6, 6, 6, 6, 6), Obstacle.FEW_DIFFERING, "not testable (5 differing clusters)"),
    ],
)
def test_what_is_testable_counts_clusters(sizes: tuple[int, ...], obstacle: Obstacle, words: str) -> None:
    clusters = [f"c{number}" for number, size in enumerate(sizes) for _ in range(size)]
    (found,) = compared(column([0.1] * len(clusters), clusters=clusters))
    assert (found.obstacle, found.verdict) == (obstacle, words)


def test_clusters_for_every_column_or_for_none() -> None:
    with pytest.raises(ValueError, match="must be given for all or for none"):
        compared(conversations(), replace(conversations(2), clusters=None))
    with pytest.raises(ValueError, match="2 clusters and 25 query ids, must be one for each"):
        compared(replace(conversations(), clusters=["a", "b"]))


def grown(clusters: int, slope: float, seed: int = 3) -> Column:
    """Log-normal sizes; the mean of a cluster rises by so much with the logarithm of its size."""
    rng = np.random.default_rng(seed)
    logarithms = rng.normal(size=clusters)
    sizes = np.ceil(3 * np.exp(logarithms)).astype(int)
    means = slope * logarithms + rng.normal(0, 0.1, clusters)
    names = np.repeat(np.arange(clusters), sizes)
    return column(means[names] + rng.normal(0, 0.1, len(names)), clusters=[f"c{name}" for name in names])


def test_a_correlation_is_that_of_scipy() -> None:
    rng = np.random.default_rng(2)
    means, weights = rng.normal(size=12), rng.integers(1, 30, 12).astype(float)
    expected = stats.pearsonr(np.log(weights), means)
    assert correlate_sizes(means, weights) == pytest.approx((expected.statistic, expected.pvalue))
    assert correlate_sizes(means[:3], weights[:3]) == (0.0, 1.0)
    assert correlate_sizes(means, np.ones(12)) == correlate_sizes(np.ones(12), weights) == (0.0, 1.0)
    assert correlate_sizes(np.log(weights), weights) == pytest.approx((1.0, 0.0))


def test_a_size_that_goes_with_the_effect_is_told() -> None:
    (found,) = compared(grown(20, 0.2))
    assert any(note.startswith("large clusters gain more (correlation +0.") for note in found.notes)
    (found,) = compared(grown(20, -0.2))
    assert any(note.startswith("large clusters gain less (correlation -0.") for note in found.notes)
    none = [compared(grown(20, 0.0, seed), resamples=100)[0] for seed in range(60)]
    assert 0 < sum("large clusters" in " ".join(row.notes) for row in none) <= 9, "one in twenty by chance"


def test_few_clusters_are_told() -> None:
    few, many = "only 9 clusters: the interval may be too narrow", "only 10 clusters: the interval may be too narrow"
    assert few in compared(conversations(sizes=(3,) * 9))[0].notes
    assert many not in compared(conversations(sizes=(3,) * 10))[0].notes
    assert few not in compared(replace(conversations(sizes=(3,) * 9), clusters=None))[0].notes
