"""Compute the factors of ranks for measures that weight a rank by the documents above it."""

from collections.abc import Sequence
from typing import NamedTuple


class GradedRanking(NamedTuple):
    """The gains and grades of a ranking, for measures that weight a rank by the documents above it.

    Attributes
    ----------
    gains : sequence of float
        Gain at each rank within the cutoff, from rank 1.
    grades : sequence of float or None
        Grade at each of these ranks; None if the document is unjudged.
    relevant : int
        Number of documents judged for the query that have a gain > 0.
    nonrelevant : int
        Number of documents judged for the query that have a grade >= 0 and no gain.
    highest : float
        Gain of the highest grade of the evaluation, > 0.
    """

    gains: Sequence[float]
    grades: Sequence[float | None]
    relevant: int
    nonrelevant: int
    highest: float


def precision_at_ranks(ranking: GradedRanking) -> list[float]:
    """Return the precision at every rank, from rank 1 (trec_eval: map, map_cut)."""
    precisions, relevant = [], 0
    for rank, gain in enumerate(ranking.gains, start=1):
        relevant += gain > 0
        precisions.append(relevant / rank)
    return precisions


def stopping_factors(ranking: GradedRanking) -> list[float]:
    """Return the factor of err at every rank: P(no document above satisfied the user) / (rank * 2^highest grade).

    A document satisfies the user with the probability gain / 2^highest grade, so that factor * gain is the term of the
    sum. (Chapelle, Metzler, Zhang and Grinspan, Expected Reciprocal Rank for Graded Relevance, CIKM 2009; gdeval.)
    """
    factors, looking = [], 1.0
    for rank, gain in enumerate(ranking.gains, start=1):
        factors.append(looking / rank / (ranking.highest + 1.0))
        looking *= 1.0 - gain / (ranking.highest + 1.0)
    return factors


def within_relevant_factors(ranking: GradedRanking) -> list[float]:
    """Return the factor of R-precision at every rank: 1 if the rank is at most R, else 0 (trec_eval: Rprec).

    R is the number of relevant documents of the query.
    """
    return [1.0 if index < ranking.relevant else 0.0 for index in range(len(ranking.gains))]


def preference_factors(ranking: GradedRanking) -> list[float]:
    """Return the factor of bpref at every rank: 1 - (judged non-relevant documents above, at most R) / min(R, N).

    R and N are the numbers of relevant and of judged non-relevant documents. A document with a grade below 0 counts as
    unjudged. The factor is 1 if no judged non-relevant document is above. (Buckley and Voorhees, Retrieval Evaluation
    with Incomplete Information, SIGIR 2004; trec_eval: bpref.)
    """
    factors, above, relevant = [], 0, ranking.relevant
    for gain, grade in zip(ranking.gains, ranking.grades, strict=True):
        share = min(above, relevant) / min(ranking.nonrelevant, relevant) if above and relevant else 0.0
        factors.append(1.0 - share)
        above += gain == 0 and grade is not None and grade >= 0
    return factors


INFERRED = 0.00001  # trec_eval's INFAP_EPSILON


def inferred_precision_factors(ranking: GradedRanking) -> list[float]:
    """Return the expected precision at every rank if only a part of the pool is judged (trec_eval: infAP).

    The document at the rank itself counts as relevant. A grade below 0 marks a document of the pool that was not drawn
    for judging; a document without a grade is not relevant. (Yilmaz and Aslam, Estimating Average Precision with
    Incomplete and Imperfect Judgments, CIKM 2006.)
    """
    factors, relevant, nonrelevant, undrawn = [], 0, 0, 0
    for rank, (gain, grade) in enumerate(zip(ranking.gains, ranking.grades, strict=True), start=1):
        pooled = relevant + nonrelevant + undrawn
        likely = (relevant + INFERRED) / (relevant + nonrelevant + 2 * INFERRED)
        factors.append((1.0 + pooled * likely) / rank)
        if gain > 0:
            relevant += 1
        elif grade is not None:
            nonrelevant += grade >= 0
            undrawn += grade < 0
    return factors
