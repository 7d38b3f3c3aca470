"""Determine how unjudged results affect comparisons, and warn of verdicts that may only reflect judged shares.

Judgments often come from the results of some systems. Other systems then return more unjudged results, which count as
not relevant (docs/labels.md, "Unjudged results" and "Where the labels came from").
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ndcg_ab.comparing.families import NOTHING, group_differences, make_column
from ndcg_ab.comparing.sampling import Sampling, shares_not_drawn
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.base import Engine
from ndcg_ab.results.decisions import can_be_reversed
from ndcg_ab.results.numbers import format_percent, signed
from ndcg_ab.results.outcome import Finding, LeftOut, SystemSummary
from ndcg_ab.results.wording import GATE, MAIN, PRIMARY, fully_judged_text, has_clear_lead
from ndcg_ab.scoring.metric_tables import EVERYTHING, keep_unjudged_results, own_metrics, rank_rule
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.registry import Divisor
from ndcg_core.measures.unjudged.contributions import JudgedCounts, RankedResults, empty_results, lacks_expected_value
from ndcg_core.measures.unjudged.differences import SystemPair, difference_bounds, has_bounds
from ndcg_core.statistics.estimates.mean_difference import interval_from_moments
from ndcg_core.statistics.paired import sort_by_query
from ndcg_core.statistics.verdicts.comparison import Column, Comparison
from ndcg_core.statistics.verdicts.record import Labels, Unjudged
from ndcg_core.statistics.verdicts.tipping import CANDIDATE, Assumed, find_tipping
from ndcg_core.statistics.verdicts.verdict import State, Verdict, state_of


def add_judged_shares(
    engine: Engine,
    evaluation: Evaluation,
    sampling: Sampling,
    systems: Sequence[SystemSummary],
    compared: Sequence[Comparison],
) -> list[Comparison]:
    """Add the judged shares of both systems to the comparisons over all queries.

    The judged share is the share of a system's results, within the metric's depth, that have a judgment. Comparisons on
    other queries, and those without a known share, are returned unchanged.
    systems: the summaries with the judged share of each system and metric.
    """
    shares = {(row.metric, row.system_id): row.judged for row in systems if row.judged is not None}
    if not shares or not compared:
        return list(compared)
    hashes = {metric.name: metric.hash for metric in evaluation.metric_list}
    full = group_differences(engine.read("fully_judged_difference", order="query_id"), "metric_id", "candidate")

    def labels(row: Comparison) -> Labels | None:
        baseline, candidate = (shares.get((row.metric, name)) for name in (row.baseline, row.candidate))
        if row.family not in MAIN or (baseline is None and candidate is None):
            return None
        group = full.get((hashes[row.metric], row.candidate), NOTHING)
        (pairs,) = sort_by_query([make_column(evaluation, row.candidate, row.metric, group, sampling)])
        moments = pairs.moments()
        low, high = interval_from_moments(moments, 1 - row.alpha) if moments else (None, None)
        mean = moments.mean if moments else pairs.mean
        return Labels(baseline, candidate, len(pairs.query_ids), mean, low, high)

    return [replace(row, labels=labels(row)) for row in compared]


def check_judged_shares(compared: Sequence[Comparison], left_out: Sequence[LeftOut] = ()) -> Iterator[Finding]:
    """Yield warnings of verdicts that may only reflect that the favoured system has more judged results.

    If judgments came from the favoured system and not from the other, the primary verdict is compared with the verdict
    without the judgments that the favoured system alone contributed. Otherwise a warning is given if the favoured
    system has a clearly larger judged share, unless the verdict holds on the fully judged queries and unjudged results
    cannot reverse it.
    left_out: the comparisons without the judgments that one system alone contributed, one entry per system.
    """
    without = {each.system: each for each in left_out}
    for row in compared:
        labels, side = row.labels, favoured_side(row)
        if labels is None or not side:
            continue
        winner, loser = (row.candidate, row.baseline) if side > 0 else (row.baseline, row.candidate)
        without_own, next_step = "", " (ndcg-ab judge-next)"
        if row.family == PRIMARY and winner in without and loser not in without:
            rows = {(each.candidate, each.metric): each for each in without[winner].comparisons}
            other = rows[row.candidate, row.metric]
            if other.conclusion is row.conclusion:
                continue
            without_own, next_step = text_without_own_judgments(without[winner], other), ""
        else:
            is_favoured = has_clear_lead(labels) and labels.lead * side > 0
            if not is_favoured or (holds_on_fully_judged(row, labels) and not can_be_reversed(row)):
                continue
        shares = {row.candidate: labels.candidate_judged or 0.0, row.baseline: labels.baseline_judged or 0.0}
        message = (
            f"{row.metric}: {row.candidate} {row.verdict}, which favours {winner}, of whose results"
            f" {format_percent(shares[winner])} are judged, of those of {loser} {format_percent(shares[loser])};"
            f" {without_own}{fully_judged_text(labels)}: judge what {loser} alone shows before relying on it{next_step}"
        )
        count = row.queries - labels.full_queries
        yield Finding("labels_favour", "warning", message, count, row.candidate, row.metric, abs(labels.lead))


def favoured_side(row: Comparison) -> int:
    """Return 1 if the verdict favours the candidate, -1 if it favours the baseline, 0 if it favours neither."""
    return -1 if row.conclusion.is_harm else int(row.conclusion in (Verdict.IMPROVED, Verdict.NOT_WORSE))


def holds_on_fully_judged(row: Comparison, labels: Labels) -> bool:
    """Return whether the verdict holds on the queries whose results are all judged.

    It holds if the interval on these queries supports it. The result is False if there is no such interval.
    """
    if labels.full_low is None or labels.full_high is None:
        return False
    if row.conclusion is Verdict.NOT_WORSE:
        return labels.full_low > -(row.smallest_effect or 0.0)
    return labels.full_low > 0 if favoured_side(row) > 0 else labels.full_high < 0


def text_without_own_judgments(left_out: LeftOut, row: Comparison) -> str:
    """Return, in words, the verdict without the judgments that one system alone contributed.

    For example ``without the 40 judgments that bm25 alone contributed it is undecided (+0.0010); ``.
    left_out: the system, and the number of its judgments.
    row: the comparison without these judgments.
    """
    judgments = "the one judgment" if left_out.hidden == 1 else f"the {left_out.hidden} judgments"
    difference = "" if row.difference is None else f" ({signed(row.difference)})"
    return f"without {judgments} that {left_out.system} alone contributed it is {row.conclusion.words}{difference}; "


RESULT = 500  # bytes per shown result, with all intermediate results
UNJUDGED_ROWS = "results that may be unjudged"
FEW_SHOWN = 0.1  # judged share of results below which judgments may name only the relevant documents
IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class AllResults:
    """The results that all systems returned for the judged queries.

    Attributes
    ----------
    query_ids : pyarrow.Array
        Ids of the judged queries in ascending order; results refer to them by index.
    doc_ids : pyarrow.Array
        Ids of the unjudged documents; results refer to them by index.
    judged : JudgedCounts
        Number of judged documents by query and grade.
    rankings : mapping
        (rank rule, system) -> results.
    """

    query_ids: pa.Array
    doc_ids: pa.Array
    judged: JudgedCounts
    rankings: Mapping[tuple[str, str], RankedResults]

    def ids_of(self, document: tuple[int, int]) -> tuple[str, str]:
        """Return the query_id and the doc_id of a document given as (query index, document number)."""
        return self.query_ids[document[0]].as_py(), self.doc_ids[document[1]].as_py()

    def within(self, metric: Metric, system: str) -> RankedResults:
        """Return the results of a system within a metric's depth; no results if the system has none."""
        ranked = self.rankings.get((rank_rule(keep_unjudged_results(metric)), system))
        return empty_results() if ranked is None else ranked.within(metric.depth)

    def pair(self, metric: Metric, candidate: str, baseline: str, query_ids: Sequence[str]) -> SystemPair:
        """Return the results of two systems for some queries, within a metric's depth.

        query_ids: ids of the queries. In the result, a query is its index in this sequence.
        """
        numbers = index_values(pa.array(query_ids, pa.string()), self.query_ids)
        lines = np.full(len(self.query_ids), -1)
        lines[numbers] = np.arange(len(numbers))
        at = lines[self.judged.query]
        is_paired = at >= 0
        grade, documents = self.judged.grade[is_paired], self.judged.documents[is_paired]
        judged = JudgedCounts(at[is_paired], grade, documents, len(query_ids), self.judged.grades)
        sides = []
        for system in (candidate, baseline):
            ranked = self.within(metric, system)
            ranked = ranked._replace(query=lines[ranked.query])
            ranked = ranked.take(ranked.query >= 0)
            sides.append(ranked.take(np.lexsort((ranked.rank, ranked.query))))
        return SystemPair(metric, judged, sides[0], sides[1])


def add_unjudged(
    engine: Engine,
    evaluation: Evaluation,
    sampling: Sampling,
    columns: Sequence[Column],
    compared: Sequence[Comparison],
    results: AllResults | None = None,
) -> list[Comparison]:
    """Add the possible effect of unjudged results to the comparisons over all queries.

    columns: the paired differences over all queries.
    results: the results of all systems; None to read them now.
    """
    if not compared:
        return []
    is_complete = bool(evaluation.scores) or evaluation.declares_complete
    metrics = [] if is_complete else own_metrics(evaluation.metric_list)
    by_name = {metric.name: metric for metric in metrics if not lacks_expected_value(metric)}
    if by_name and results is None:
        results = read_ranked_results(engine, list(by_name.values()))
    not_drawn = {} if sampling.log is None else shares_not_drawn(engine, evaluation, sampling.log)
    by_pair = {(column.metric, column.candidate): column for column in columns}
    pairs = {
        (metric, candidate): results.pair(by_name[metric], candidate, column.baseline, column.query_ids)
        for (metric, candidate), column in by_pair.items()
        if results is not None and metric in by_name
    }

    expect = cache(SystemPair.expected_differences)  # a metric may be compared in two families

    def make_unjudged(row: Comparison) -> Unjudged:
        key = (row.metric, row.candidate)
        share = not_drawn.get(key, 0.0) / sampling.largest_scale()
        column, pair = by_pair[key], pairs.get(key)
        return estimate_unjudged_effect(evaluation, column, row, pair, expect, share, is_complete=is_complete)

    return [replace(row, unjudged=make_unjudged(row)) if row.family in (*MAIN, GATE) else row for row in compared]


def estimate_unjudged_effect(
    evaluation: Evaluation,
    column: Column,
    row: Comparison,
    pair: SystemPair | None,
    expect: Callable[[SystemPair, float, float], tuple[NDArray[np.float64], NDArray[np.float64]]],
    not_drawn: float,
    *,
    is_complete: bool,
) -> Unjudged:
    """Return the possible effect of unjudged results on one comparison.

    column: the paired differences of the comparison.
    pair: the results of the two systems; None if the metric has no expected value over unknown grades.
    expect: `SystemPair.expected_differences`.
    not_drawn: how much the mean difference may change because of log queries that were not drawn, in units of
        `column.largest_loss`; 0 if there are no such queries.
    is_complete: True if unjudged results are declared not relevant.
    """
    settings, measured = evaluation.statistics, state_of(row.conclusion, row.size)
    if is_complete and not not_drawn:
        return Unjudged(0, measured, settings.label_factor, is_declared=evaluation.declares_complete)
    if not is_complete and pair is None:
        return Unjudged(0, measured if measured.is_undecided else State.UNKNOWN, settings.label_factor)
    documents = 0 if pair is None or pair.metric.traits.divisor is Divisor.SHOWN else len(pair.unjudged.query)
    if not documents and not not_drawn:
        return Unjudged(0, measured, settings.label_factor, low=row.difference, high=row.difference)
    values = np.asarray(column.differences, dtype=np.float64)
    each = not_drawn * column.largest_loss / np.asarray(column.scales) if not_drawn else 0.0

    def assume(factor: float, side: int) -> Assumed:
        differences, variances = values, np.zeros(len(values))
        if pair is not None and documents:
            factors = (1 / factor, factor) if side == CANDIDATE else (factor, 1 / factor)
            differences, variances = expect(pair, *factors)
        return differences + (-each if side == CANDIDATE else each), variances

    factor, state = find_tipping(column, row, settings.label_factor, assume)
    low = high = None
    if settings.bounds and pair is not None and row.difference is not None and has_bounds(pair.metric, pair.judged):
        lowest, highest = difference_bounds(pair, values)
        low, high = mean_of(column, lowest - each), mean_of(column, highest + each)
    return Unjudged(documents, state, settings.label_factor, factor, low, high)


def check_completeness(engine: Engine, evaluation: Evaluation, systems: Sequence[SystemSummary]) -> list[Finding]:
    """Return a note that advises to declare the judgments complete, or an empty list.

    The note is given if all grades are above 0 and few of the results are judged.
    """
    shares = [row.judged for row in systems if row.judged is not None]
    if evaluation.declares_complete or not shares or max(shares) >= FEW_SHOWN:
        return []
    if (pc.min(engine.read("grade_count", ("grade",))["grade"]).as_py() or 0) <= 0:
        return []
    message = (
        f"no judgment has a grade of 0 or below, and at most {format_percent(max(shares))} of what a metric looks"
        " at is judged: if all others are not relevant, by design, add --complete-judgments (judgments.complete: true)"
    )
    return [Finding("perhaps_complete", "note", message, len(shares))]


def mean_of(column: Column, values: NDArray[np.float64]) -> float:
    """Return the mean of one value per query, after multiplication by the scales of a column.

    The mean is weighted if the column has weights.
    """
    scaled = values if column.scales is None else values * np.asarray(column.scales)
    return float(np.average(scaled, weights=None if column.weights is None else np.asarray(column.weights)))


def read_ranked_results(engine: Engine, metrics: Sequence[Metric]) -> AllResults:
    """Read the results of all systems for the judged queries, and the number of judged documents by query and grade.

    Only results within the deepest cutoff of the metrics are read.
    Raises InputError if the results do not fit into the memory limit.
    """
    grade_counts = engine.read("grade_count", ("query_id", "grade", "documents"), order="query_id, grade")
    query_ids = pc.unique(grade_counts["query_id"])
    grades = tuple(sorted({0.0, *pc.unique(grade_counts["grade"]).to_pylist()}))
    query, documents = index_values(grade_counts["query_id"], query_ids), grade_counts["documents"].to_numpy()
    judged = JudgedCounts(query, grade_counts["grade"].to_numpy(), documents.astype(np.int64), len(query_ids), grades)
    depth = max(metric.depth or EVERYTHING for metric in metrics)
    engine.has_room("top_result", RESULT, UNJUDGED_ROWS, shown_depth=depth)
    rows = engine.read("top_result", shown_depth=depth)
    docs = rows["doc_id"].combine_chunks().dictionary_encode()
    numbers = pc.fill_null(docs.indices, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    rank, first_rank, size = (rows[name].to_numpy().astype(np.int64) for name in ("rank", "first_rank", "group_size"))
    grade = pc.fill_null(rows["grade"].cast(pa.float64()), np.nan).to_numpy()
    every = RankedResults(index_values(rows["query_id"], query_ids), numbers, rank, first_rank, size, grade)
    rankings = {}
    rules, systems = (rows[name].combine_chunks().dictionary_encode() for name in ("rank_rule", "system_id"))
    of_rule, of_system = (each.indices.to_numpy(zero_copy_only=False) for each in (rules, systems))
    for rule, rule_name in enumerate(rules.dictionary.to_pylist()):
        for system, name in enumerate(systems.dictionary.to_pylist()):
            rankings[rule_name, name] = every.take(np.flatnonzero((of_rule == rule) & (of_system == system)))
    return AllResults(query_ids, docs.dictionary, judged, rankings)


def refuse_little_memory(engine: Engine, evaluation: Evaluation, judged: Collection[str]) -> None:
    """Raise InputError, before scoring, if the memory limit is too low for the results of the judged queries.

    This can happen only with a metric without a cutoff, which needs all results of a system.
    judged: ids of the judged queries.
    """
    memory = engine.memory
    if memory is None or memory.limit is None or evaluation.declares_complete or len(evaluation.systems) < 2:
        return
    if any(metric.depth is None and not lacks_expected_value(metric) for metric in own_metrics(evaluation.metric_list)):
        answers = engine.read("answered_query", ("query_id", "returned"))
        rows = answers.filter(pc.is_in(answers["query_id"], value_set=pa.array(judged, pa.string())))
        memory.refuse_beyond(pc.sum(rows["returned"]).as_py() or 0, RESULT, UNJUDGED_ROWS)


def index_values(values: pa.ChunkedArray | pa.Array, among: pa.Array) -> IntArray:
    """Return the index of each value in `among`, or -1 if it is absent."""
    return np.asarray(pc.fill_null(pc.index_in(values, value_set=among), -1), dtype=np.int64)
