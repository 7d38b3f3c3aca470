"""What several judges say of one evaluation, as records: how far they agree, the verdict under each, their noise."""

from dataclasses import dataclass

from ndcg_core.statistics.verdicts.verdict import Verdict


@dataclass(frozen=True)
class Judge:
    """name: empty where judgments name none. documents, queries: that it judged. is_tested: whether it judged enough
    queries for verdicts of its own.
    """

    name: str
    documents: int
    queries: int
    is_tested: bool


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
class UnderJudge:
    """A candidate against the baseline by the judgments of one judge alone, on the queries that it judged.

    difference, low, high, p_adjusted, conclusion, verdict: as of a comparison.
    """

    judge: str
    candidate: str
    metric: str
    queries: int
    difference: float | None
    low: float | None
    high: float | None
    p_adjusted: float | None
    conclusion: Verdict
    verdict: str


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
    pairs: every two who share documents, the most shared first. verdicts: judge by judge. noise: empty where judges
    agree, and where it could not be computed.
    """

    judges: tuple[Judge, ...]
    several: int
    disagreed: int
    alpha: float | None
    pairs: tuple[TwoJudges, ...]
    verdicts: tuple[UnderJudge, ...]
    noise: tuple[JudgeNoise, ...]
