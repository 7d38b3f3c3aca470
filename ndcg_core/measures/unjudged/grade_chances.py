"""Estimate the probability of each grade of an unjudged result from judged results at similar ranks."""

from typing import NamedTuple

import numpy as np

from ndcg_core.measures.metric import Metric
from ndcg_core.measures.score import gain
from ndcg_core.measures.unjudged.contributions import FloatArray, Gains, IntArray, JudgedCounts, RankedResults

BANDS = (2, 5, 10, 20, 50)  # the last rank of each band but the last, which has no end
SHRINKAGE = 2.0  # results: the weight of the distribution over all bands in that of each band


class GradeChances(NamedTuple):
    """The probabilities of the grades of an unjudged result, by rank band.

    Attributes
    ----------
    grades : (g,) array of float
        The possible grades, rising.
    chances : (bands, g) array of float
        Probability of each grade in each rank band; each row sums to 1.
    """

    grades: FloatArray
    chances: FloatArray


def rank_band(rank: IntArray) -> IntArray:
    """Return the index of the rank band of each rank.

    The bands are ranks 1 to 2, 3 to 5, 6 to 10 and so on; the last band has no end.
    """
    return np.searchsorted(BANDS, rank, side="left").astype(np.int64)


def typical_gaining_grade(metric: Metric) -> float | None:
    """Return a grade that has a gain, for judgments among which no grade has one.

    The result is the first of these grades that has a gain and is at most `max_grade`: 1, `relevant_from`, `max_grade`;
    or the grades of the gain table, rising. Return None if none of them has a gain.
    """
    rule = metric.effective_gain
    rule_grades = (1.0, metric.relevant_from, metric.max_grade) if isinstance(rule, str) else sorted(dict(rule))
    highest = np.inf if metric.max_grade is None else metric.max_grade
    gaining = (grade for grade in rule_grades if grade is not None and grade <= highest and gain(metric, grade) > 0)
    return next(gaining, None)


def estimate_chances(metric: Metric, judged: JudgedCounts, *systems: RankedResults) -> GradeChances:
    """Estimate the probabilities of the grades of an unjudged result, by rank band.

    They are estimated from the judged results of all systems.
    The distribution over all bands is added to each band with the weight of two results. If no result is judged, every
    band has the distribution of the judgments. If no judged grade has a gain, one result with the grade
    `typical_gaining_grade` is added to the distribution over all bands. At least one document must be judged.
    """
    grades = np.array(judged.grades)
    least = None if any(gain(metric, grade) > 0 for grade in judged.grades) else typical_gaining_grade(metric)
    if least is not None:
        grades = np.array(sorted({*judged.grades, least}))
    counts = np.zeros((len(BANDS) + 1, len(grades)))
    for ranked in systems:
        rows = ranked.take(ranked.is_judged)
        np.add.at(counts, (rank_band(rows.rank), np.searchsorted(grades, rows.grade)), 1.0)
    overall = counts.sum(axis=0)
    if not overall.any():
        overall = np.bincount(np.searchsorted(grades, judged.grade), judged.documents, len(grades)).astype(np.float64)
    if least is not None:
        overall[grades == least] += 1.0
    chances = counts + SHRINKAGE * overall / overall.sum()
    return GradeChances(grades, chances / chances.sum(axis=1, keepdims=True))


def expect_gain(metric: Metric, chances: GradeChances, factor: float) -> Gains:
    """Return the expected gain of an unjudged result in each rank band, with its variance and probabilities.

    factor: number >= 0 by which the probabilities of the grades with a gain are multiplied. It is limited so that they
        sum to at most 1. With the remaining probability the result has no gain.
    Source: docs/labels.md, "Unjudged results".
    """
    gains = np.array([gain(metric, grade) for grade in chances.grades.tolist()])
    gaining = chances.chances * (gains > 0)
    relevant = gaining.sum(axis=1)
    scale = np.minimum(factor, np.divide(1.0, relevant, out=np.zeros_like(relevant), where=relevant > 0))
    mean = scale * (gaining @ gains)
    variance = np.maximum(scale * (gaining @ np.square(gains)) - np.square(mean), 0.0)
    return Gains(mean, variance, scale * relevant, 1.0 - scale * relevant, np.ones(len(relevant)))
