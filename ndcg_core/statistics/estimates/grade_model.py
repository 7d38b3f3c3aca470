"""How likely each grade is for an unjudged document: an ordinal regression with an effect of each query.

The grades rise in levels 0, 1, ... and a document climbs them one after another (continuation ratios): with x its
features and q its query,

    P(level >= j | level >= j - 1) = 1 / (1 + exp(-(start_j + slope x + effect_q)))

so that every choice of numbers gives chances that sum to 1. effect_q ~ N(0, between^2), between found from the data
(empirical Bayes); starts and slopes have normal priors of the spreads given, wide or narrow. All of them are found
together by Newton's method; their posterior is taken to be normal around the maximum (Laplace). Proper imputation draws
these numbers before it draws grades (D. B. Rubin, Multiple Imputation for Nonresponse in Surveys, 1987).

A spread that is learned is where expectation maximisation ends: the mean of effect^2 + variance is between^2. That
takes hundreds of rounds where effects are small beside their variances. Solved for the part of the effects that the
data determine, sum(effect^2) / sum(1 - variance / between^2), it has the same end, and a secant of two rounds leads
there in about a dozen.

Sources: A. Agresti, Analysis of Ordinal Categorical Data (2010), section 4.2 (continuation ratios). N. M. Laird and
J. H. Ware, Random-effects models for longitudinal data, Biometrics 38 (1982) (empirical Bayes). D. J. C. MacKay,
Bayesian interpolation, Neural Computation 4 (1992) (the part that the data determine).
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcg_core.statistics.estimates.features import Features, Products

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

START_SPREAD = 5.0  # prior of the starts, on the scale of log odds: says next to nothing
ROUNDS = 100
CLOSE = 1e-4  # a round that moves no log odds, nor the effects' spread, by more is the last
LONGEST = 4.0  # step of log odds; of a longer one the next may lead back to where it came from, and so on
LEAST_BETWEEN, MOST_BETWEEN = 0.05, 10.0
FURTHER = 10.0  # times what a round moves a number: more a secant does not move it
GUESSED = 2
NODES = 7  # of the quadrature over an effect


class Graded(NamedTuple):
    """What is known of judged documents.

    features: of n documents. query: (n,) number of each one's query, from 0 on. level: (n,) number of its grade among
    the rising levels.
    """

    features: Features
    query: IntArray
    level: IntArray


class Fitted(NamedTuple):
    """The maximum, and the normal posterior around it.

    values: (levels - 1 + p,) starts and slopes. effects: (queries,). covariance: of the values. leverage: (queries,
    levels - 1 + p) how much an effect falls as the values rise. spreads: (queries,) of the effects, given the values.
    between: spread of the effects of all queries. alike: (slopes of one kind,) the precision of their prior, learned.
    """

    values: FloatArray
    effects: FloatArray
    covariance: FloatArray
    leverage: FloatArray
    spreads: FloatArray
    between: float
    alike: FloatArray

    def reached(self, features: Features, query: IntArray) -> FloatArray:
        """(levels - 1, n) chances of a level or a higher one, the mean over what the effects may be."""
        places, weights = np.polynomial.hermite_e.hermegauss(NODES)
        parts = [
            weight * _reached(self.values, self.effects + place * self.spreads, features, query)
            for place, weight in zip(places.tolist(), (weights / weights.sum()).tolist(), strict=True)
        ]
        found: FloatArray = np.sum(parts, axis=0)
        return found

    def draw(self, generator: np.random.Generator, features: Features, query: IntArray, draws: int) -> IntArray:
        """(draws, n) levels; each draw is first of values and effects, then of each document."""
        root = np.linalg.cholesky(self.covariance)
        found = np.zeros((draws, len(query)), dtype=np.int64)
        for line in found:
            values = self.values + root @ generator.standard_normal(len(self.values))
            moved = self.effects - self.leverage @ (values - self.values)
            effects = moved + self.spreads * generator.standard_normal(len(self.spreads))
            chances = _reached(values, effects, features, query)
            line[:] = (generator.random(len(query)) < chances).sum(axis=0)
        return found


def _reached(values: FloatArray, effects: FloatArray, features: Features, query: IntArray) -> FloatArray:
    starts, slopes = np.split(values, [len(values) - features.shape[1]])
    chances = expit(starts[:, None] + features.times(slopes) + effects[query])
    return np.asarray(np.cumprod(chances, axis=0), dtype=np.float64)


def expit(odds: FloatArray) -> FloatArray:
    """1 / (1 + exp(-odds)), without overflow."""
    found: FloatArray = 0.5 * (1 + np.tanh(0.5 * odds))
    return found


def fit_model(
    graded: Graded, levels: int, queries: int, spreads: FloatArray, alike: int = 0, begin: Fitted | None = None
) -> Fitted:
    """The model of so many levels, >= 2; spreads: (p,) of the slopes' priors, around 0.

    alike: how many slopes, the last ones, are of one kind, whose spread is learned; the one given counts as that of
    GUESSED slopes. Queries without a judged document have the effect 0, and the spread of all.
    begin: the model of nearly the same documents, from which fewer rounds lead to the same maximum.
    """
    steps = levels - 1
    values, effects, between = np.zeros(steps + len(spreads)), np.zeros(queries), 1.0
    if begin is not None:
        values, effects, between = begin.values, begin.effects, begin.between
    precision = np.concatenate([np.full(steps, START_SPREAD**-2.0), spreads**-2.0])
    has_judged = np.bincount(graded.query, minlength=queries) > 0
    last = np.arange(len(values)) >= len(values) - alike
    precision[last] = precision[last] if begin is None else begin.alike
    products = Products(graded.features)
    spread_steps = SecantSteps()
    for _ in range(ROUNDS):
        slope, curve = _derivatives(graded, products, values, effects, steps)
        inner = curve.of_effects + between**-2
        leverage = curve.mixed / inner[:, None]
        information = curve.of_values + np.diag(precision) - curve.mixed.T @ leverage
        covariance = np.asarray(np.linalg.inv(information), dtype=np.float64)
        of_effects = slope.of_effects - effects / between**2
        step = covariance @ (slope.of_values - precision * values - leverage.T @ of_effects)
        step_of_effects = of_effects / inner - leverage @ step
        moved = graded.features.times(step[steps:]) + step_of_effects[graded.query]
        longest = float(np.abs(step[:steps, None] + moved).max())
        shorter = min(1.0, LONGEST / longest) if longest > 0 else 1.0
        values, effects = values + shorter * step, effects + shorter * step_of_effects
        variance = 1 / inner + np.sum(leverage @ covariance * leverage, axis=1)
        before = between
        if alike:
            determined = alike - float(np.sum(precision[last] * np.diag(covariance)[last]))
            precision[last] = (determined + GUESSED) / (np.sum(values[last] ** 2) + GUESSED * spreads[-1] ** 2)
        determined = float(np.sum(1 - variance[has_judged] / between**2))
        spread = math.sqrt(float(np.sum(effects**2)) / max(determined, 1e-12))
        spread = min(max(spread, LEAST_BETWEEN), MOST_BETWEEN)
        moved_by = spread_steps.next(math.log(spread / before))
        between = min(max(before * math.exp(moved_by), LEAST_BETWEEN), MOST_BETWEEN)
        if max(shorter * longest, abs(between - before)) < CLOSE:
            break
    return Fitted(values, effects, covariance, leverage, np.power(inner, -0.5), between, precision[last])


class SecantSteps:
    """Steps to where a round moves a number no more, which are longer than what the rounds move it."""

    def __init__(self) -> None:
        self.moved = 0.0  # what the round before moved it
        self.step = 0.0  # and how far it went then

    def next(self, moved: float) -> float:
        """How far to go; moved: what a round moves the number. As far as that, where nothing is known of its change."""
        step, fallen = moved, self.moved - moved
        if moved * self.step > 0 and fallen * self.moved > 0:
            step = math.copysign(min(abs(self.step * moved / fallen), FURTHER * abs(moved)), moved)
        self.moved, self.step = moved, step
        return step


class _Slope(NamedTuple):
    of_values: FloatArray
    of_effects: FloatArray


class _Curve(NamedTuple):
    """Minus the second derivatives: (v, v), (queries, v), (queries,)."""

    of_values: FloatArray
    mixed: FloatArray
    of_effects: FloatArray


def _derivatives(
    graded: Graded, products: Products, values: FloatArray, effects: FloatArray, steps: int
) -> tuple[_Slope, _Curve]:
    """Of the log likelihood, at these values and effects."""
    features, query, level = graded
    queries, count = len(effects), len(values)
    odds = features.times(values[steps:]) + effects[query]
    rest, weight = np.zeros(len(level)), np.zeros(len(level))
    slope, curve, mixed = np.zeros(count), np.zeros((count, count)), np.zeros((queries, count))
    for step in range(steps):
        met = level >= step
        chance = expit(odds + values[step])
        left = np.where(met, (level > step) - chance, 0.0)
        bent = np.where(met, chance * (1 - chance), 0.0)
        rest += left
        weight += bent
        slope[step] = left.sum()
        curve[step, step] = bent.sum()
        curve[step, steps:] = curve[steps:, step] = features.summed(bent)
        mixed[:, step] = np.bincount(query, bent, queries)
    slope[steps:] = features.summed(rest)
    curve[steps:, steps:] = products.weighted(weight)
    mixed[:, steps:] = features.summed_by(query, queries, weight)
    risen, bent_together = (np.bincount(query, each, queries).astype(np.float64) for each in (rest, weight))
    return _Slope(slope, risen), _Curve(curve, mixed, bent_together)
