"""Fit the position-based click model: P(click) = examination of the rank x attraction of the document.

Only documents that were shown at several ranks separate the effect of the rank from that of the document. `fit_joined`
fits the model to the ranks between which documents moved often enough, and sets the examination of the highest of these
ranks to 1.

Expectation maximisation converges slowly: if few documents move between ranks, the likelihood still rises thousands of
steps later. The log likelihood is concave in the logarithms of the two factors, so there is one maximum. Given the
examination of the ranks, the best attraction of each document is found exactly; what is left is a function of a dozen
ranks, which L-BFGS-B maximises in as many rounds. A step of expectation maximisation from there changes nothing, which
verifies the result; the SQL makes that step.

Sources: N. Craswell, O. Zoeter, M. Taylor and B. Ramsey, An experimental comparison of click position-bias models, WSDM
2008. A. Chuklin, I. Markov and M. de Rijke, Click Models for Web Search (2015), 4.2 (the step, here without prior
counts). R. H. Byrd, P. Lu, J. Nocedal and C. Zhu, A limited memory algorithm for bound constrained optimization, SIAM
J. Scientific Computing 16 (1995), by scipy.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

START = 0.5  # every probability before the first round
MOST_ROUNDS = 500
REMEMBERED = 12  # rounds from which L-BFGS-B estimates the curvature
FLAT = 1e-10  # slope of the log likelihood per click that counts as 0
LEAST_LOG = -40.0  # lowest logarithm of an examination
NARROWED = 100  # iterations at most when solving for a factor: bisection alone would take some fifty
CLOSE = 1e-14  # relative precision of a factor that is solved for
SMALLEST = 1e-12  # probability of no click, instead of 0: Newton's method doubles it until it is right
MOST_DOUBT = 0.4  # standard deviation of log(examination): a 95 % interval reaches from v / 2.2 to 2.2 v
MOST_RANKS = 1_000  # ranks that are compared at most: those with the most clicks
BARELY = 1e-6  # clicks that join ranks between which no document moved


class ClickCounts(NamedTuple):
    """The numbers of impressions and clicks of documents at ranks, as columns of n rows.

    Attributes
    ----------
    document, rank : (n,) array of int
        Index of the document and of the rank, both from 0 without gaps.
    impressions : (n,) array of float
        How often the document was shown at the rank, > 0.
    clicks : (n,) array of float
        How often it was clicked there, from 0 to `impressions`.
    """

    document: IntArray
    rank: IntArray
    impressions: FloatArray
    clicks: FloatArray


def fit_counts(counts: ClickCounts, most_rounds: int = MOST_ROUNDS) -> tuple[FloatArray, FloatArray]:
    """Fit the position-based click model by maximum likelihood.

    Return the (documents,) attractions and the (ranks,) examinations, whose product is the probability of a click. All
    values are in [0, 1], and 0 for a document or a rank without a click. Only products of the two factors are
    identified, so the examination of the most examined rank is set to 1. most_rounds: largest number of iterations.
    """
    attraction = np.full(int(counts.document.max(initial=-1)) + 1, START)
    examination = np.zeros(int(counts.rank.max(initial=-1)) + 1)
    clicks = np.bincount(counts.rank, counts.clicks, len(examination))
    clicked, total = np.flatnonzero(clicks > 0), float(clicks.sum())
    if not total:
        return np.zeros(len(attraction)), examination
    from scipy import optimize  # type: ignore[import-untyped]  # takes long, and only this model needs it

    skipped, is_clicked = counts.impressions - counts.clicks, counts.clicks > 0

    def loss(logs: FloatArray) -> tuple[float, FloatArray]:
        """Return the negative log likelihood divided by the number of clicks, and its gradient by `logs`.

        logs: logarithms of the probabilities that users examine the clicked ranks, one for each clicked rank.
        """
        nonlocal attraction
        examination[clicked] = np.exp(logs)
        looked = examination[counts.rank]
        attraction = best_attraction(counts, looked, attraction)
        chance = attraction[counts.document] * looked
        unclicked = np.maximum(1 - chance, SMALLEST)
        worth = counts.clicks[is_clicked] @ np.log(chance[is_clicked]) + skipped @ np.log(unclicked)
        slopes = clicks - np.bincount(counts.rank, skipped * chance / unclicked, len(clicks))
        return -float(worth) / total, -slopes[clicked] / total

    optimum = optimize.minimize(
        loss,
        np.full(len(clicked), math.log(START)),
        jac=True,
        method="L-BFGS-B",
        bounds=[(LEAST_LOG, 0.0)] * len(clicked),
        options={"maxiter": most_rounds, "maxfun": 2 * most_rounds, "ftol": 0.0, "gtol": FLAT, "maxcor": REMEMBERED},
    )
    loss(optimum.x)
    top = float(examination.max())
    return np.minimum(attraction * top, 1.0), examination / top


class JoinedFit(NamedTuple):
    """The position-based click model of ranks that can be compared, because documents were shown at several of them.

    Attributes
    ----------
    rank : array of int
        Indices of these ranks, rising.
    examination : array of float
        Examination of each of these ranks relative to the first of them, whose value is 1; others can be above 1.
    doubt : array of float
        Standard error of the logarithm of each examination.
    document : array of int
        Indices of the documents shown at these ranks, rising.
    attraction : array of float
        Click probability, in [0, 1], of each document at the first of these ranks.
    left_out : float
        Share of the impressions that are at other ranks.
    is_identified : bool
        True if documents were shown at several ranks and the top rank is among these ranks.
    """

    rank: IntArray
    examination: FloatArray
    doubt: FloatArray
    document: IntArray
    attraction: FloatArray
    left_out: float
    is_identified: bool


def fit_joined(counts: ClickCounts, most_rounds: int = MOST_ROUNDS) -> JoinedFit:
    """Fit the position-based click model to the largest set of ranks whose examinations the log can compare.

    If no document was shown at two ranks, or nothing was clicked, all ranks are used: each attraction is then the plain
    click rate of the document, each examination is 1, and `is_identified` is False.
    """
    documents, ranks = (int(number.max(initial=-1)) + 1 for number in (counts.document, counts.rank))
    if len(counts.document) == documents or not counts.clicks.sum():
        rate = np.bincount(counts.document, counts.clicks) / np.bincount(counts.document, counts.impressions)
        return JoinedFit(np.arange(ranks), np.ones(ranks), np.zeros(ranks), np.arange(documents), rate, 0.0, False)
    attraction, examination = fit_counts(counts, most_rounds)
    compared, variance = log_ratio_variances(counts, attraction, examination)
    impressions, clicks = (np.bincount(counts.rank, many)[compared] for many in (counts.impressions, counts.clicks))
    is_near = variance <= MOST_DOUBT**2
    middle = np.lexsort((clicks, is_near @ impressions))[-1]
    joined = np.flatnonzero(is_near[middle])
    is_in = np.isin(counts.rank, compared[joined])
    document, numbers = np.unique(counts.document[is_in], return_inverse=True)
    rank = np.searchsorted(compared[joined], counts.rank[is_in])
    inside = ClickCounts(numbers, rank, counts.impressions[is_in], counts.clicks[is_in])
    if not is_in.all():
        attraction, examination = fit_counts(inside, most_rounds)
    top = float(examination[0])
    return JoinedFit(
        compared[joined],
        examination / top,
        np.sqrt(variance[joined[0], joined]),
        document,
        np.minimum(attraction * top, 1.0),
        1 - float(inside.impressions.sum() / counts.impressions.sum()),
        bool(compared[joined[0]] == 0),
    )


def log_ratio_variances(
    counts: ClickCounts, attraction: FloatArray, examination: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Return the indices of the clicked ranks, and how uncertain the examination of each is relative to each other one.

    The second result is a square matrix: for two of the ranks, the variance of the logarithm of the ratio of their
    examinations. At most the `MOST_RANKS` ranks with the most clicks are returned.

    Notes
    -----
    Fisher's information of the logarithms of attraction and examination is w = n q / (1 - q) for a document shown n
    times at a rank with the click probability q. Without the attractions, a Laplacian of the ranks remains, with the
    weight sum over documents of w w' / (sum of w) between two ranks. The variance of a difference of two logarithms is
    the effective resistance between the ranks: infinite, here very large, if no document moved.
    """
    from scipy import sparse  # takes long, and only this model needs it

    clicks = np.bincount(counts.rank, counts.clicks)
    compared = np.sort(np.argsort(-clicks, kind="stable")[: min(MOST_RANKS, int((clicks > 0).sum()))])
    chance = attraction[counts.document] * examination[counts.rank]
    weight = counts.impressions * chance / (1 - chance + 1 / counts.impressions)
    by_rank = sparse.csr_array((weight, (counts.document, counts.rank)))[:, compared]
    total = by_rank.sum(axis=1)
    shares = by_rank.multiply(1 / np.where(total > 0, total, 1.0)[:, None])
    joined = (by_rank.T @ shares).toarray()
    np.fill_diagonal(joined, 0.0)
    laplacian = np.diag(joined.sum(axis=1) + BARELY) - joined
    try:
        inverse = np.linalg.inv(laplacian)
    except np.linalg.LinAlgError:  # weights so far apart that the smallest are rounded away
        inverse = np.linalg.pinv(laplacian, hermitian=True)
    known = np.diag(inverse)
    return compared, np.maximum(known[:, None] + known - inverse - inverse.T, 0.0)


def best_attraction(counts: ClickCounts, examination: FloatArray, near: FloatArray) -> FloatArray:
    """Return the (documents,) attractions of maximum likelihood if the examinations are known.

    examination: examination of the rank in each row of `counts`.
    near: (documents,) values from which the iteration starts.

    The attraction x solves clicks = sum of (impressions - clicks) x examination / (1 - x examination), whose right side
    rises with x, by Newton's method with bisection. It is 1 if even x = 1 does not make the right side too large, and 0
    for a document without a click.
    """
    size, document = len(near), counts.document
    clicks = np.bincount(document, counts.clicks, size)
    skipped_weight = (counts.impressions - counts.clicks) * examination
    low, high, estimate = np.zeros(size), np.ones(size), np.where(near > 0, near, START)
    for _ in range(NARROWED):
        unclicked = np.maximum(1 - estimate[document] * examination, SMALLEST)
        missed = np.bincount(document, skipped_weight / unclicked, size)
        slope = np.bincount(document, skipped_weight / unclicked / unclicked, size)
        beyond = estimate * missed - clicks  # above 0 where the attraction is too high
        low, high = np.where(beyond <= 0, estimate, low), np.where(beyond >= 0, estimate, high)
        better = np.where(slope > 0, estimate - np.divide(beyond, slope, out=np.zeros(size), where=slope > 0), 1.0)
        better = np.where((better < low) | (better > high), (low + high) / 2, better)
        is_there = np.abs(better - estimate).max(initial=0.0) <= CLOSE
        estimate = better
        if is_there:
            break
    attraction: FloatArray = np.where(clicks > 0, estimate, 0.0)
    return attraction
