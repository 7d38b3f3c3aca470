"""Group comparisons into families: primary, secondary, guardrails, slices, all pairs (docs/significance.md)."""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ndcg_ab.comparing.sampling import Sampling
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.base import Engine
from ndcg_ab.errors import InputError, format_value
from ndcg_ab.results.decisions import Decision, decide
from ndcg_ab.results.outcome import Finding
from ndcg_ab.results.wording import GATE, GUARDRAILS, INTENDED, PAIRS, PRIMARY, SECONDARY, SLICE_GATE
from ndcg_ab.scoring.loading import number_ids, split_by
from ndcg_core.statistics.estimates.mean_difference import Differences, Interval
from ndcg_core.statistics.hypothesis_tests.flips import TIE_TOLERANCE
from ndcg_core.statistics.verdicts.comparison import Column, Comparison, check_guardrails, compare_family
from ndcg_core.statistics.verdicts.verdict import Obstacle

QueryIds = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class PairedValues:
    """The query ids, differences and baseline values of one comparison, by rising query_id."""

    query_ids: QueryIds
    differences: NDArray[np.float64]
    baseline_values: NDArray[np.float64]


NOTHING = PairedValues((), np.array([]), np.array([]))


def make_families(
    engine: Engine, evaluation: Evaluation, sampling: Sampling, columns: Sequence[Column]
) -> list[Comparison]:
    """Return every comparison of the evaluation, the primary family first; empty without columns.

    columns: from `metric_columns`.
    """
    if not columns:
        return []
    comparisons = compare_all_queries(columns, evaluation)
    sliced = {by: slice_columns(engine, evaluation, sampling, by) for by in evaluation.slices.by}
    for attribute, parts in sliced.items():
        comparisons += compare_columns(parts, evaluation, f"slices by {attribute}", exploratory=True)
    if evaluation.gate is not None and evaluation.gate.slice_regression is not None:
        comparisons += compare_columns(list(chain.from_iterable(sliced.values())), evaluation, SLICE_GATE)
    if evaluation.statistics.all_pairs and len(evaluation.systems) > 2:
        pairs = list(pair_columns(engine, evaluation, sampling))
        comparisons += compare_columns(pairs, evaluation, PAIRS, exploratory=True)
    return comparisons


def compare_all_queries(columns: Sequence[Column], evaluation: Evaluation) -> list[Comparison]:
    """Return the comparisons over all queries: primary and secondary metrics, guardrails, and margins of the gate.

    Each guardrail and each metric with a margin in the gate has a one-sided test (non-inferiority) without adjustment.
    In addition, all of these form one family of two-sided tests for harm. columns: from `metric_columns`. Raises
    InputError if one of their differences is beyond the metric's declared range.
    """
    primary = [column for column in columns if column.metric in evaluation.metrics]
    secondary = [column for column in columns if column.metric in evaluation.secondary_metrics]
    guarded = [column for column in columns if column.metric in evaluation.guardrails]
    margins = evaluation.gate.not_worse if evaluation.gate else {}
    gated = [replace(column, smallest_effect=margins[column.metric]) for column in columns if column.metric in margins]
    refuse_beyond_range([*guarded, *gated], evaluation)
    rows = check_guardrails([*guarded, *gated], **family_test_settings(evaluation))
    compared = compare_columns(primary, evaluation, PRIMARY)
    compared += compare_columns(secondary, evaluation, SECONDARY, exploratory=True)
    for family, part in ((GUARDRAILS, rows[: len(guarded)]), (GATE, rows[len(guarded) :])):
        size = sum(row.p_value is not None for row in part)
        compared += [replace(row, family=family, family_size=size) for row in part]
    return compared


def family_test_settings(evaluation: Evaluation) -> dict[str, Any]:
    """Return the configured settings of tests, as keyword arguments of `compare_family` and `check_guardrails`."""
    settings = evaluation.statistics.model_dump(include={"alpha", "seed", "resamples"})
    return settings | {"workers": evaluation.resources.threads}


def refuse_beyond_range(columns: Sequence[Column], evaluation: Evaluation) -> None:
    """Raise InputError if a difference exceeds the width of the metric's range in `statistics.ranges`."""
    for column in columns:
        declared, largest = evaluation.statistics.ranges.get(column.metric), largest_difference(column.differences)
        if declared is not None and largest > declared[1] - declared[0]:
            raise InputError(
                f"statistics.ranges: {column.metric}: two values of one query are {largest:g} apart, the range"
                f" {list(declared)} allows {declared[1] - declared[0]:g}: give the range that its values lie in"
            )


def compare_columns(
    columns: Sequence[Column],
    evaluation: Evaluation,
    family: str,
    *,
    exploratory: bool = False,
    least_queries: int | None = None,
) -> list[Comparison]:
    """Test columns of paired differences as one family, with the settings of the evaluation.

    exploratory: whether the comparisons are marked as exploratory. least_queries: columns with fewer queries are not
    tested; None: the configured number for slices, 2 for other columns.
    """
    least = least_queries or (evaluation.slices.smallest if columns and columns[0].attribute else 2)
    how = family_test_settings(evaluation)
    return compare_family(columns, family=family, exploratory=exploratory, least_queries=least, **how)


def metric_columns(engine: Engine, evaluation: Evaluation, sampling: Sampling) -> list[Column]:
    """Make one column of differences for each metric and candidate.

    The columns are in the configured order of the metrics, and for each metric in the configured order of the
    candidates.
    """
    groups = group_differences(engine.read("paired_difference", order="query_id"), "metric_id", "candidate")
    return [
        make_column(evaluation, candidate, metric.name, groups.get((metric.hash, candidate), NOTHING), sampling)
        for metric in evaluation.metric_list
        for candidate in candidate_names(evaluation)
    ]


def slice_columns(engine: Engine, evaluation: Evaluation, sampling: Sampling, attribute: str) -> list[Column]:
    """Make the columns of differences of every candidate on the primary metrics, one per slice of an attribute."""
    rows = engine.read("slice_difference", where={"attribute": attribute}, order="query_id")
    groups = group_differences(rows, "metric_id", "slice", "candidate")
    slices = sorted({part for _, part, _ in groups})
    return [
        make_column(
            evaluation,
            candidate,
            metric.name,
            groups.get((metric.hash, part, candidate), NOTHING),
            sampling,
            (attribute, part),
        )
        for metric in evaluation.deciding_metrics
        for part in slices
        for candidate in candidate_names(evaluation)
    ]


def candidate_names(evaluation: Evaluation) -> list[str]:
    return [system.name for system in evaluation.systems if system.name != evaluation.baseline_name]


def group_differences(rows: pa.Table, *keys: str) -> dict[tuple[str, ...], PairedValues]:
    """Return the differences in a table, grouped by the values of some columns.

    Returns {values of the columns `keys`: differences and baseline values of the group}. rows: a table with the columns
    query_id, difference, baseline_value and `keys`. Groups with equal query ids share one tuple of ids.
    """
    numbers, query_ids = number_ids(rows["query_id"])
    known: dict[bytes, QueryIds] = {}
    groups = {}
    for values, group in split_by(rows.append_column("number", pa.array(numbers)), *keys):
        members = group["number"].to_numpy()
        if (code := members.tobytes()) not in known:
            known[code] = tuple(query_ids[number] for number in members.tolist())
        columns = (group[name].to_numpy().astype(np.float64) for name in ("difference", "baseline_value"))
        groups[values] = PairedValues(known[code], *columns)
    return groups


def make_column(
    evaluation: Evaluation,
    candidate: str,
    metric: str,
    group: PairedValues,
    sampling: Sampling,
    part: tuple[str, str] | tuple[None, None] = (None, None),
    baseline: str | None = None,
) -> Column:
    """Make the column of one comparison with the settings of the metric: range, smallest effect, weights, clusters.

    group: the differences. part: (attribute, slice) of the queries; (None, None) for all queries. baseline: None for
    the evaluation's baseline.
    """
    limits = evaluation.range_of(metric, width=largest_difference(group.differences))
    scales, weights = sampling.scales_and_weights(group.query_ids, part)
    return Column(
        baseline or evaluation.baseline_name,
        candidate,
        metric,
        group.query_ids,
        group.differences,
        group.baseline_values,
        weights,
        sampling.clusters_in_order(group.query_ids),
        attribute=part[0],
        slice=part[1],
        smallest_effect=evaluation.smallest_effect(metric),
        largest_loss=math.inf if limits is None else limits.width * sampling.largest_scale(part),
        scales=scales,
        value_range=None if limits is None else Interval(*limits),
    )


def largest_difference(differences: Differences) -> float:
    """Return the largest magnitude of the differences, minus the tolerance for ties."""
    return float(np.abs(differences).max(initial=0.0)) - TIE_TOLERANCE


def pair_columns(engine: Engine, evaluation: Evaluation, sampling: Sampling) -> Iterator[Column]:
    """Yield the columns of differences of every two systems on the primary metrics, over their common queries.

    The baseline comes first, then the systems in the configured order; the earlier system of a pair is its baseline.
    """
    scores = engine.read("query_score", ("system_id", "query_id", "metric_id", "value"), order="query_id")
    groups = value_groups(scores, "metric_id", "system_id")
    for metric in evaluation.deciding_metrics:
        for first, second in combinations([evaluation.baseline_name, *candidate_names(evaluation)], 2):
            earlier, later = (groups.get((metric.hash, name)) for name in (first, second))
            group = subtract_values(later, earlier) or NOTHING
            yield make_column(evaluation, second, metric.name, group, sampling, baseline=first)


def value_groups(rows: pa.Table, *keys: str) -> dict[tuple[str, ...], PairedValues]:
    """Return the values in a table, grouped by the values of some columns.

    Returns {values of the columns `keys`: group}. Each group has the column `value` both as its differences and as its
    baseline values.
    """
    rows = rows.append_column("difference", rows["value"]).append_column("baseline_value", rows["value"])
    return group_differences(rows, *keys)


def subtract_values(later: PairedValues | None, earlier: PairedValues | None) -> PairedValues | None:
    """Return the differences later - earlier of groups of `value_groups`, on the queries that both groups have.

    The result is None if a group is None.
    """
    if later is None or earlier is None:
        return None
    if earlier.query_ids != later.query_ids:
        earlier, later = keep_queries(earlier, set(later.query_ids)), keep_queries(later, set(earlier.query_ids))
    return PairedValues(later.query_ids, later.differences - earlier.differences, earlier.differences)


def keep_queries(group: PairedValues, query_ids: Collection[str]) -> PairedValues:
    """Return the part of a group with the queries in `query_ids`."""
    indices = [index for index, query_id in enumerate(group.query_ids) if query_id in query_ids]
    kept_ids = tuple(group.query_ids[index] for index in indices)
    return PairedValues(kept_ids, group.differences[indices], group.baseline_values[indices])


def check_slices(comparisons: Sequence[Comparison]) -> Iterator[Finding]:
    """Yield a warning for each verdict over all queries that contradicts the verdicts of the tested slices.

    Only primary comparisons with at least two tested slices of an attribute are checked.
    """
    overall = {(row.candidate, row.metric): row for row in comparisons if row.family == PRIMARY}
    for attribute in dict.fromkeys(row.attribute for row in comparisons if row.attribute):
        for (candidate, metric), comparison in overall.items():
            parts = [
                row
                for row in comparisons
                if (row.attribute, row.candidate, row.metric) == (attribute, candidate, metric)
                and row.family not in (SLICE_GATE, INTENDED)
                and row.p_adjusted is not None
            ]
            if len(parts) > 1 and (problem := contradiction_text(comparison, parts)):
                message = (
                    f"{candidate}, {metric}: {problem} (slices by {attribute}): look at the slices before deciding"
                )
                yield Finding("slices_disagree", "warning", message, len(parts))


def check_heavy_queries(comparisons: Sequence[Comparison]) -> list[Finding]:
    """Return one warning about all comparisons that are not tested because one query has all the weight; else []."""
    heavy = [row for row in comparisons if row.obstacle is Obstacle.ONE_HEAVY_QUERY]
    if not heavy:
        return []
    first, count = heavy[0], len(heavy)
    where = f"{first.attribute} = {format_value(first.slice)}, " if first.attribute else ""
    message = (
        f"{count} comparison{'s are' * (count > 1) or ' is'} not tested, since one query has all the weight there"
        f" ({'such as ' * (count > 1)}{where}{first.candidate}, {first.metric})"
    )
    return [Finding("one_heavy_query", "warning", message, count)]


def contradiction_text(overall: Comparison, parts: Sequence[Comparison]) -> str | None:
    """Return a sentence if the verdict over all queries contradicts the tested slices, else None.

    There is a contradiction if a difference is detected over all queries and no tested slice has a difference in this
    direction, or if a difference is detected in every tested slice but not over all queries. Possible reasons are
    weights, small slices that are not tested, and slices with opposite effects.
    """
    signs = {np.sign(row.difference or 0.0) for row in parts}
    conclusion = overall.conclusion
    if conclusion.is_detected and conclusion.direction not in signs:
        return f"{conclusion} overall, but in none of the {len(parts)} tested slices does the difference point there"
    if not conclusion.is_detected and all(row.conclusion.is_detected for row in parts):
        return f"nothing is detected overall, but a difference is in each of the {len(parts)} tested slices"
    return None


def compare_as_primary(columns: Sequence[Column], evaluation: Evaluation) -> list[Comparison]:
    """Return the comparisons on all metrics as one primary family, as if every metric decided.

    The list is empty if the configuration assigns roles to metrics. By default the first metric decides. columns: from
    `metric_columns`.
    """
    if not evaluation.default_secondary_metrics:
        return []
    names = {*evaluation.metrics, *evaluation.default_secondary_metrics}
    return compare_columns([column for column in columns if column.metric in names], evaluation, PRIMARY)


def other_decisions(compared: Sequence[Comparison], together: Sequence[Comparison]) -> tuple[Decision, ...]:
    """Return the decisions that would be different if all metrics decided, not only the primary ones.

    compared: the comparisons on which the actual decisions are based. together: from `compare_as_primary`, with the
    effect of unjudged results.
    """
    others = [*together, *(row for row in compared if row.family not in (PRIMARY, SECONDARY))]
    names = dict.fromkeys(row.candidate for row in together)
    pairs = [(decide(name, compared), decide(name, others)) for name in names]
    return tuple(other for now, other in pairs if other.decision is not now.decision)
