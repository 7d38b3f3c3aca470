"""The records of a candidate's changes in the top ranks, and of the agreement of several judges."""

from dataclasses import dataclass

from ndcg_core.statistics.verdicts.record import Comparison


@dataclass(frozen=True)
class MovedDocuments:
    """The numbers of documents of one grade that entered and left the top ranks, summed over all queries.

    Attributes
    ----------
    grade : float or None
        Grade of the documents; None for unjudged documents.
    entered, left : int
        Number of documents that only the candidate has in its top ranks, and that only the baseline has.
    """

    grade: float | None
    entered: int
    left: int


@dataclass(frozen=True)
class TopDocument:
    """A document in the top ranks of a system.

    Attributes
    ----------
    rank : int
        Rank in the system, from 1.
    doc_id : str
        Id of the document.
    grade : float or None
        Grade of the document; None if unjudged.
    other_rank : int or None
        Rank in the other system; None if the document is not in the top ranks of that system.
    """

    rank: int
    doc_id: str
    grade: float | None
    other_rank: int | None


@dataclass(frozen=True)
class QueryDifference:
    """A query on which the first metric differs between baseline and candidate, with the top results of each.

    Attributes
    ----------
    query_id : str
        Id of the query.
    difference : float
        Candidate - baseline on the first metric.
    overlap : float
        Number of common documents divided by the length of the longer list, 0 to 1.
    rbo : float
        Rank-biased overlap of the two lists, extrapolated, p = .9, 0 to 1.
    baseline, candidate : tuple of TopDocument
        The top results of each system, at most ten.
    """

    query_id: str
    difference: float
    overlap: float
    rbo: float
    baseline: tuple[TopDocument, ...]
    candidate: tuple[TopDocument, ...]


@dataclass(frozen=True)
class RankingChanges:
    """The changes that one candidate makes in the top ranks, compared with the baseline (docs/changes.md).

    Attributes
    ----------
    candidate, baseline : str
        Names of the systems.
    metric : str
        The first metric, whose order of documents is used.
    depth : int
        Number of top ranks k that are compared: the cutoff of the metric, at most 100, or 10 without a cutoff.
    queries : int
        Number of queries on which both systems are scored.
    changed : int
        Number of these queries with a different document at any of these ranks.
    metric_changed : int
        Number of the changed queries whose value of the metric changed.
    overlap, overlap_median : float or None
        Mean and median over the queries of the share of common documents in the longer list, 0 to 1.
    rbo, rbo_median : float or None
        Mean and median over the queries of rank-biased overlap, extrapolated, p = .9, 0 to 1.
    entered, entered_relevant, entered_unjudged : int
        Numbers of documents that only the candidate has: all, those with a grade above 0, and those without a grade.
    left, left_relevant, left_unjudged : int
        Numbers of documents that only the baseline has: all, those with a grade above 0, and those without a grade.
    grades : tuple of MovedDocuments
        Entered and left documents by grade, the highest grade first and unjudged documents last.
    largest : tuple of QueryDifference
        The queries that the candidate wins most, then those that it loses most, at most three of each.
    """

    candidate: str
    baseline: str
    metric: str
    depth: int
    queries: int
    changed: int
    metric_changed: int
    overlap: float | None
    overlap_median: float | None
    rbo: float | None
    rbo_median: float | None
    entered: int
    entered_relevant: int
    entered_unjudged: int
    left: int
    left_relevant: int
    left_unjudged: int
    grades: tuple[MovedDocuments, ...] = ()
    largest: tuple[QueryDifference, ...] = ()


@dataclass(frozen=True)
class Judge:
    """A judge, with the comparisons that use only the judgments of this judge.

    Attributes
    ----------
    name : str
        Name of the judge; empty if judgments name no judge.
    documents : int
        Number of documents that the judge judged.
    queries : int
        Number of queries of these documents.
    comparisons : tuple of Comparison
        Comparisons on primary metrics over these queries. Empty if the queries are too few or cannot be scored, or if
        this is not one of the ten judges with the most documents among those with enough queries.
    """

    name: str
    documents: int
    queries: int
    comparisons: tuple[Comparison, ...]


@dataclass(frozen=True)
class TwoJudges:
    """The agreement of two judges on the documents that both judged.

    Attributes
    ----------
    first, second : str
        Names of the judges.
    shared : int
        Number of documents that both judged.
    same : float
        Share of the shared documents with equal grades, 0 to 1.
    kappa : float or None
        Cohen's kappa, at most 1, 0 at chance level; None if all grades are equal.
    """

    first: str
    second: str
    shared: int
    same: float
    kappa: float | None


@dataclass(frozen=True)
class JudgeNoise:
    """The variation of a difference if each document's grade is drawn at random from the judges' grades.

    Attributes
    ----------
    candidate, metric : str
        The comparison with the baseline.
    draws : int
        Number of draws.
    queries : int
        Number of queries with a document on which judges disagree.
    mean, sd, lowest, highest : float
        Mean, standard deviation, minimum and maximum of the difference over the draws.
    turned : float
        Share of draws in which the difference has the opposite sign of the measured difference, 0 to 1.
    """

    candidate: str
    metric: str
    draws: int
    queries: int
    mean: float
    sd: float
    lowest: float
    highest: float
    turned: float


@dataclass(frozen=True)
class Judges:
    """The agreement of all judges.

    Attributes
    ----------
    judges : tuple of Judge
        The judges with the most documents come first.
    several : int
        Number of documents with several judges.
    disagreed : int
        Number of documents on which judges disagree.
    alpha : float or None
        Krippendorff's alpha of ordinal grades, over all documents with several judges; None if all grades are equal.
    pairs : tuple of TwoJudges
        The pairs of judges, sorted by their number of shared documents, the largest first. Only the first 45 are kept.
        Pairs without shared documents are left out.
    noise : tuple of JudgeNoise
        The variation of each difference by disagreement; empty if judges agree, or if it could not be computed.
    """

    judges: tuple[Judge, ...]
    several: int
    disagreed: int
    alpha: float | None
    pairs: tuple[TwoJudges, ...]
    noise: tuple[JudgeNoise, ...]
