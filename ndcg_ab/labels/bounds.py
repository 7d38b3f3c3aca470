"""What grades of unjudged documents could do to the comparisons (docs/statistics.md, "What is not judged")."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ndcg_ab.comparing.drawn_queries import shares_not_drawn
from ndcg_ab.comparing.families import each_whole_families, paired_columns, system_groups
from ndcg_ab.comparing.sampling import Sampling
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.base import Engine
from ndcg_ab.errors import InputError
from ndcg_ab.results.outcome import SystemSummary
from ndcg_ab.scoring.metric_tables import deepest_cutoff, rank_rule
from ndcg_ab.scoring.other_tools import own_metrics
from ndcg_core.measures.external_metric import GivenMetric
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.unjudged.bounds import difference_bounds, why_unbounded
from ndcg_core.measures.unjudged.many_completions import is_cascade_measure
from ndcg_core.measures.unjudged.places import Bounds, Judged, Places, no_places
from ndcg_core.statistics.averages import mean, weighted_mean
from ndcg_core.statistics.verdicts.comparison import Column, Comparison

MOST_STEPS = 2_000_000  # about a second; beyond it bounds must be asked for
MOST_BROUGHT = 10_000_000  # rows of a table that comes here from a cluster; some hundred megabytes
PLACE = 600  # bytes that a place takes with all that is computed of it
WALKED = 20  # steps that a place takes of a metric that is measured again with many sets of grades
MOST_WANTED = 100_000_000  # the same of bounds that are asked for
STEPS_OF_CELL = 8  # steps that a grade takes of a query, whose documents with it are counted: 60 bytes
Key = tuple[str, str]  # metric, candidate


@dataclass(frozen=True, eq=False)
class Known:
    """What the bounds of all comparisons are made of.

    query_ids: all judged queries, rising. doc_ids: what their doc stands for. judged: their grades.
    places: (rank rule, system) -> what it shows.
    """

    query_ids: pa.Array
    doc_ids: pa.Array
    judged: Judged
    places: dict[tuple[str, str], Places]

    def of(self, metric: Metric, system: str) -> Places:
        return self.places.get((rank_rule(metric), system), no_places())


class Bounded(NamedTuple):
    """Systems and comparisons with their bounds. known: what these were made of; None where there are none."""

    systems: list[SystemSummary]
    comparisons: list[Comparison]
    known: Known | None


def add_bounds(
    engine: Engine,
    evaluation: Evaluation,
    sampling: Sampling,
    systems: Sequence[SystemSummary],
    compared: Sequence[Comparison],
) -> Bounded:
    """Systems and comparisons over all queries with their bounds, where these are wanted and can be computed."""
    metrics = {metric.name: metric for metric in metrics_to_bound(engine, evaluation)}
    undrawn: Mapping[Key, float] = {}
    if sampling.drawn is not None and evaluation.statistics.bounds is not False:
        undrawn = shares_not_drawn(engine, evaluation, sampling.drawn)
    if not metrics and not undrawn:
        return Bounded(list(systems), leave_open(engine, evaluation, metrics, compared), None)
    what = "places whose grades are bounded" if evaluation.statistics.bounds else ""
    if metrics and not engine.has_room("shown_place", PLACE, what, **shown_depths([*metrics.values()])):
        return Bounded(list(systems), leave_open(engine, evaluation, {}, compared), None)
    known = load_known(engine, list(metrics.values())) if metrics else None
    return Bounded(
        bound_systems(engine, metrics, sampling, known, systems) if known else list(systems),
        bound_comparisons(engine, evaluation, metrics, sampling, known, undrawn, compared) if compared else [],
        known,
    )


def bound_systems(
    engine: Engine,
    metrics: Mapping[str, Metric],
    sampling: Sampling,
    known: Known,
    systems: Sequence[SystemSummary],
) -> list[SystemSummary]:
    """Their means; none where these could not be found exactly."""
    groups = system_groups(engine)
    found = []
    for row in systems:
        metric = metrics.get(row.metric)
        group = groups.get((metric.hash, row.system_id)) if metric else None
        ends = (
            find_bounds(metric, group.query_ids, group.differences, row.system_id, None, known)
            if metric and group
            else None
        )
        if group and ends is not None and ends.is_exact.all():
            weights = sampling.weights_in_order(group.query_ids)
            low, high = (
                mean(values.tolist()) if weights is None else weighted_mean(values.tolist(), weights.tolist())
                for values in (ends.low, ends.high)
            )
            row = replace(row, bound_low=low, bound_high=high)
        found.append(row)
    return found


def bound_comparisons(
    engine: Engine,
    evaluation: Evaluation,
    metrics: Mapping[str, Metric],
    sampling: Sampling,
    known: Known | None,
    undrawn: Mapping[Key, float],
    compared: Sequence[Comparison],
) -> list[Comparison]:
    """metrics: those with bounds of unjudged results, made of what is known. undrawn: `shares_not_drawn`."""
    columns = paired_columns(engine, evaluation, sampling)
    counted = {name: counted_queries(engine, metric, known) for name, metric in metrics.items()} if known else {}
    found: dict[Key, Bounds] = {}
    left_out: dict[Key, int] = {}
    column_of = {(column.metric, column.candidate): column for column in columns}
    for key, column in column_of.items():
        values = np.asarray(column.differences, dtype=np.float64)
        metric = metrics.get(column.metric)
        if metric and known:
            found[key] = find_bounds(metric, column.query_ids, values, column.candidate, column.baseline, known)
            left_out[key] = count_left_out(metric, column, known, counted[column.metric])
        if key in undrawn and np.isfinite(column.largest_loss):
            of_judged = found.get(key) or Bounds(values, values, 0, np.ones(len(values), dtype=bool))
            found[key] = widen_bounds(of_judged, column, undrawn[key] / sampling.largest_scale())
    at_ends = [list(columns_at_bound(columns, found, end, evaluation)) for end in ("low", "high")]
    low, high = (
        {row_place(row): row for row in rows} for rows in each_whole_families(at_ends, evaluation, described=False)
    )
    rows = []
    for row in compared:
        key = (row.metric, row.candidate)
        least, most = low.get(row_place(row)), high.get(row_place(row))
        if row.attribute is None and key in found and least and most:
            kept = replace(
                row,
                bound_low=clip_mean(least.difference, column_of[key]),
                bound_high=clip_mean(most.difference, column_of[key]),
                bound_exact=bool(found[key].is_exact.all()),
                bound_low_conclusion=least.conclusion,
                bound_high_conclusion=most.conclusion,
                label_settled=row.conclusion == least.conclusion == most.conclusion,
                bound_left_out=left_out.get(key, 0),
                bound_documents=found[key].documents,
            )
            rows.append(kept)
        else:
            rows.append(row)
    return leave_open(engine, evaluation, metrics, rows)


def widen_bounds(bounds: Bounds, column: Column, share: float) -> Bounds:
    """With as much more of every query as moves the mean by `share` of the column's largest loss."""
    each = share * column.largest_loss / (1.0 if column.scales is None else np.asarray(column.scales))
    return bounds._replace(low=bounds.low - each, high=bounds.high + each)


def clip_mean(mean_difference: float | None, column: Column) -> float | None:
    """Return the mean difference, or the nearest one that the range of the column's metric admits."""
    known = column.value_range
    if mean_difference is None or known is None:
        return mean_difference
    return min(max(mean_difference, known.low - known.high), known.high - known.low)


def row_place(row: Comparison) -> tuple[str, ...]:
    return (row.family, row.metric, row.baseline, row.candidate)


def metrics_to_bound(engine: Engine, evaluation: Evaluation) -> list[Metric]:
    """Return the metrics that get bounds: by default those with unjudged results.

    As many are taken, the cheapest first, as MOST_STEPS are enough for; MOST_WANTED where bounds are asked for.
    """
    wanted = evaluation.statistics.bounds
    if wanted is False or evaluation.scores:
        return []
    metrics = [metric for metric in own_metrics(evaluation.metric_list) if why_unbounded(metric) is None]
    if wanted and not metrics:
        raise InputError(f"bounds: {no_bounds(evaluation.metric_list[0])}: take --bounds (statistics.bounds) out")
    if not metrics or not (wanted or are_few(engine, evaluation)):
        return []
    answers = Counter(name for name, _ in unsettled_answers(engine, evaluation))
    longest = max(engine.read("returned", ("returned",))["returned"].to_pylist(), default=0)
    counted = engine.read("grade_count", ("query_id", "grade"))
    queries, grades = (len(pc.unique(counted[name])) for name in ("query_id", "grade"))
    left = MOST_WANTED if wanted else MOST_STEPS
    if queries * grades * STEPS_OF_CELL > left:
        return []
    steps = {
        metric.name: answers[metric.name]
        * 2
        * min(metric.cutoff or longest, longest)
        * (WALKED if is_cascade_measure(metric) else grades)
        for metric in metrics
        if wanted or answers[metric.name]
    }
    for name in sorted(steps, key=lambda name: steps[name]):
        left -= steps[name]
        if left < 0:
            del steps[name]
    return [metric for metric in metrics if metric.name in steps]


def unsettled_answers(engine: Engine, evaluation: Evaluation) -> list[tuple[str, str]]:
    """Return metric and system of every answer with an unjudged result whose grade could move the metric.

    A measure that declares no bounds is among them: what its grades could do is not known.
    """
    metrics = {
        metric.hash: metric.name
        for metric in own_metrics(evaluation.metric_list)
        if why_unbounded(metric) is None or not metric.traits.has_bounds
    }
    coverage = engine.read("coverage", ("metric_id", "system_id", "judged"))
    unsure = coverage.filter(pc.less(coverage["judged"], 1.0))
    pairs = zip(unsure["metric_id"].to_pylist(), unsure["system_id"].to_pylist(), strict=True)
    return [(metrics[metric], system) for metric, system in pairs if metric in metrics]


def leave_open(
    engine: Engine, evaluation: Evaluation, bounded: Collection[str], compared: Sequence[Comparison]
) -> list[Comparison]:
    """Return the comparisons; those with unjudged results on a metric that is not among the bounded are not settled."""
    if evaluation.statistics.bounds is False or evaluation.scores:
        return list(compared)
    unsure = {pair for pair in unsettled_answers(engine, evaluation) if pair[0] not in bounded}
    shows = [unsure & {(row.metric, row.baseline), (row.metric, row.candidate)} for row in compared]
    found = zip(compared, shows, strict=True)
    return [replace(row, label_settled=False) if any_shown and not row.attribute else row for row, any_shown in found]


def are_few(engine: Engine, evaluation: Evaluation) -> bool:
    """Whether what bounds and likely grades are made of may come here, where rankings are on a cluster."""
    if not evaluation.engine.spark:
        return True
    return all(engine.count(name) <= MOST_BROUGHT for name in ("graded_doc", "grade_count"))


def shown_depths(metrics: Sequence[Metric]) -> dict[str, Any]:
    """Return how deep places are read: those with a judgment only as deep as measures look that go down a ranking."""
    return {"judged_depth": judged_depth(metrics), "shown_depth": deepest_cutoff(metrics)}


def judged_depth(metrics: Sequence[Metric]) -> int:
    """How deep places with a judgment are wanted: as far as measures look that go down a ranking."""
    walked = [metric for metric in metrics if is_cascade_measure(metric)]
    return deepest_cutoff(walked) if walked else 0


def no_bounds(metric: Metric) -> str:
    """``there are none of judged@10, since it is the share that is judged``."""
    reason = "another tool computes it" if isinstance(metric, GivenMetric) else why_unbounded(metric)
    return f"there are none of {metric.name}, since {reason}"


def load_known(engine: Engine, metrics: Sequence[Metric]) -> Known:
    """metrics: those that bounds are wanted of."""
    counted = engine.read("grade_count", ("query_id", "grade", "documents"), order="query_id")
    query_ids = pc.unique(counted["query_id"])
    grades = sorted({0.0, *pc.unique(counted["grade"]).to_pylist()})
    counts = np.zeros((len(query_ids), len(grades)), dtype=np.int64)
    columns = np.searchsorted(grades, counted["grade"].to_numpy())
    counts[code_numbers(counted["query_id"], query_ids), columns] = counted["documents"].to_numpy()
    rows = engine.read("shown_place", **shown_depths(metrics))
    encoded = rows["doc_id"].combine_chunks().dictionary_encode()
    docs = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    rank, first_rank, size = (rows[name].to_numpy().astype(np.int64) for name in ("rank", "first_rank", "group_size"))
    shown_grades = pc.fill_null(rows["grade"].cast(pa.float64()), np.nan).to_numpy()
    every = Places(code_numbers(rows["query_id"], query_ids), docs, rank, first_rank, size, shown_grades)
    places = {}
    for (rule, system), at in grouped_places(rows, "rank_rule", "system_id"):
        places[rule, system] = every.take(at)
    return Known(query_ids, encoded.dictionary, Judged(tuple(grades), counts), places)


def code_numbers(values: pa.ChunkedArray | pa.Array, among: pa.Array) -> NDArray[np.int64]:
    """The place of each value; -1 where it is not there."""
    found = pc.fill_null(pc.index_in(values, value_set=among), -1)
    numbers: NDArray[np.int64] = np.asarray(found).astype(np.int64)
    return numbers


def grouped_places(rows: pa.Table, first: str, second: str) -> Iterator[tuple[tuple[str, str], NDArray[np.intp]]]:
    """Each pair of two columns' values with the numbers of its rows."""
    encoded = [rows[name].combine_chunks().dictionary_encode() for name in (first, second)]
    codes = [each.indices.to_numpy(zero_copy_only=False) for each in encoded]
    names = [each.dictionary.to_pylist() for each in encoded]
    for one, first_name in enumerate(names[0]):
        for other, second_name in enumerate(names[1]):
            yield (first_name, second_name), np.flatnonzero((codes[0] == one) & (codes[1] == other))


def find_bounds(
    metric: Metric,
    query_ids: Sequence[str],
    values: NDArray[np.float64],
    candidate: str,
    baseline: str | None,
    known: Known,
) -> Bounds:
    """Of every query, in the order given; values: differences, or without a baseline the candidate's own."""
    numbers = code_numbers(pa.chunked_array([pa.array(query_ids, pa.string())]), known.query_ids)
    lines = np.full(len(known.query_ids), -1)
    lines[numbers] = np.arange(len(numbers))
    judged = known.judged._replace(counts=known.judged.counts[numbers])
    others = None if baseline is None else places_within(known.of(metric, baseline), lines)
    return difference_bounds(metric, values, places_within(known.of(metric, candidate), lines), others, judged)


def places_within(places: Places, lines: NDArray[np.int64]) -> Places:
    """The rows of some queries, numbered as these are; lines: the new number of each query, -1 for none."""
    lines_of = lines[places.query]
    kept = lines_of >= 0
    return places._replace(query=lines_of).take(kept)


def counted_queries(engine: Engine, metric: Metric, known: Known) -> NDArray[np.int64]:
    """The numbers of the queries that a metric counts."""
    rows = engine.read("scored_query", ("query_id",), where={"metric_id": metric.hash})
    return code_numbers(rows["query_id"], known.query_ids)


def count_left_out(metric: Metric, column: Column, known: Known, counted: NDArray[np.int64]) -> int:
    """The queries that are not counted, and show an unjudged document within the cutoff."""
    shown = set()
    for system in (column.candidate, column.baseline):
        places = known.of(metric, system)
        seen = ~places.is_judged & (places.first_rank <= (metric.cutoff or np.iinfo(np.int64).max))
        shown |= {*places.query[seen].tolist()}
    return len(shown.difference(counted.tolist()))


def columns_at_bound(
    columns: Sequence[Column], found: dict[Key, Bounds], end: str, evaluation: Evaluation
) -> Iterator[Column]:
    """The columns with their lowest, or highest, differences; those without bounds as they are.

    Where a range of the metric is declared, no difference goes beyond it.
    """
    for column in columns:
        bounds = found.get((column.metric, column.candidate))
        if bounds is None:
            yield column
            continue
        values = getattr(bounds, end)
        scaled = values * (1.0 if column.scales is None else np.asarray(column.scales))
        worst = max(column.largest_loss, -float(scaled.min(initial=0.0)))  # beyond it with what was not drawn
        if declared := evaluation.statistics.ranges.get(column.metric):
            widest = declared[1] - declared[0]
            values = np.clip(values, -widest, widest)
        yield replace(column, differences=values, largest_loss=worst)
