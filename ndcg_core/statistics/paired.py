"""Prepare the differences of comparisons for tests: sort them by query id, check them, and form units."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ndcg_core.statistics.estimates import mean_difference as estimates
from ndcg_core.statistics.estimates.mean_difference import Differences, Interval, Moments
from ndcg_core.statistics.hypothesis_tests.flips import TIE_TOLERANCE, set_ties_to_zero

LEAST_OTHERS = 1e-9  # of the heaviest query's weight: with less the variance of the mean would be a rounding error
FloatArray = NDArray[np.float64]
QueryIds = tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """The paired differences of one candidate and the baseline on one metric, before the test.

    Parameters
    ----------
    baseline, candidate : str
        Ids of the two systems.
    metric : str
        Name of the metric.
    query_ids : sequence of str
        n distinct query ids, in any order.
    differences : sequence of float
        n values of candidate - baseline, in the metric's unit, in the order of `query_ids`. A query that a system did
        not answer scores 0; a query that is excluded for the metric is absent.
    baseline_values : sequence of float, optional
        The baseline's n values, for the relative change.
    weights : sequence of float, optional
        n weights > 0, such as traffic. Default: equal weights.
    clusters : sequence of str, optional
        n cluster names. Queries of one cluster (a conversation, a user, the variants of a query) are one unit of the
        test. Given for every column of a family, or for none. Default: every query is one unit.
    attribute, slice : str, optional
        Name and value of the query attribute, if the column holds one slice of the queries.
    smallest_effect : float, optional
        The smallest difference that matters, > 0, in the metric's unit; for a guardrail, the margin.
    largest_loss : float, default 1
        The most that one query can lose, > 0; with `scales`, after multiplication by the largest scale. 1 for metrics
        within [0, 1] without scales, ``math.inf`` if unknown.
    scales : sequence of float, optional
        n numbers > 0 by which the differences and the baseline's values are multiplied before anything else, if the
        queries were drawn by disagreement (`ndcg_core.sampling.draws`).
    value_range : Interval, optional
        The lowest and the highest value of the metric, unscaled. Intervals of the mean difference do not extend beyond
        the width of this range, nor relative changes below its lowest value.
    """

    baseline: str
    candidate: str
    metric: str
    query_ids: QueryIds
    differences: Differences
    baseline_values: Differences | None = None
    weights: Differences | None = None
    clusters: Sequence[str] | None = None
    attribute: str | None = None
    slice: str | None = None
    smallest_effect: float | None = None
    largest_loss: float = 1.0
    scales: Differences | None = None
    value_range: Interval | None = None

    @property
    def widest(self) -> float:
        """Return the largest possible |mean difference|: the width of the metric's range, or infinity if unknown."""
        return math.inf if self.value_range is None else self.value_range.high - self.value_range.low

    def __str__(self) -> str:
        part = f", {self.attribute} {self.slice!r}" if self.attribute else ""
        return f"candidate {self.candidate!r}, metric {self.metric!r}{part}"


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """The u units that tests sample and flip: queries, or clusters of queries.

    Attributes
    ----------
    names : tuple of str
        Query ids, or names of clusters in the order of their smallest query ids.
    values : (u,) array of float
        Differences, or (weighted) means of the differences of clusters.
    shares : (u,) array of float or None
        Weights over their mean; the weight of a cluster is the sum of its queries' weights. None for equal weights.
    flippable : (u,) array of float
        Numbers whose signs the test flips: shares * differences, or their sums over clusters.
    members : (n,) array of int or None
        Index of the unit of each of the n queries; None if every query is a unit.
    """

    names: tuple[str, ...]
    values: FloatArray
    shares: FloatArray | None
    flippable: FloatArray
    members: NDArray[np.intp] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Paired:
    """The checked and scaled differences of one column, sorted by query id, with ties exactly 0.

    Attributes
    ----------
    column : Column
        The column as it was given.
    query_ids : tuple of str
        The n query ids, rising.
    differences, baseline_values : (n,) array of float
        Differences and baseline's values, multiplied by the scales, if any, and in the order of `query_ids`.
        `baseline_values` is None if unknown.
    shares : (n,) array of float or None
        Weights over their mean; None for equal weights.
    units : Units
        The units that tests flip.
    scales : (n,) array of float or None
        The scales, in the order of `query_ids`; None if the queries were not drawn by disagreement.
    """

    column: Column
    query_ids: QueryIds
    differences: FloatArray
    baseline_values: FloatArray | None
    shares: FloatArray | None
    units: Units
    scales: FloatArray | None = None

    @property
    def is_clustered(self) -> bool:
        """Return whether clusters are given, so that they are the units, even if each of them has only one query."""
        return self.column.clusters is not None

    @property
    def flippable_units(self) -> int:
        """Return the number of units that the test can flip: with a difference, and a weight not too close to 0."""
        return int(np.count_nonzero(np.abs(self.units.flippable) > TIE_TOLERANCE))

    @property
    def mean(self) -> float | None:
        """Return the (weighted) mean difference over the queries; None without a query."""
        return estimates.mean_difference(weigh(self.differences, self.shares)) if self.query_ids else None

    @property
    def baseline_mean(self) -> float | None:
        """Return the baseline's (weighted) mean over the queries of the column.

        Return None if it is unknown. If the queries were drawn from a log, the mean is over the log's queries whose
        results differ: on the other queries the differences are 0, but the baseline's values are not.
        """
        if self.baseline_values is None or not self.query_ids:
            return None
        mean = estimates.mean_difference(weigh(self.baseline_values, self.shares))
        return mean if self.scales is None else mean / estimates.mean_difference(weigh(self.scales, self.shares))

    def moments(self) -> Moments | None:
        """Compute the moments of the differences.

        Return None if there are fewer than two units, or if one unit has nearly all the weight. If the queries were
        drawn by disagreement, the degrees of freedom are reduced for long tails: each difference is divided by the
        disagreement of the query's rankings, which makes a few of them large (docs/draw.md).
        """
        shares, is_drawn = self.units.shares, self.scales is not None
        if len(self.units.names) < 2 or (shares is not None and has_dominant_weight(shares)):
            return None
        moments = estimates.compute_moments(self.differences, self.shares, self.units.members, long_tailed=is_drawn)
        return moments._replace(widest=self.column.widest)

    def residuals(self, moments: Moments) -> FloatArray:
        """Return the (u,) residuals of the units: (value - mean) * share.

        All are 0 if the differences do not vary.
        """
        if moments.deviation == 0:
            return np.zeros(len(self.units.names))
        return weigh(self.units.values - moments.mean, self.units.shares)


def sort_by_query(columns: Sequence[Column]) -> list[Paired]:
    """Return the columns checked, scaled and sorted by query id (by code points, like UTF-8 bytes).

    Raises ValueError if a value is NaN or infinite, a query id is repeated, a weight is not above 0, the number of
    values, weights or clusters is not the number of query ids, or only some columns have clusters.
    """
    orders: dict[QueryIds, tuple[QueryIds, NDArray[np.intp]]] = {}
    checked: dict[tuple[QueryIds, tuple[str, ...]], tuple[tuple[str, ...], NDArray[np.intp]]] = {}
    paired = []
    if len({column.clusters is None for column in columns}) > 1:
        raise ValueError("some columns have clusters and some have none, must be given for all or for none")
    for column in columns:
        if column.query_ids not in orders:
            orders[column.query_ids] = _sort_rising(column)
        rising, indices = orders[column.query_ids]
        scales = None if column.scales is None else _check_values(column, "scale", column.scales)[indices]
        differences = set_ties_to_zero(_check_values(column, "difference", column.differences))[indices]
        differences, baseline = weigh(differences, scales), None
        if column.baseline_values is not None:
            baseline = weigh(_check_values(column, "baseline value", column.baseline_values)[indices], scales)
        shares = _relative_weights(column, indices) if column.weights is not None and len(indices) else None
        units = Units(rising, differences, shares, weigh(differences, shares))
        if column.clusters is not None:
            key = (column.query_ids, tuple(column.clusters))
            if key not in checked:
                checked[key] = _number_clusters(column, indices)
            units = _make_cluster_units(*checked[key], units)
        paired.append(Paired(column, rising, differences, baseline, shares, units, scales))
    return paired


def has_dominant_weight(weights: FloatArray) -> bool:
    """Return whether one weight is nearly the sum of all weights, so that the variance would be only rounding error."""
    heaviest = float(weights.max())
    return math.fsum(weights.tolist()) - heaviest < LEAST_OTHERS * heaviest


def weigh(values: FloatArray, shares: FloatArray | None) -> FloatArray:
    """Multiply values by shares (weights over the mean weight); return the values unchanged if shares is None."""
    return values if shares is None else values * shares


def all_units(paired: Sequence[Paired]) -> tuple[str, ...]:
    """Return the names of the units of all columns, in the order of their smallest query ids."""
    distinct = {pairs.units.names: pairs for pairs in paired}
    if len(distinct) == 1:
        return next(iter(distinct))
    first: dict[str, str] = {}
    for pairs in distinct.values():
        members = np.arange(len(pairs.query_ids)) if pairs.units.members is None else pairs.units.members
        for unit, index in zip(pairs.units.names, np.unique(members, return_index=True)[1].tolist(), strict=True):
            query_id = pairs.query_ids[index]
            first[unit] = min(query_id, first.get(unit, query_id))
    return tuple(sorted(first, key=first.__getitem__))


def units_table(paired: Sequence[Paired], values: Sequence[FloatArray], units: tuple[str, ...]) -> FloatArray:
    """Arrange values of units in a (units x columns) table, with 0 if a column lacks the unit.

    paired: the columns. values: one array per column, in the order of the column's units. units: names of all units.
    """
    rows = {unit: row for row, unit in enumerate(units)}
    indices = {names: [rows[unit] for unit in names] for names in {pairs.units.names for pairs in paired}}
    filled = np.zeros((len(units), len(paired)))
    for number, (pairs, column) in enumerate(zip(paired, values, strict=True)):
        filled[indices[pairs.units.names], number] = column
    return filled


def _number_clusters(column: Column, indices: NDArray[np.intp]) -> tuple[tuple[str, ...], NDArray[np.intp]]:
    """Return the names of the clusters, and the index of the cluster of each query.

    The clusters are in the order of their smallest query ids.
    indices: indices that sort the queries by id. Raises ValueError unless there is one cluster per query id.
    """
    assert column.clusters is not None
    if len(column.clusters) != len(column.query_ids):
        counts = f"{len(column.clusters)} clusters and {len(column.query_ids)} query ids"
        raise ValueError(f"{column}: {counts}, must be one for each")
    numbers: dict[str, int] = {}
    members = [numbers.setdefault(column.clusters[index], len(numbers)) for index in indices.tolist()]
    return tuple(numbers), np.array(members, dtype=np.intp)


def _make_cluster_units(names: tuple[str, ...], members: NDArray[np.intp], of_queries: Units) -> Units:
    """Combine the units of queries into units of clusters.

    names: names of the clusters. members: (n,) index of each query's cluster.
    """
    if len(names) == len(members):
        return replace(of_queries, names=names)
    sums = set_ties_to_zero(np.bincount(members, of_queries.flippable).astype(np.float64))
    means, weights = estimates.cluster_means(of_queries.values, of_queries.shares, members)
    shares = estimates.relative_weights(weights, len(names)) if np.ptp(weights) > 0 else None
    return Units(names, means, shares, sums, members)


def _sort_rising(column: Column) -> tuple[QueryIds, NDArray[np.intp]]:
    """Return the query ids of a column in rising order, and the indices that sort them.

    Raises ValueError if a query id is repeated.
    """
    order = sorted(range(len(column.query_ids)), key=column.query_ids.__getitem__)
    rising = tuple(column.query_ids[index] for index in order)
    for query_id, following in pairwise(rising):
        if query_id == following:
            raise ValueError(f"{column}: query {query_id!r} is given twice, must be given once")
    return rising, np.array(order, dtype=np.intp)


def _check_values(column: Column, noun: str, column_values: Differences) -> FloatArray:
    """Return the values of a column as an array.

    noun: word for one value in messages. Raises ValueError unless there is one finite value per query.
    """
    values = np.asarray(column_values, dtype=np.float64)
    if values.shape != (len(column.query_ids),):
        shape, queries = values.shape, len(column.query_ids)
        raise ValueError(f"{column}: {noun}s have shape {shape}, must be one for each of {queries} queries")
    finite = np.isfinite(values)
    if not finite.all():
        index = int(np.argmin(finite))
        query_id, value = column.query_ids[index], values[index]
        raise ValueError(f"{column}: the {noun} of query {query_id!r} == {value}, must be finite")
    return values


def _relative_weights(column: Column, indices: NDArray[np.intp]) -> FloatArray:
    """Return the weights of a column over their mean, in the order of `indices`.

    Raises ValueError if a weight is not above 0 or not finite, or if the number of weights is wrong.
    """
    assert column.weights is not None
    try:
        return estimates.relative_weights(column.weights, len(indices))[indices]
    except ValueError as error:
        raise ValueError(f"{column}: {error}") from None
