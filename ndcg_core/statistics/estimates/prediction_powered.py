"""Correct proxy judgments by a few careful ones: a difference whose interval proxy errors do not bias.

Every query has a proxy difference (judged by a language model, by clicks), and some queries have a careful one, too.
With d and c the careful and the proxy differences of the n queries judged carefully, and u the proxy differences of all
other queries,

    difference = mean(d) + share * (mean(u) - mean(c)) = mean(d - share * c) + share * mean(u)

has the mean of d whatever c is, if the careful queries are a random sample of all. The share is the one with the least
variance, cov(d, c) / (var(c) + var(u) * n / len(u)), and never less than 0. It can exceed 1: proxy grades may express
differences in another unit.

Residuals, each over its sum of weights, are summed within clusters. A query that its careful judgments cannot score (no
relevant document) counts as a proxy query only, and a cluster may be judged in part. If the careful queries were drawn
with unequal chances from a log, mean(u) is the known proxy mean of the log and adds no variance, and the differences
are scaled (`ndcg_core.sampling.draws`).

Sources: A. N. Angelopoulos, S. Bates, C. Fannjiang, M. I. Jordan and T. Zrnic, Prediction-powered inference, Science
382 (2023); A. N. Angelopoulos, J. C. Duchi and T. Zrnic, PPI++: Efficient prediction-powered inference (2023), whose
power tuning the share is, with the variances of both samples instead of a pooled one. W. G. Cochran, Sampling
Techniques (1977), chapter 7 (the regression estimate: its slope takes a degree of freedom, and makes the variance
larger by 1 / (n - 3)). F. E. Satterthwaite, Biometrics 2 (1946) (degrees of freedom of the sum).
"""

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcg_core.statistics.averages import exact_sum
from ndcg_core.statistics.distributions import stdtr, stdtrit
from ndcg_core.statistics.estimates import mean_difference as estimates
from ndcg_core.statistics.estimates.mean_difference import Moments
from ndcg_core.statistics.hypothesis_tests.flips import TIE_TOLERANCE
from ndcg_core.statistics.paired import Column, has_dominant_weight, sort_by_query
from ndcg_core.statistics.verdicts.record import ProxyCorrected

FloatArray = NDArray[np.float64]
NO_VARIANCE = 1e-18  # share of the variance by careful judgments that is a rounding error
LEAST_DIFFERING = 30  # careful units with a difference; with fewer, rare ones, the interval covers .77 to .92


@dataclass(frozen=True, slots=True, eq=False)
class ProxySample:
    """The differences of one comparison on N queries with proxy judgments, some of them also judged carefully.

    Proxy judgments come from a model or from clicks; careful judgments come from people.

    Attributes
    ----------
    proxy : (N,) array of float
        Difference of each query by the proxy judgments.
    careful : (N,) array of float
        Difference of each query by the careful judgments; any number for a query without such a difference.
    is_careful : (N,) array of bool
        True if the query is judged carefully.
    is_scored : (N,) array of bool
        True if the query has a difference by the careful judgments.
    shares : (N,) array of float or None
        Weights > 0; None for equal weights.
    members : (N,) array of int or None
        Index of each query's cluster; None without clusters.
    known_mean : float or None
        Mean of the proxy differences of all queries, if known; None to estimate it from the queries that are not judged
        carefully.
    widest : float
        Largest possible |mean difference|; infinite if unknown.
    """

    proxy: FloatArray
    careful: FloatArray
    is_careful: NDArray[np.bool_]
    is_scored: NDArray[np.bool_]
    shares: FloatArray | None = None
    members: NDArray[np.intp] | None = None
    known_mean: float | None = None
    widest: float = math.inf


class Balance(NamedTuple):
    """A test of whether carefully judged queries differ from the other queries in their proxy values.

    Attributes
    ----------
    careful, others : float
        Mean proxy value of the carefully judged queries, and of the other queries.
    p_value : float
        p-value, in [0, 1], of Welch's t test of equal means.
    """

    careful: float
    others: float
    p_value: float


def correct_difference(careful: Column, proxy: Column, judged: Collection[str], alpha: float) -> ProxyCorrected | None:
    """Estimate the difference of one comparison from careful and proxy judgments, with its (1 - alpha) interval.

    careful: differences by the careful judgments.
    proxy: differences of all queries by the proxy judgments, 0 for queries that the proxy judgments cannot score.
        Weights and clusters are taken from this column.
    judged: ids of all carefully judged queries. They include the queries of `careful`, and must be queries of `proxy`.
    alpha: in (0, 1).

    Return None if there are fewer than four careful units (queries or clusters) or fewer than two other units, or if
    the careful differences do not vary. Return a record that has a reason instead of a difference if fewer than
    LEAST_DIFFERING careful units differ, or if the proxy differences are in proportion to the careful ones: the
    interval would not hold.
    Raises ValueError if the values of a column are invalid (as in `verdicts.comparison.compare_family`), or if a
    careful query has no proxy difference.
    """
    (pairs,) = sort_by_query([proxy])
    by_id = dict(zip(careful.query_ids, np.asarray(careful.differences, dtype=np.float64).tolist(), strict=True))
    ids = pairs.query_ids
    every = {*judged, *by_id}
    for query_id in sorted(every.difference(ids))[:1]:
        raise ValueError(f"{proxy}: query {query_id!r} is judged carefully, must be judged by proxy too")
    values = np.array([by_id.get(query_id, 0.0) for query_id in ids])
    is_careful, is_scored = (np.array([query_id in those for query_id in ids], np.bool_) for those in (every, by_id))
    shares, members = pairs.shares, pairs.units.members
    sample = ProxySample(pairs.differences, values, is_careful, is_scored, shares, members, widest=careful.widest)
    return estimate_from_arrays(sample, alpha)


def correct_drawn(
    careful: Column, proxy: FloatArray, known_mean: float, queries: int, alpha: float
) -> ProxyCorrected | None:
    """Estimate the difference from careful and proxy judgments, if the careful queries were drawn from a log.

    The queries may have been drawn with unequal probabilities.

    careful: differences by the careful judgments of the drawn queries, with scales and weights.
    proxy: (n,) differences of these queries by the proxy judgments, unscaled, in the order of `careful`.
    known_mean: mean of the proxy differences over the whole log.
    queries: number of queries of the log with proxy judgments.
    alpha: in (0, 1). The interval has the level 1 - alpha.
    Return None if there are fewer than four careful units (queries or clusters), or if the careful differences do not
    vary. Return a record that has a reason instead of a difference if fewer than LEAST_DIFFERING careful units differ,
    or if the proxy differences are in proportion to the careful ones.
    """
    sample = replace(careful, differences=proxy, baseline_values=None)
    exact, near = sort_by_query([careful, sample])
    every, sampled = np.ones(len(exact.query_ids), dtype=np.bool_), (exact.shares, exact.units.members)
    judged = ProxySample(near.differences, exact.differences, every, every, *sampled, known_mean, careful.widest)
    corrected = estimate_from_arrays(judged, alpha)
    return corrected and replace(corrected, cheap_queries=queries)


def estimate_from_arrays(sample: ProxySample, alpha: float) -> ProxyCorrected | None:
    """Estimate the difference of one comparison from careful and proxy judgments, with its (1 - alpha) interval.

    Return None if there are fewer than four carefully judged units (queries or clusters), if the proxy judgments have
    fewer than two other units and no known mean, or if the careful differences do not vary. Return a record that has a
    reason instead of a difference if fewer than LEAST_DIFFERING careful units differ, or if the proxy differences are
    in proportion to the careful ones.
    """
    moments = _careful_moments(sample)
    rest = ~sample.is_careful
    is_known = sample.known_mean is not None
    least = math.inf if is_known else _effective_units(sample, rest)
    if moments is None or moments.error == 0 or moments.freedom < 3 or least < 2:
        return None
    differs = sample.is_scored & (np.abs(sample.careful) > TIE_TOLERANCE)
    if (differing := np.count_nonzero(_sum_by_cluster(differs.astype(np.float64), sample))) < LEAST_DIFFERING:
        units = f"carefully judged {'queries' if sample.members is None else 'clusters'} that differ: {differing}"
        return _record_refusal(sample, f"{units}, and an interval that holds needs {LEAST_DIFFERING}")
    weights = np.ones(len(sample.proxy)) if sample.shares is None else sample.shares
    exact_mean, exact_residuals = _mean_and_residuals(sample.careful, weights * sample.is_scored)
    near_mean, near_residuals = _mean_and_residuals(sample.proxy, weights * sample.is_careful)
    far_mean, far_residuals = sample.known_mean, 0 * weights
    if far_mean is None:
        far_mean, far_residuals = _mean_and_residuals(sample.proxy, weights * rest)
    # The careful part is scaled to the standard error that the careful judgments have by themselves.
    errors = _sum_by_cluster(exact_residuals, sample)
    scale = moments.error / _norm(errors)
    errors, close = scale * errors, scale * _sum_by_cluster(near_residuals, sample)
    slopes = close - (1.0 if is_known else math.sqrt(least / (least - 1))) * _sum_by_cluster(far_residuals, sample)
    is_near = _sum_by_cluster(sample.is_careful.astype(np.float64), sample) > 0
    varies = is_known or np.ptp(sample.proxy[rest]) > TIE_TOLERANCE  # else their mean would be known without an error
    squares = exact_sum(np.square(slopes))
    share = max(0.0, exact_sum(errors * slopes) / squares) if varies and squares > 0 else 0.0
    squared = np.square(errors - share * slopes)
    factor = moments.freedom / (moments.freedom - 2)  # (n - 1) / (n - 2) by the slope, whose error adds 1 / (n - 3)
    careful_variance, proxy_variance = factor * exact_sum(squared[is_near]), exact_sum(squared[~is_near])
    variance = careful_variance + proxy_variance
    if variance <= NO_VARIANCE * moments.error**2:
        in_proportion = "the proxy differences are in proportion to the careful ones"
        return _record_refusal(sample, f"{in_proportion}: nothing tells how far off they are")
    careful_freedom = moments.freedom - 1
    if is_known:  # drawn queries, see `Paired.moments`
        moments = moments._replace(freedom=estimates.freedom_of_long_tails(errors, moments.freedom))
        careful_freedom = estimates.freedom_of_long_tails((errors - share * slopes)[is_near], careful_freedom)
    freedom = variance**2 / (careful_variance**2 / careful_freedom + proxy_variance**2 / (least - 1))
    width, usual = _reach(alpha, freedom, variance), _reach(alpha, moments.freedom, moments.error**2)
    if share == 0 or width >= usual:
        share, width, variance, freedom = 0.0, usual, moments.error**2, moments.freedom
    difference = exact_mean + share * (far_mean - near_mean)
    spread = _norm(errors) * _norm(close)
    careful = int(np.count_nonzero(sample.is_scored))
    return ProxyCorrected(
        difference=difference,
        low=moments.clip(difference - width),
        high=moments.clip(difference + width),
        p_value=2 * float(stdtr(freedom, -abs(difference) / math.sqrt(variance))),
        careful_queries=careful,
        cheap_queries=len(sample.proxy),
        correlation=float(np.clip(exact_sum(errors * close) / spread, -1, 1)) if spread > 0 else None,
        share=share,
        saved=careful * ((usual / width) ** 2 - 1),
    )


def _record_refusal(sample: ProxySample, why: str) -> ProxyCorrected:
    """Return a record that has a reason instead of a difference.

    why: the reason, in words.
    """
    careful = int(np.count_nonzero(sample.is_scored))
    return ProxyCorrected(None, None, None, None, careful, len(sample.proxy), None, 0.0, 0.0, why_none=why)


def check_balance(proxy: Column, judged: Collection[str]) -> Balance:
    """Test whether the carefully judged queries can be a random sample, by comparing proxy values.

    proxy: proxy values of all queries.
    judged: ids of the carefully judged queries, which are compared with all other queries.
    The p-value is 1 if the values do not vary, or if there are fewer than two units (queries or clusters) on one side.
    """
    (pairs,) = sort_by_query([proxy])
    judged_ids = set(judged)
    inside = np.array([query_id in judged_ids for query_id in pairs.query_ids], dtype=np.bool_)
    sample = ProxySample(pairs.differences, pairs.differences, inside, inside, pairs.shares, pairs.units.members)
    weights = np.ones(len(inside)) if pairs.shares is None else pairs.shares
    near_mean, near_residuals = _mean_and_residuals(sample.proxy, weights * inside)
    far_mean, far_residuals = _mean_and_residuals(sample.proxy, weights * ~inside)
    units = _effective_units(sample, inside), _effective_units(sample, ~inside)
    if min(units) < 2:
        return Balance(near_mean, far_mean, 1.0)
    sides = zip((near_residuals, far_residuals), units, strict=True)
    parts = [_sum_by_cluster(residuals, sample) * math.sqrt(n / (n - 1)) for residuals, n in sides]
    variance = exact_sum(np.square(parts[0] - parts[1]))
    if variance == 0:
        return Balance(near_mean, far_mean, 1.0)
    each = [exact_sum(np.square(part)) for part in parts]
    freedom = sum(each) ** 2 / sum(one**2 / (n - 1) for one, n in zip(each, units, strict=True))
    p_value = 2 * float(stdtr(freedom, -abs(near_mean - far_mean) / math.sqrt(variance)))
    return Balance(near_mean, far_mean, p_value)


def _careful_moments(sample: ProxySample) -> Moments | None:
    """Return the moments of the careful differences.

    Return None if there are fewer than two units, or if one query has nearly all the weight.
    """
    scored = sample.is_scored
    shares = None if sample.shares is None else sample.shares[scored]
    if np.count_nonzero(scored) < 2 or (shares is not None and has_dominant_weight(shares)):
        return None
    members = None if sample.members is None else np.unique(sample.members[scored], return_inverse=True)[1]
    if members is not None and members.max() < 1:
        return None
    return estimates.compute_moments(sample.careful[scored], shares, members)._replace(widest=sample.widest)


def _mean_and_residuals(values: FloatArray, weights: FloatArray) -> tuple[float, FloatArray]:
    """Return the weighted mean of the values, and the weighted residuals: weight / sum of weights * (value - mean)."""
    total = exact_sum(weights)
    mean = exact_sum(weights * values) / total
    return mean, weights * (values - mean) / total


def _sum_by_cluster(values: FloatArray, sample: ProxySample) -> FloatArray:
    """Return the sums of the values within clusters; without clusters the values themselves.

    values: (N,) one value per query. The result has one sum per cluster.
    """
    if sample.members is None:
        return values
    return np.bincount(sample.members, values).astype(np.float64)


def _effective_units(sample: ProxySample, chosen: NDArray[np.bool_]) -> float:
    """Return the effective number of units (queries, or clusters) among the chosen queries; 0 if none is chosen.

    chosen: (N,) True for the queries that count.
    """
    if not chosen.any():
        return 0.0
    weights = _sum_by_cluster(chosen.astype(np.float64) if sample.shares is None else chosen * sample.shares, sample)
    return estimates.effective_number(weights[weights > 0])


def _norm(values: FloatArray) -> float:
    return math.sqrt(exact_sum(np.square(values)))


def _reach(alpha: float, freedom: float, variance: float) -> float:
    return float(stdtrit(freedom, 1 - alpha / 2)) * math.sqrt(variance)
