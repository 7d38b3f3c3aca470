"""Compare every system with itself in the previous evaluation, from the per-query values in the history."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as papq

from ndcg_ab.comparing import since_last
from ndcg_ab.comparing.families import PairedValues, compare_columns, make_column, subtract_values, value_groups
from ndcg_ab.comparing.sampling import Sampling, read_sampling
from ndcg_ab.comparing.since_last import LostQuery, SinceLast, SystemSince
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.base import Engine
from ndcg_ab.engines.duckdb import GrowingDatabase
from ndcg_ab.history import database
from ndcg_ab.history.mean_attribution import PastEvaluation, Values, split_mean_changes
from ndcg_ab.results.ledger import SCORED, LedgerRow
from ndcg_core.statistics.over_time import CAUSES
from ndcg_core.statistics.verdicts.comparison import Column, Comparison

LOST = 5  # queries of each system and metric that are named
TIE = 1e-9
OF_SYSTEM = ("metric_hash", "system_id")
Inputs = Sequence[Mapping[str, Any]]
Groups = Mapping[tuple[str, ...], PairedValues]


def compare_with_last(
    engine: Engine, evaluation: Evaluation, inputs: Inputs, start: datetime, scores: Path
) -> SinceLast | None:
    """Compare every system with itself in the latest comparable evaluation, and return the result.

    An earlier evaluation is comparable if the history has its per-query values of a primary metric with the current
    definition. The result is None if there is none up to `start`.
    engine: the tables of the current evaluation.
    inputs: for each current input its kind, name, digest and further facts.
    start: the nominal time of the current evaluation.
    scores: the Parquet file of the current per-query values.
    """
    path = database.history_path(evaluation)
    if not path.exists():
        return None
    with database.open_history_for(path) as past:
        comparable = find_evaluation_before(past, start, [metric.hash for metric in evaluation.deciding_metrics])
        if comparable is None:
            return None
        ordinal, began = comparable
        earlier = value_groups(past.read("query_score", where={"ordinal": ordinal}, order="query_id"), *OF_SYSTEM)
        inputs_before = past.read("input", ("kind", "name", "digest"), where={"ordinal": ordinal}).to_pylist()
        shares = past.rows("ledger", ("about", "read", "used"), where={"ordinal": ordinal, "stage": SCORED})
        evaluation_before = read_past_evaluation(past, evaluation, ordinal, earlier)
    later = value_groups(papq.read_table(scores).sort_by("query_id"), *OF_SYSTEM)
    of_all = read_sampling(engine, evaluation)
    sampling = replace(of_all, log=None)  # what is known of the drawn queries alone is not 0 on the others
    pairs = {
        (system.name, metric.name): subtract_values(
            later.get((metric.hash, system.name)), earlier.get((metric.hash, system.name))
        )
        for system in evaluation.systems
        for metric in evaluation.deciding_metrics
    }
    systems = [changed_inputs(system.name, inputs, inputs_before, pairs) for system in evaluation.systems]
    causes = {each.system_id: frozenset(each.changed) & frozenset(CAUSES) for each in systems}
    moved, old_rankings = split_mean_changes(engine, evaluation, evaluation_before, later, causes)
    reasons = {row.system_id: row.unknown for row in moved}
    systems, pairs = compare_under_current_judgments(evaluation, systems, pairs, later, old_rankings, reasons)
    comparisons = compare_changed(evaluation, systems, pairs, sampling)
    now, earlier_ids = query_ids(later.values()), query_ids(earlier.values())
    return SinceLast(
        ordinal,
        began,
        tuple(systems),
        tuple(comparisons),
        tuple(find_lost_queries(engine, systems, pairs)),
        len(now - earlier_ids),
        len(earlier_ids - now),
        tuple(moved),
        of_all.log is not None,
        tuple(LedgerRow(SCORED, *row) for row in shares),
    )


def read_past_evaluation(past: GrowingDatabase, evaluation: Evaluation, ordinal: int, values: Values) -> PastEvaluation:
    """Read the earlier evaluation with an ordinal from the history.

    The configuration in the result is None if the bundle no longer exists, or if this version cannot read the
    configuration.
    evaluation: the current configuration.
    values: the per-query values of the earlier evaluation.
    """
    of_it = {"ordinal": ordinal}
    ((key, configuration),) = past.rows("evaluation", ("key", "configuration"), where=of_it)
    folder = evaluation.output_directory / evaluation.name / key.rpartition("/")[2]
    hashes = dict(past.rows("metric", ("metric", "hash"), where=of_it))
    means: dict[tuple[str, ...], float | None] = {
        (hashes[metric], system): mean
        for system, metric, mean in past.rows("system_summary", ("system_id", "metric", "mean"), where=of_it)
    }
    try:
        stored = Evaluation(**json.loads(configuration)) if folder.exists() else None
    except ValueError:  # of a version whose keys this one does not have
        stored = None
    return PastEvaluation(ordinal, folder, stored, values, means)


def find_evaluation_before(past: GrowingDatabase, time: datetime, hashes: Sequence[str]) -> tuple[int, str] | None:
    """Return (ordinal, nominal time) of the latest comparable evaluation up to a time, or None.

    An evaluation is comparable if it has one of the primary metrics, and the history has its per-query values.
    hashes: the hashes of the primary metrics.
    """
    metrics = past.rows("metric", ("ordinal", "hash"))
    scored = {ordinal for (ordinal,) in past.rows("kept_score", ("ordinal",))}
    comparable = {ordinal for ordinal, found in metrics if found in hashes} & scored
    return next(
        ((ordinal, began) for began, ordinal in database.nights_until(past, time) if ordinal in comparable), None
    )


def changed_inputs(
    system_id: str, current: Inputs, earlier: Inputs, pairs: Mapping[tuple[str, str], PairedValues | None]
) -> SystemSince:
    """Return a record of which inputs of a system changed.

    A system without earlier values is recorded as new. If no input changed but values differ, the record names
    configuration or program as the cause.
    current, earlier: for each input of the two evaluations a mapping with kind, name and digest.
    pairs: (system, metric) -> per-query differences from the earlier evaluation, or None.
    """
    system_pairs = [pair for (name, _), pair in pairs.items() if name == system_id]
    if all(pair is None for pair in system_pairs):
        return SystemSince(system_id, (since_last.NEW_SYSTEM,))
    changed = [since_last.RANKING] * (system_digests(current, system_id) != system_digests(earlier, system_id))
    changed += [
        kind for kind in (since_last.JUDGMENTS, since_last.QUERIES) if digests(current, kind) != digests(earlier, kind)
    ]
    if not changed and any(abs(pair.differences).max(initial=0.0) > TIE for pair in system_pairs if pair is not None):
        changed = ["configuration or program"]
    return SystemSince(system_id, tuple(changed))


def compare_under_current_judgments(
    evaluation: Evaluation,
    systems: Sequence[SystemSince],
    pairs: Mapping[tuple[str, str], PairedValues | None],
    later: Groups,
    old_rankings: Groups,
    reasons: Mapping[str, str | None],
) -> tuple[list[SystemSince], dict[tuple[str, str], PairedValues | None]]:
    """Replace the differences of systems whose ranking and judgments both changed by the effect of the ranking alone.

    For such a system, the earlier and the current ranking are both scored with the current judgments. If the values of
    the earlier ranking are unknown, the differences are None, and the record of the system has the reason. Return the
    records of all systems, and the per-query differences by (system_id, metric).
    pairs: (system_id, metric) -> per-query differences from the earlier evaluation, or None.
    later: (metric_hash, system_id) -> current values.
    old_rankings: (metric_hash, system_id) -> values of the earlier rankings under the current judgments.
    reasons: system_id -> why the values of its earlier ranking are unknown, or None.
    """
    mixed = [each.system_id for each in systems if {since_last.RANKING, since_last.JUDGMENTS} <= set(each.changed)]
    own = {
        (name, metric.name): subtract_values(later.get((metric.hash, name)), old_rankings.get((metric.hash, name)))
        for name in mixed
        for metric in evaluation.deciding_metrics
    }
    unexplained = {name: reasons.get(name) for name in mixed if all(own[key] is None for key in own if key[0] == name)}
    explained = [replace(each, unknown=unexplained.get(each.system_id)) for each in systems]
    return explained, {**pairs, **own}


def system_digests(inputs: Inputs, system_id: str) -> list[str]:
    """Return the digests of a system's ranking or files of scores.

    If no input has the name of the system, the digests of all files of scores are returned, sorted.
    """
    rows = [row for row in inputs if row["kind"] in ("ranking", "scores")]
    digests_of_system = [row["digest"] for row in rows if row["name"] == system_id]
    return digests_of_system or sorted(row["digest"] for row in rows if row["kind"] == "scores")


def digests(inputs: Inputs, kind: str) -> list[str]:
    return sorted(row["digest"] for row in inputs if row["kind"] == kind)


def compare_changed(
    evaluation: Evaluation,
    systems: Sequence[SystemSince],
    pairs: Mapping[tuple[str, str], PairedValues | None],
    sampling: Sampling,
) -> list[Comparison]:
    """Return the comparisons of each changed system with itself in the earlier evaluation.

    Systems with a changed ranking form one family of tests. The comparisons of the others follow, as exploratory ones.
    A system without any change is not compared.
    pairs: (system_id, metric) -> per-query differences from the earlier evaluation, or None.
    """

    def columns(*, has_new_ranking: bool) -> list[Column]:
        chosen = [
            each.system_id
            for each in systems
            if each.changed and (since_last.RANKING in each.changed) == has_new_ranking
        ]
        return [
            replace(make_column(evaluation, name, metric, pair, sampling, baseline=name), smallest_effect=effect)
            for metric, effect in ((name, evaluation.smallest_effect(name)) for name in evaluation.metrics)
            for name in chosen
            if (pair := pairs.get((name, metric))) is not None and pair.query_ids
        ]

    return compare_columns(columns(has_new_ranking=True), evaluation, since_last.SINCE_LAST) + compare_columns(
        columns(has_new_ranking=False), evaluation, since_last.SAME_RANKING, exploratory=True
    )


def find_lost_queries(
    engine: Engine, systems: Sequence[SystemSince], pairs: Mapping[tuple[str, str], PairedValues | None]
) -> list[LostQuery]:
    """Return, for each metric and each system with a changed ranking, at most LOST queries with the largest losses.

    pairs: (system_id, metric) -> per-query differences from the earlier evaluation, or None.
    """
    changed_systems = [system.system_id for system in systems if since_last.RANKING in system.changed]
    lost = []
    for (system_id, metric), pair in pairs.items():
        if pair is None or system_id not in changed_systems:
            continue
        for at in pair.differences.argsort(kind="stable")[:LOST].tolist():
            if pair.differences[at] < -TIE:
                old = float(pair.baseline_values[at])
                lost.append(
                    LostQuery(system_id, metric, pair.query_ids[at], None, old, old + float(pair.differences[at]))
                )
    texts = dict(engine.rows("shown_query", ("query_id", "text"))) if lost else {}
    return [replace(row, text=texts.get(row.query_id)) for row in lost]


def query_ids(groups: Iterable[PairedValues]) -> set[str]:
    return set().union(*(group.query_ids for group in groups))
