"""The records of what a candidate changed, and of what several judges say, as an outcome keeps them."""

from dataclasses import dataclass

from ndcg_core.statistics.verdicts.record import Comparison


@dataclass(frozen=True)
class MovedDocuments:
    """Documents of one grade that came into the first places, and that went from them, over all queries.

    grade: None of the unjudged ones. entered, left: how many.
    """

    grade: float | None
    entered: int
    left: int


@dataclass(frozen=True)
class TopDocument:
    """One of a system's first places.

    rank: from 1. grade: None where it is unjudged. other_rank: its rank in the other system; None where it is not among
    the first places there: it left (of the baseline's), or entered (of the candidate's).
    """

    rank: int
    doc_id: str
    grade: float | None
    other_rank: int | None


@dataclass(frozen=True)
class ChangedQuery:
    """One query with the first places of both systems, at most ten of each.

    difference: candidate - baseline on the first metric. overlap, rbo: as of `Changes`, of this query.
    """

    query_id: str
    difference: float
    overlap: float
    rbo: float
    baseline: tuple[TopDocument, ...]
    candidate: tuple[TopDocument, ...]


@dataclass(frozen=True)
class Changes:
    """What one candidate changed in the first places against the baseline (docs/changes.md).

    metric: the first one; its order of documents is taken. depth: k, how many places: its cutoff, at most 100, 10 where
        it has none.
    queries: those that both are scored on. changed: of them, those with another document at any of the places.
        metric_changed: of these, those whose value on the metric changed.
    overlap, overlap_median: over the queries, of the share of the places that hold documents of both, 0 to 1.
    rbo, rbo_median: likewise of rank-biased overlap, extrapolated, p = .9, 0 to 1. None without a query.
    entered, left: documents that the candidate shows and the baseline does not, and the reverse; of them those with a
        grade above 0 (_relevant), and without one (_unjudged). grades: both by grade, the highest first, the unjudged
        ones last.
    largest: the queries that it wins most, then those that it loses most, at most three of each.
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
    largest: tuple[ChangedQuery, ...] = ()

    @property
    def changed_share(self) -> float | None:
        """Of the queries, those that changed, 0 to 1; None without a query."""
        return self.changed / self.queries if self.queries else None


@dataclass(frozen=True)
class Judge:
    """One judge, and the comparisons by the judgments of this judge alone.

    name: empty if judgments name none. documents, queries: how many the judge judged, >= 0.
    comparisons: those on primary metrics, on the queries that the judge judged; empty if these are too few.
    """

    name: str
    documents: int
    queries: int
    comparisons: tuple[Comparison, ...]


@dataclass(frozen=True)
class TwoJudges:
    """Two judges on the documents that both judged.

    shared: how many. same: the share with the same grade. kappa: Cohen's, 1 at best, 0 as by chance; None where all
    grades are one.
    """

    first: str
    second: str
    shared: int
    same: float
    kappa: float | None


@dataclass(frozen=True)
class JudgeNoise:
    """How far it moves the difference whose grade counts, where a judge is drawn at random for each document.

    mean, sd, lowest, highest: of the difference over the draws. turned: the share of draws in which it has the other
    sign than by the combined grades. queries: that hold a document on which judges disagree.
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
    """What several judges say.

    judges: the one with the most documents first. several, disagreed: documents that several judge, and on which they
    disagree. alpha: Krippendorff's, of ordinal grades, over all documents with several; None where all grades are one.
    pairs: every two who share documents, the most shared first. noise: empty where judges agree, and where it could
    not be computed.
    """

    judges: tuple[Judge, ...]
    several: int
    disagreed: int
    alpha: float | None
    pairs: tuple[TwoJudges, ...]
    noise: tuple[JudgeNoise, ...]
