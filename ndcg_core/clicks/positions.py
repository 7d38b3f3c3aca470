"""The position-based model fitted to counts: P(click) = examination of the place x attraction of the document.

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


class PlacedCounts(NamedTuple):
    """(n,) each: how often a document was shown at a place, and clicked there.

    document, place: numbers from 0 on, each of which occurs. impressions: above 0. clicks: at most as many.
    """

    document: IntArray
    place: IntArray
    impressions: FloatArray
    clicks: FloatArray


class PositionFit(NamedTuple):
    """attraction: (documents,). examination: (places,), the largest of them 1. Both in [0, 1].

    rounds: in which the likelihood was looked at.
    """

    attraction: FloatArray
    examination: FloatArray
    rounds: int


def fit_counts(counts: PlacedCounts, most_rounds: int = MOST_ROUNDS) -> PositionFit:
    """The model of the greatest likelihood; a document or a place without a click has the probability 0.

    Places tell products of the two factors alone: the examination of the most examined place is set to 1.
    """
    attraction = np.full(int(counts.document.max(initial=-1)) + 1, START)
    examination = np.zeros(int(counts.place.max(initial=-1)) + 1)
    clicks = np.bincount(counts.place, counts.clicks, len(examination))
    clicked, total = np.flatnonzero(clicks > 0), float(clicks.sum())
    if not total:
        return PositionFit(np.zeros(len(attraction)), examination, 0)
    from scipy import optimize  # type: ignore[import-untyped]  # takes long, and only this model needs it

    silent, seen = counts.impressions - counts.clicks, counts.clicks > 0

    def loss(logs: FloatArray) -> tuple[float, FloatArray]:
        """Minus the log likelihood of the examination of the clicked places, for each click, and its slopes."""
        nonlocal attraction
        examination[clicked] = np.exp(logs)
        looked = examination[counts.place]
        attraction = best_factor(counts, counts.document, looked, attraction)
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
    return PositionFit(np.minimum(attraction * top, 1.0), examination / top, int(found.nfev))


def best_factor(counts: PlacedCounts, number: IntArray, other: FloatArray, near: FloatArray) -> FloatArray:
    """(m,) of each document, or of each place, the factor x of the greatest likelihood, given the other one.

    number: (n,) of documents, or of places, below m. other: (n,) the other factor of each row. near: (m,) where to
    begin. It is where clicks = sum of (impressions - clicks) x other / (1 - x other), whose right side rises with x:
    by Newton's method, kept between what is too low and what is too high; 1 where nothing is too high, 0 without a
    click.
    """
    size = len(near)
    clicks = np.bincount(number, counts.clicks, size)
    silent = (counts.impressions - counts.clicks) * other
    low, high, found = np.zeros(size), np.ones(size), np.where(near > 0, near, START)
    for _ in range(NARROWED):
        unclicked = np.maximum(1 - found[number] * other, SMALLEST)
        missed = np.bincount(number, silent / unclicked, size)
        slope = np.bincount(number, silent / unclicked / unclicked, size)
        beyond = found * missed - clicks  # above 0 where the factor is too high
        low, high = np.where(beyond <= 0, found, low), np.where(beyond >= 0, found, high)
        better = np.where(slope > 0, found - np.divide(beyond, slope, out=np.zeros(size), where=slope > 0), 1.0)
        better = np.where((better < low) | (better > high), (low + high) / 2, better)
        is_there = np.abs(better - found).max(initial=0.0) <= CLOSE
        found = better
        if is_there:
            break
    factor: FloatArray = np.where(clicks > 0, found, 0.0)
    return factor
