"""Compare two sets of judgments by grades, order of systems, and verdicts: `ndcg-ab judgments`."""

import dataclasses
import math
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.deadlines import Say
from ndcg_ab.errors import InputError
from ndcg_ab.pipeline.stages import evaluate
from ndcg_ab.results.codec import encode, json_text
from ndcg_ab.results.outcome import Finding, Outcome
from ndcg_ab.scoring.scoring import open_engine_for
from ndcg_ab.sources import JUDGMENT, Pulled, pull_source
from ndcg_ab.sources.judgments.grades import with_grade_words
from ndcg_core.statistics.estimates.agreement import alpha_from_coincidences, cohen_kappa
from ndcg_core.statistics.verdicts.comparison import Comparison

PAIR = ["query_id", "doc_id"]
DECIMALS = 9  # means that agree to this many decimals are equal
GRADES = pa.schema({"query_id": pa.string(), "doc_id": pa.string(), "grade": pa.float64()})


@dataclasses.dataclass(frozen=True)
class Cell:
    """One cell of a confusion table, with the number of documents that have two given grades.

    first, second: the grade in the first, and in the second, set of judgments.
    """

    first: float
    second: float
    count: int


@dataclasses.dataclass(frozen=True)
class Agreement:
    """The agreement of two sets of judgments on the pairs of query and document that both sets judge.

    Attributes
    ----------
    pairs : int
        Number of common pairs, >= 1.
    queries : int
        Number of queries with common pairs.
    only_first, only_second : int
        Number of pairs that only the first, or only the second, set judges.
    equal, second_higher, second_lower : float
        Shares of common pairs by their two grades, in [0, 1], with sum 1.
    cohen_kappa : float or None
        At most 1; 0 for agreement by chance. All coefficients are None if all grades are equal.
    cohen_kappa_linear, cohen_kappa_quadratic : float or None
        Cohen's kappa with disagreements weighted by the number of levels between the two grades, or by the square of
        this number.
    krippendorff_alpha : float or None
        Ordinal alpha.
    cells : tuple of Cell
        The cells of the confusion table that are not 0, by first, then second grade.
    """

    pairs: int
    queries: int
    only_first: int
    only_second: int
    equal: float
    second_higher: float
    second_lower: float
    cohen_kappa: float | None
    cohen_kappa_linear: float | None
    cohen_kappa_quadratic: float | None
    krippendorff_alpha: float | None
    cells: tuple[Cell, ...]


@dataclasses.dataclass(frozen=True)
class SystemMeans:
    """One system's mean by the first and by the second set of judgments.

    first, second: None if no query can be scored by this set.
    """

    system_id: str
    first: float | None
    second: float | None


@dataclasses.dataclass(frozen=True)
class OrderAgreement:
    """The agreement of two sets of judgments on the order of the systems by one metric.

    Attributes
    ----------
    metric : str
        Name of the metric.
    systems : tuple of SystemMeans
        The means of every system by both sets.
    tau : float or None
        Kendall's tau-b of the systems' means, in [-1, 1]. None if all means by one set are equal, or if a mean is None.
    weighted_tau : float or None
        Vigna's tau, in which systems near the top weigh more. None if tau is None.
    """

    metric: str
    systems: tuple[SystemMeans, ...]
    tau: float | None
    weighted_tau: float | None


@dataclasses.dataclass(frozen=True)
class VerdictPair:
    """The comparison of one candidate with the baseline on one metric, by each of two sets of judgments.

    changed: whether the two verdicts differ. first, second: the comparison by each set.
    """

    metric: str
    candidate: str
    changed: bool
    first: Comparison
    second: Comparison


@dataclasses.dataclass(frozen=True)
class ComparedJudgments:
    """The comparison of two sets of judgments.

    Attributes
    ----------
    first, second : str
        Names of the sources of the judgments.
    agreement : Agreement
        The agreement on the grades.
    orders : tuple of OrderAgreement
        Agreement on the order of the systems, one per metric; empty without systems.
    verdicts : tuple of VerdictPair
        Agreement on each verdict; empty without systems.
    first_findings, second_findings : tuple of Finding
        Findings of the data check of each set with the systems' rankings.
    """

    first: str
    second: str
    agreement: Agreement
    orders: tuple[OrderAgreement, ...] = ()
    verdicts: tuple[VerdictPair, ...] = ()
    first_findings: tuple[Finding, ...] = ()
    second_findings: tuple[Finding, ...] = ()

    def to_json(self) -> str:
        return json_text(encode(self))


def compare_judgments(
    first: Evaluation, second: Evaluation, say: Say, *, with_systems: bool = True
) -> ComparedJudgments:
    """Compare the judgments of two evaluations that are otherwise equal.

    with_systems: whether to compare the systems by each set, too. Raises InputError if no pair is judged in both sets.
    """
    say("pull judgments")
    sets = [
        pull_source(each.judgment_entries[0].source, with_grade_words(JUDGMENT, each.judgments), each.directory)
        for each in (first, second)
    ]
    compared = ComparedJudgments(sets[0].origin, sets[1].origin, measure_agreement(*sets))
    if not with_systems:
        return compared
    outcomes = [evaluate_systems(each, origin.origin, say) for each, origin in zip((first, second), sets, strict=True)]
    return dataclasses.replace(
        compared,
        orders=tuple(compare_orders(*outcomes)),
        verdicts=tuple(compare_verdicts(*outcomes)),
        first_findings=outcomes[0].findings,
        second_findings=outcomes[1].findings,
    )


def evaluate_systems(evaluation: Evaluation, origin: str, say: Say) -> Outcome:
    with open_engine_for(evaluation) as engine:
        return evaluate(evaluation, engine, lambda step: say(f"{step}, judged by {origin}"), complete=False)[0]


def measure_agreement(first: Pulled, second: Pulled) -> Agreement:
    """Measure the agreement of two sets of judgments.

    Raises InputError if no pair is judged in both sets, or if a set has two grades for a pair.
    """
    ours, theirs = single_grades(first), single_grades(second)
    both = ours.join(theirs, PAIR, join_type="inner", right_suffix="_of_second")
    if not both.num_rows:
        raise InputError(
            f"{first.origin} and {second.origin}: no document of a query is judged in both, of {ours.num_rows} and"
            f" {theirs.num_rows} judgments (such as {example_pair(ours)}, and {example_pair(theirs)}): their ids must"
            " meet"
        )
    grades = ["grade", "grade_of_second"]
    counts = both.group_by(grades).aggregate([([], "count_all")]).sort_by([(name, "ascending") for name in grades])
    cells = [Cell(*row) for row in zip(*(counts[name].to_pylist() for name in (*grades, "count_all")), strict=True)]
    higher = sum(cell.count for cell in cells if cell.second > cell.first)
    lower = sum(cell.count for cell in cells if cell.second < cell.first)
    pairs = both.num_rows
    return Agreement(
        pairs,
        pc.count_distinct(both["query_id"]).as_py(),
        ours.num_rows - pairs,
        theirs.num_rows - pairs,
        (pairs - higher - lower) / pairs,
        higher / pairs,
        lower / pairs,
        *agreement_coefficients(cells),
        tuple(cells),
    )


def single_grades(judgments: Pulled) -> pa.Table:
    """Return a table with one row (query_id, doc_id, grade) for each judged pair of query and document.

    Raises InputError if a pair has two grades.
    """
    table = judgments.table.select(GRADES.names).cast(GRADES)
    grades = table.group_by(PAIR).aggregate([("grade", "min"), ("grade", "max")])
    split = grades.filter(pc.not_equal(grades["grade_min"], grades["grade_max"])).sort_by(
        [(name, "ascending") for name in PAIR]
    )
    if split.num_rows:
        row = split.slice(0, 1).to_pylist()[0]
        location = judgments.locate(row["query_id"], row["doc_id"])
        raise InputError(
            f"{location}: query {row['query_id']!r}, document {row['doc_id']!r} has the grades {row['grade_min']:g} and"
            f" {row['grade_max']:g}: a document has one grade for a query; keep one of them"
        )
    return grades.select([*PAIR, "grade_min"]).rename_columns([*PAIR, "grade"])


def example_pair(table: pa.Table) -> str:
    row = table.slice(0, 1).to_pylist()[0]
    return f"document {row['doc_id']!r} of query {row['query_id']!r}"


def agreement_coefficients(cells: Sequence[Cell]) -> tuple[float | None, float | None, float | None, float | None]:
    """Return Cohen's kappa, unweighted, with linear and with quadratic weights, and Krippendorff's ordinal alpha.

    cells: the cells of the confusion table that are not 0. All coefficients are None if all grades are equal.
    """
    levels = sorted({grade for cell in cells for grade in (cell.first, cell.second)})
    counts = np.zeros((len(levels), len(levels)))
    for cell in cells:
        counts[levels.index(cell.first), levels.index(cell.second)] = cell.count
    alpha = alpha_from_coincidences(counts + counts.T)
    return cohen_kappa(counts), cohen_kappa(counts, "linear"), cohen_kappa(counts, "quadratic"), alpha


def compare_orders(first: Outcome, second: Outcome) -> Iterator[OrderAgreement]:
    """Yield, for each metric, how far two sets of judgments agree on the order of the systems.

    first, second: the outcome by each set.
    """
    means = [{(row.metric, row.system_id): row.mean for row in outcome.systems} for outcome in (first, second)]
    for metric in first.metrics:
        names = [row.system_id for row in first.systems if row.metric == metric.name]
        systems = tuple(SystemMeans(name, *(each[metric.name, name] for each in means)) for name in names)
        pairs = [(row.first, row.second) for row in systems if row.first is not None and row.second is not None]
        taus = order_agreement(*zip(*pairs, strict=True)) if len(pairs) == len(systems) else (None, None)
        yield OrderAgreement(metric.name, systems, *taus)


def order_agreement(first: Sequence[float], second: Sequence[float]) -> tuple[float | None, float | None]:
    """Return Kendall's tau-b and Vigna's weighted tau of the systems' values by two sets of judgments.

    In the weighted tau, the pair of the systems at ranks r and s (from 1) weighs 1/r + 1/s, averaged over the orders by
    each set. Both are None if all values by a set are equal. (S. Vigna, A Weighted Correlation Index for Rankings with
    Ties, WWW 2015.)
    """
    from scipy.stats import kendalltau, weightedtau  # type: ignore[import-untyped]

    ours, theirs = np.round(first, DECIMALS), np.round(second, DECIMALS)
    taus = (kendalltau(ours, theirs).statistic, weightedtau(ours, theirs).statistic)
    tau, weighted = (None if math.isnan(value) else float(value) for value in taus)
    return tau, weighted


def compare_verdicts(first: Outcome, second: Outcome) -> Iterator[VerdictPair]:
    """Yield a pair of verdicts for each metric and candidate, one verdict from each of two outcomes.

    first, second: the outcome by each set of judgments.
    """
    others = {(row.metric, row.candidate): row for row in second.main}
    for row in first.main:
        other = others[row.metric, row.candidate]
        is_changed = (row.conclusion, row.size) != (other.conclusion, other.size)
        yield VerdictPair(row.metric, row.candidate, is_changed, row, other)
