"""Compute the factors of ranks for measures that weight a rank by the documents above it."""

from collections.abc import Sequence
from typing import NamedTuple


class Walk(NamedTuple):
    """The gains and grades of a ranking, for measures that weight a rank by the documents above it.

    gains, grades: at the ranks within the cutoff, best first; the grade of an unjudged document is None.
    relevant, nonrelevant: numbers of documents judged for the query with a gain > 0, and of others with a grade >= 0.
    highest: the gain of the highest grade, > 0.
    """

    gains: Sequence[float]
    grades: Sequence[float | None]
    relevant: int
    nonrelevant: int
    highest: float


def precision_at_ranks(walk: Walk) -> list[float]:
    """Return the precision at every rank (trec_eval: map, map_cut)."""
    precisions, relevant = [], 0
    for rank, gain in enumerate(walk.gains, start=1):
        relevant += gain > 0
        precisions.append(relevant / rank)
    return precisions


def stopping_factors(walk: Walk) -> list[float]:
    """Return, per rank, 1 / rank times the probability that no document above satisfied the user.

    A document satisfies with the probability gain / 2^highest grade. (Chapelle, Metzler, Zhang and Grinspan, Expected
    Reciprocal Rank for Graded Relevance, CIKM 2009; gdeval.)
    """
    factors, looking = [], 1.0
    for rank, gain in enumerate(walk.gains, start=1):
        factors.append(looking / rank / (walk.highest + 1.0))
        looking *= 1.0 - gain / (walk.highest + 1.0)
    return factors


def within_relevant_factors(walk: Walk) -> list[float]:
    """Return 1 for the first R ranks, R the number of relevant documents, and 0 below (trec_eval: Rprec)."""
    return [1.0 if index < walk.relevant else 0.0 for index in range(len(walk.gains))]


def preference_factors(walk: Walk) -> list[float]:
    """Return, per rank, the share of the first R judged non-relevant documents that are not above (trec_eval: bpref).

    (Buckley and Voorhees, Retrieval Evaluation with Incomplete Information, SIGIR 2004.)  A document with a grade below
    0 counts as unjudged.
    """
    factors, above = [], 0
    for gain, grade in zip(walk.gains, walk.grades, strict=True):
        share = min(above, walk.relevant) / min(walk.nonrelevant, walk.relevant) if above and walk.relevant else 0.0
        factors.append(1.0 - share)
        above += gain == 0 and grade is not None and grade >= 0
    return factors


INFERRED = 0.00001  # trec_eval's INFAP_EPSILON


def inferred_precision_factors(walk: Walk) -> list[float]:
    """Return the expected precision at every rank if only a part of the pool is judged (trec_eval: infAP).

    (Yilmaz and Aslam, Estimating Average Precision with Incomplete and Imperfect Judgments, CIKM 2006.)  A grade below
    0 marks a document of the pool that was not drawn for judging; a document without a grade is not relevant.
    """
    factors, relevant, nonrelevant, undrawn = [], 0, 0, 0
    for rank, (gain, grade) in enumerate(zip(walk.gains, walk.grades, strict=True), start=1):
        pooled = relevant + nonrelevant + undrawn
        likely = (relevant + INFERRED) / (relevant + nonrelevant + 2 * INFERRED)
        factors.append((1.0 + pooled * likely) / rank)
        if gain > 0:
            relevant += 1
        elif grade is not None:
            nonrelevant += grade >= 0
            undrawn += grade < 0
    return factors
