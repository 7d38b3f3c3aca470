"""Columns of differences, one for each comparison, made ready for tests: paired by query id and checked."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ndcg_core.statistics.estimates import Differences, Moments, mean_difference, moments, relative_weights
from ndcg_core.statistics.flips import TIE_TOLERANCE, settle_ties

LEAST_OTHERS = 1e-9  # of the heaviest query's weight: with less the variance of the mean would be a rounding error
FloatArray = NDArray[np.float64]
QueryIds = tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """The differences of one comparison, before the test.

    baseline, candidate: system ids. metric: its name. query_ids: n distinct ids, in any order.
    differences: n numbers, candidate - baseline on the query at the same place, in the metric's unit. A query that a
        system did not answer is there with its score of 0; one that is excluded for the metric is not there.
    baseline_values: the baseline's n values, for the relative change; None where they are not known.
    weights: n numbers > 0, such as traffic; None where every query counts alike.
    attribute, slice: the queries' attribute and its value, where the column holds one slice of the queries.
    smallest_effect: the smallest difference that matters, > 0, in the metric's unit; for a guardrail its margin.
    """

    baseline: str
    candidate: str
    metric: str
    query_ids: QueryIds
    differences: Differences
    baseline_values: Differences | None = None
    weights: Differences | None = None
    attribute: str | None = None
    slice: str | None = None
    smallest_effect: float | None = None

    def __str__(self) -> str:
        part = f", {self.attribute} {self.slice!r}" if self.attribute else ""
        return f"candidate {self.candidate!r}, metric {self.metric!r}{part}"


@dataclass(frozen=True, slots=True, eq=False)
class Paired:
    """A column checked: query ids rising, ties exactly 0.

    shares: weights over their mean, or None. flippable: what the test flips: shares * differences.
    """

    column: Column
    query_ids: QueryIds
    differences: FloatArray
    baseline_values: FloatArray | None
    shares: FloatArray | None
    flippable: FloatArray


def by_query(columns: Sequence[Column]) -> list[Paired]:
    """Every column in rising order of its query ids: that of code points, which is that of their UTF-8 bytes.

    Raises ValueError for NaN or infinity, a query_id given twice, values or weights of another number than the query
    ids, weights that are not above 0.
    """
    orders: dict[QueryIds, tuple[QueryIds, NDArray[np.intp]]] = {}
    paired = []
    for column in columns:
        differences = _checked(column, "difference", column.differences)
        if column.query_ids not in orders:
            orders[column.query_ids] = _rising(column)
        rising, places = orders[column.query_ids]
        differences = settle_ties(differences)[places]
        baseline = None
        if column.baseline_values is not None:
            baseline = _checked(column, "baseline value", column.baseline_values)[places]
        shares = _shares(column, places) if column.weights is not None and len(places) else None
        flippable = differences if shares is None else differences * shares
        paired.append(Paired(column, rising, differences, baseline, shares, flippable))
    return paired


def flippable_count(pairs: Paired) -> int:
    """How many queries the test can flip: those with a difference, unless its weight is too near 0."""
    return int(np.count_nonzero(np.abs(pairs.flippable) > TIE_TOLERANCE))


def moments_of(pairs: Paired) -> Moments | None:
    """None of fewer than two queries, and where one has all the weight: the others' would be a rounding error."""
    if len(pairs.query_ids) < 2:
        return None
    if pairs.shares is not None:
        heaviest = float(pairs.shares.max())
        if math.fsum(pairs.shares.tolist()) - heaviest < LEAST_OTHERS * heaviest:
            return None
    return moments(pairs.differences, pairs.shares)


def baseline_mean(pairs: Paired) -> float | None:
    """The baseline's mean over the same queries, weighted alike; None where it is not known."""
    if pairs.baseline_values is None or not len(pairs.query_ids):
        return None
    return mean_difference(pairs.baseline_values if pairs.shares is None else pairs.baseline_values * pairs.shares)


def union(paired: Sequence[Paired]) -> QueryIds:
    """The query ids of all columns together, rising."""
    distinct = {pairs.query_ids for pairs in paired}
    return distinct.pop() if len(distinct) == 1 else tuple(sorted(set().union(*distinct)))


def table(paired: Sequence[Paired], values: Sequence[FloatArray], query_ids: QueryIds) -> FloatArray:
    """(queries x columns) of the values, one array for each column; 0 where a column does not have the query."""
    rows = {query_id: row for row, query_id in enumerate(query_ids)}
    filled = np.zeros((len(query_ids), len(paired)))
    places: dict[QueryIds, list[int]] = {}
    for number, (pairs, column) in enumerate(zip(paired, values, strict=True)):
        if pairs.query_ids == query_ids:
            filled[:, number] = column
        else:
            if pairs.query_ids not in places:
                places[pairs.query_ids] = [rows[query_id] for query_id in pairs.query_ids]
            filled[places[pairs.query_ids], number] = column
    return filled


def _rising(column: Column) -> tuple[QueryIds, NDArray[np.intp]]:
    order = sorted(range(len(column.query_ids)), key=column.query_ids.__getitem__)
    rising = tuple(column.query_ids[place] for place in order)
    for query_id, following in pairwise(rising):
        if query_id == following:
            raise ValueError(f"{column}: query {query_id!r} is given twice, must be given once")
    return rising, np.array(order, dtype=np.intp)


def _checked(column: Column, what: str, given: Differences) -> FloatArray:
    values = np.asarray(given, dtype=np.float64)
    if values.shape != (len(column.query_ids),):
        shape, queries = values.shape, len(column.query_ids)
        raise ValueError(f"{column}: {what}s have shape {shape}, must be one for each of {queries} queries")
    finite = np.isfinite(values)
    if not finite.all():
        place = int(np.argmin(finite))
        query_id, value = column.query_ids[place], values[place]
        raise ValueError(f"{column}: the {what} of query {query_id!r} == {value}, must be finite")
    return values


def _shares(column: Column, places: NDArray[np.intp]) -> FloatArray:
    assert column.weights is not None
    try:
        return relative_weights(column.weights, len(places))[places]
    except ValueError as error:
        raise ValueError(f"{column}: {error}") from None
