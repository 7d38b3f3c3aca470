"""The position-based model fitted to counts: P(click) = examination of the place x attraction of the document.

Only documents that were shown at several places tell how much is the place and how much the document. `fit_joined` fits
the model to the places between which documents moved often enough, and takes the highest of them as the unit.

Expectation maximisation creeps: where few documents move between places, thousands of steps later the likelihood still
rises. In the logarithms of both factors the log likelihood is concave: there is one greatest likelihood. Given the
examination of the places the best attraction of each document is found exactly; what is left is a function of a dozen
places, which L-BFGS-B climbs in as many rounds. A step of expectation maximisation from there moves nothing, which says
that it is right: the SQL makes that step.

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
REMEMBERED = 12  # rounds, by which the curvature is known
FLAT = 1e-10  # a slope of the log likelihood, for each click, that is none
LEAST_LOG = -40.0  # of an examination
NARROWED = 100  # times at most that a factor is looked for: halving alone would take some fifty
CLOSE = 1e-14  # to a factor that is looked for
SMALLEST = 1e-12  # chance of no click, in place of 0: Newton's method doubles it until it is right
MOST_DOUBT = 0.4  # standard deviation of log(examination): a 95 % interval reaches from v / 2.2 to 2.2 v
MOST_PLACES = 1_000  # that are compared: those with the most clicks
BARELY = 1e-6  # clicks by which places are joined between which no document moved


class PlacedCounts(NamedTuple):
    """(n,) each: how often a document was shown at a place, and clicked there.

    document, place: numbers from 0 on, each of which occurs. impressions: above 0. clicks: at most as many.
    """

    document: IntArray
    place: IntArray
    impressions: FloatArray
    clicks: FloatArray


class PositionFit(NamedTuple):
    """attraction: (documents,). examination: (places,), the largest of them 1. Both in [0, 1]."""

    attraction: FloatArray
    examination: FloatArray


def fit_counts(counts: PlacedCounts, most_rounds: int = MOST_ROUNDS) -> PositionFit:
    """The model of the greatest likelihood; a document or a place without a click has the probability 0.

    Places tell products of the two factors alone: the examination of the most examined place is set to 1.
    """
    attraction = np.full(int(counts.document.max(initial=-1)) + 1, START)
    examination = np.zeros(int(counts.place.max(initial=-1)) + 1)
    clicks = np.bincount(counts.place, counts.clicks, len(examination))
    clicked, total = np.flatnonzero(clicks > 0), float(clicks.sum())
    if not total:
        return PositionFit(np.zeros(len(attraction)), examination)
    from scipy import optimize  # type: ignore[import-untyped]  # takes long, and only this model needs it

    silent, seen = counts.impressions - counts.clicks, counts.clicks > 0

    def loss(logs: FloatArray) -> tuple[float, FloatArray]:
        """Minus the log likelihood of the examination of the clicked places, for each click, and its slopes."""
        nonlocal attraction
        examination[clicked] = np.exp(logs)
        looked = examination[counts.place]
        attraction = best_attraction(counts, looked, attraction)
        chance = attraction[counts.document] * looked
        unclicked = np.maximum(1 - chance, SMALLEST)
        worth = counts.clicks[seen] @ np.log(chance[seen]) + silent @ np.log(unclicked)
        slopes = clicks - np.bincount(counts.place, silent * chance / unclicked, len(clicks))
        return -float(worth) / total, -slopes[clicked] / total

    found = optimize.minimize(
        loss,
        np.full(len(clicked), math.log(START)),
        jac=True,
        method="L-BFGS-B",
        bounds=[(LEAST_LOG, 0.0)] * len(clicked),
        options={"maxiter": most_rounds, "maxfun": 2 * most_rounds, "ftol": 0.0, "gtol": FLAT, "maxcor": REMEMBERED},
    )
    loss(found.x)
    top = float(examination.max())
    return PositionFit(np.minimum(attraction * top, 1.0), examination / top)


class JoinedFit(NamedTuple):
    """The position-based model of the places that the log joins.

    place: numbers of these places, rising. examination: of each, 1 for the first; another may be above 1. doubt: of
    each, the standard deviation of the logarithm of the examination. document: numbers of the documents that were shown
    at these places, rising. attraction: of each, the chance of a click at the first of these places. left_out: share of
    the impressions that are at other places. is_identified: documents moved, and the highest place is among these.
    """

    place: IntArray
    examination: FloatArray
    doubt: FloatArray
    document: IntArray
    attraction: FloatArray
    left_out: float
    is_identified: bool


def fit_joined(counts: PlacedCounts, most_rounds: int = MOST_ROUNDS) -> JoinedFit:
    """Fit the position-based model to the largest set of places whose examinations the log can compare.

    If no document was shown at two places, or nothing was clicked, each attraction is the plain click rate.
    """
    documents, places = (int(number.max(initial=-1)) + 1 for number in (counts.document, counts.place))
    if len(counts.document) == documents or not counts.clicks.sum():
        rate = np.bincount(counts.document, counts.clicks) / np.bincount(counts.document, counts.impressions)
        return JoinedFit(np.arange(places), np.ones(places), np.zeros(places), np.arange(documents), rate, 0.0, False)
    fit = fit_counts(counts, most_rounds)
    compared, variance = log_ratio_variances(counts, fit)
    impressions, clicks = (np.bincount(counts.place, many)[compared] for many in (counts.impressions, counts.clicks))
    is_near = variance <= MOST_DOUBT**2
    middle = np.lexsort((clicks, is_near @ impressions))[-1]
    joined = np.flatnonzero(is_near[middle])
    is_in = np.isin(counts.place, compared[joined])
    document, numbers = np.unique(counts.document[is_in], return_inverse=True)
    place = np.searchsorted(compared[joined], counts.place[is_in])
    inside = PlacedCounts(numbers, place, counts.impressions[is_in], counts.clicks[is_in])
    if not is_in.all():
        fit = fit_counts(inside, most_rounds)
    top = float(fit.examination[0])
    return JoinedFit(
        compared[joined],
        fit.examination / top,
        np.sqrt(variance[joined[0], joined]),
        document,
        np.minimum(fit.attraction * top, 1.0),
        1 - float(inside.impressions.sum() / counts.impressions.sum()),
        bool(compared[joined[0]] == 0),
    )


def log_ratio_variances(counts: PlacedCounts, fit: PositionFit) -> tuple[IntArray, FloatArray]:
    """Return the places with clicks, rising, and (places, places) the variance of log(examination / examination).

    Notes
    -----
    Fisher's information of the logarithms of attraction and examination is w = n q / (1 - q) for a document shown n
    times at a place with the chance q of a click. Without the attractions there is left a Laplacian of the places, with
    the weight sum over documents of w w' / (sum of w) between two places. The variance of a difference of two
    logarithms is the effective resistance between them: infinite, here very large, where no document moved.
    """
    from scipy import sparse  # takes long, and only this model needs it

    clicks = np.bincount(counts.place, counts.clicks)
    compared = np.sort(np.argsort(-clicks, kind="stable")[: min(MOST_PLACES, int((clicks > 0).sum()))])
    chance = fit.attraction[counts.document] * fit.examination[counts.place]
    weight = counts.impressions * chance / (1 - chance + 1 / counts.impressions)
    by_place = sparse.csr_array((weight, (counts.document, counts.place)))[:, compared]
    total = by_place.sum(axis=1)
    shares = by_place.multiply(1 / np.where(total > 0, total, 1.0)[:, None])
    joined = (by_place.T @ shares).toarray()
    np.fill_diagonal(joined, 0.0)
    laplacian = np.diag(joined.sum(axis=1) + BARELY) - joined
    try:
        inverse = np.linalg.inv(laplacian)
    except np.linalg.LinAlgError:  # weights so far apart that the smallest are rounded away
        inverse = np.linalg.pinv(laplacian, hermitian=True)
    known = np.diag(inverse)
    return compared, np.maximum(known[:, None] + known - inverse - inverse.T, 0.0)


def best_attraction(counts: PlacedCounts, examination: FloatArray, near: FloatArray) -> FloatArray:
    """Return the attraction of each document that has the greatest likelihood, given the examination of each row.

    near: (documents,) where to begin. The attraction x is where clicks = sum of (impressions - clicks) x examination /
    (1 - x examination), whose right side rises with x: by Newton's method, kept between what is too low and what is too
    high; 1 where nothing is too high, 0 without a click.
    """
    size, document = len(near), counts.document
    clicks = np.bincount(document, counts.clicks, size)
    silent = (counts.impressions - counts.clicks) * examination
    low, high, found = np.zeros(size), np.ones(size), np.where(near > 0, near, START)
    for _ in range(NARROWED):
        unclicked = np.maximum(1 - found[document] * examination, SMALLEST)
        missed = np.bincount(document, silent / unclicked, size)
        slope = np.bincount(document, silent / unclicked / unclicked, size)
        beyond = found * missed - clicks  # above 0 where the attraction is too high
        low, high = np.where(beyond <= 0, found, low), np.where(beyond >= 0, found, high)
        better = np.where(slope > 0, found - np.divide(beyond, slope, out=np.zeros(size), where=slope > 0), 1.0)
        better = np.where((better < low) | (better > high), (low + high) / 2, better)
        is_there = np.abs(better - found).max(initial=0.0) <= CLOSE
        found = better
        if is_there:
            break
    attraction: FloatArray = np.where(clicks > 0, found, 0.0)
    return attraction
