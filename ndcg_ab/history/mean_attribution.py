"""Split the change of each mean since the previous evaluation into parts caused by ranking, judgments and query set.

The definition is in `ndcg_core.statistics.over_time`. The queries of an evaluation are the judged ones; a query without
a value under some judgments, or in some ranking, is left out of the means that involve these.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.comparing.families import NOTHING, PairedValues, keep_queries, value_groups
from ndcg_ab.comparing.sampling import query_values, read_drawn_queries
from ndcg_ab.comparing.since_last import JUDGMENTS, RANKING, STILL, ChangedMeanQuery, MeanChange
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.base import Engine
from ndcg_ab.engines.duckdb import StoredTables, is_duckdb_error
from ndcg_ab.errors import InputError
from ndcg_ab.history.bundle import TABLES
from ndcg_ab.scoring import scoring
from ndcg_ab.scoring.external_scores import SYSTEM_SCHEMA
from ndcg_ab.scoring.loading import put_metrics
from ndcg_ab.sources.queries import ATTRIBUTE_SCHEMA, TEXT_SCHEMA
from ndcg_core.measures.metric import Metric
from ndcg_core.statistics.averages import mean, weighted_mean
from ndcg_core.statistics.over_time import CAUSES, Split, split_change

BEHIND = 5  # queries that are named behind each part
THEN, NOW = "then", "now"  # whose rankings they are
OTHER_TOOL = "the scores are another tool's: nothing tells which judgments they come from"
Key = tuple[str, ...]  # metric_hash, system_id
Values = Mapping[Key, PairedValues]
OF_RANKINGS = ("pulled_ranking", "pulled_answer", "pulled_failed_query")  # what is kept of a ranking, system by system
ABOUT_RANKINGS = ("pulled_known_rank", "pulled_document")  # what no score depends on
JUDGED = ["query_id", "doc_id"]


class UnknownPartsError(Exception):
    """Raised if the change of a mean cannot be split into parts by cause; the message is the reason."""


class PastEvaluation(NamedTuple):
    """The previous evaluation, as it is stored.

    Attributes
    ----------
    ordinal : int
        Number of the evaluation.
    folder : Path
        Folder of its bundle, which may no longer exist.
    evaluation : Evaluation or None
        Its configuration; None if the bundle no longer exists or this version cannot read the configuration.
    values : mapping
        (metric_hash, system_id) -> per-query values.
    means : mapping
        (metric_hash, system_id) -> mean according to the history, or None.
    """

    ordinal: int
    folder: Path
    evaluation: Evaluation | None
    values: Values
    means: Mapping[Key, float | None]


class ComparedEvaluation(NamedTuple):
    """The previous or the current evaluation, between which means changed.

    Attributes
    ----------
    engine : Engine
        Its tables.
    judged : frozenset of str
        The ids of its judged queries.
    weights : mapping of str to float, or None
        query_id -> weight; None if all queries have equal weight.
    texts : mapping
        query_id -> text of the query, or None.
    """

    engine: Engine
    judged: frozenset[str]
    weights: Mapping[str, float] | None
    texts: Mapping[str, str | None]

    def weights_of(self, query_ids: Sequence[str]) -> list[float]:
        """Return the weights of queries; 0 for a query that is not judged in this evaluation."""
        weights = dict.fromkeys(self.judged, 1.0) if self.weights is None else self.weights
        return [weights[query_id] if query_id in self.judged else 0.0 for query_id in query_ids]


def split_mean_changes(
    engine: Engine, evaluation: Evaluation, earlier: PastEvaluation, now: Values, causes: Mapping[str, frozenset[str]]
) -> tuple[list[MeanChange], Values]:
    """Split the change of each system's mean since the previous evaluation into parts by cause.

    Returns two values. The first has one change per changed system and primary metric with values in both evaluations;
    if the parts are unknown, a change has the reason instead. The second maps (metric_hash, system_id) to the per-query
    values of the earlier ranking under the current judgments, on the queries judged in both evaluations. It has the
    systems whose ranking and judgments both changed.
    engine: the tables of the current evaluation.
    earlier: the previous evaluation.
    now: (metric_hash, system_id) -> current per-query values.
    causes: system_id -> the causes (ranking, judgments, queries) that changed.
    """
    chosen: dict[Key, Metric] = {
        (metric.hash, name): metric
        for name, found in causes.items()
        for metric in evaluation.deciding_metrics
        if found and (metric.hash, name) in earlier.values and (metric.hash, name) in now
    }
    if not chosen:
        return [], {}
    current = read_side(engine, evaluation)
    metrics = list({metric.hash: metric for metric in chosen.values()}.values())
    both = [key for key in chosen if {RANKING, JUDGMENTS} <= causes[key[1]]]
    names = sorted({name for _, name in both})
    old: dict[Key, PairedValues] = {}
    try:
        if evaluation.scores:
            raise UnknownPartsError(OTHER_TOOL)
        if set().union(*causes.values()) == {RANKING}:
            with contextlib.suppress(UnknownPartsError):
                return attribution_rows(chosen, causes, earlier, now, (current, current), {}, None), {}
        with open_earlier_side(earlier, evaluation) as past:
            mixed = score_by_judgments(current.engine, {THEN: past.engine}, names, metrics, evaluation)
            old = {(metric, name): mixed.get((metric, f"{THEN} {name}"), NOTHING) for metric, name in both}
            sides = {THEN: past.engine, NOW: current.engine}
            by_old = score_by_judgments(past.engine, sides, names, metrics, evaluation)
            for metric, name in both:  # the earlier rankings are scored to see whether something else has changed
                one, other = by_old.pop((metric, f"{THEN} {name}"), NOTHING), earlier.values[metric, name]
                has_same_ids = one.query_ids == other.query_ids
                if not has_same_ids or not np.allclose(one.differences, other.differences, rtol=STILL, atol=STILL):
                    reason = f"the values of evaluation {earlier.ordinal} are not those that it would have now"
                    raise UnknownPartsError(reason)
            counts = None
            if any(JUDGMENTS in found for found in causes.values()) and not evaluation.engine.spark:
                counts = count_changed_judgments(past.engine, current.engine, sorted(current.judged & past.judged))
            moved = attribution_rows(chosen, causes, earlier, now, (past, current), {**by_old, **mixed}, counts)
    except UnknownPartsError as error:
        moved = [
            MeanChange(key[1], metric.name, earlier.means.get(key), group_mean(now[key], current), unknown=str(error))
            for key, metric in chosen.items()
        ]
    return moved, {key: keep_queries(group, past.judged) for key, group in old.items()}


def read_side(engine: Engine, evaluation: Evaluation) -> ComparedEvaluation:
    rows = engine.rows("query", ("query_id", "text", "is_judged"), order="query_id")
    judged = frozenset(query_id for query_id, _, is_judged in rows if is_judged)
    texts = {query_id: text for query_id, text, _ in rows}
    if log := read_drawn_queries(engine, evaluation):
        return ComparedEvaluation(engine, judged & frozenset(log.weights), log.weights, texts)
    return ComparedEvaluation(engine, judged, query_values(engine, evaluation, "weight", "unweighed_query"), texts)


@contextlib.contextmanager
def open_earlier_side(earlier: PastEvaluation, evaluation: Evaluation) -> Iterator[ComparedEvaluation]:
    """Yield the tables, judged queries and weights of the previous evaluation.

    Raise UnknownPartsError if the tables are not kept any more, cannot be read, or lack judgments or rankings. An
    InputError or an error of DuckDB that is raised in the block becomes an UnknownPartsError, too.
    evaluation: the current configuration, whose limits of threads and memory apply.
    """
    limits, spill = evaluation.resources, evaluation.spill_folder
    name = f"evaluation {earlier.ordinal}"
    if earlier.evaluation is None or not (earlier.folder / TABLES).exists():
        raise UnknownPartsError(f"the tables of {name} are not kept any more")
    if earlier.evaluation.engine.spark:
        raise UnknownPartsError(f"judgments and rankings of {name} stayed in Spark")
    if earlier.evaluation.scores:
        raise UnknownPartsError(OTHER_TOOL)
    try:
        with StoredTables(
            earlier.folder / TABLES, threads=limits.threads, memory_limit=limits.memory_limit, spill=spill
        ) as engine:
            yield read_side(engine, earlier.evaluation)
    except InputError as error:
        raise UnknownPartsError(f"the tables of {name} cannot be scored again ({error})") from error
    except Exception as error:
        if not is_duckdb_error(error):
            raise
        raise UnknownPartsError(f"the tables of {name} cannot be read, or hold no judgments and rankings") from error


def attribution_rows(
    chosen: Mapping[Key, Metric],
    causes: Mapping[str, frozenset[str]],
    earlier: PastEvaluation,
    now: Values,
    sides: tuple[ComparedEvaluation, ComparedEvaluation],
    mixed: Values,
    counts: tuple[int, int] | None,
) -> list[MeanChange]:
    """Return the change of each mean, with its parts by cause.

    chosen: (metric_hash, system_id) -> metric, for all changes to explain.
    causes: system_id -> the causes (ranking, judgments, queries) that changed.
    now: (metric_hash, system_id) -> current per-query values.
    earlier: the previous evaluation, with its means and per-query values.
    sides: the previous and the current evaluation.
    mixed: (metric_hash, ``then NAME``) -> values of the earlier ranking of the system NAME under the current judgments;
        (metric_hash, ``now NAME``) -> values of its current ranking under the earlier judgments.
    counts: number of new judgments, and number of changed or removed judgments; None if unknown.
    Raises UnknownPartsError if a mean cannot be computed, or differs from the mean in the history.
    """
    past, current = sides
    query_ids = sorted(past.judged | current.judged)
    weights = np.array([side.weights_of(query_ids) for side in sides])
    texts = {**past.texts, **current.texts}
    rows = []
    for key, metric in chosen.items():
        groups = cross_values(key, causes[key[1]], earlier.values[key], now[key], mixed)
        values = np.array([[values_in_order(group, query_ids) for group in row] for row in groups])
        parts = split_change(values, weights)
        if parts is None:
            raise UnknownPartsError("no query is left with the queries of one, the judgments of the other")
        mean_before = earlier.means.get(key)
        if mean_before is not None and abs(parts.before - mean_before) > STILL * max(1.0, abs(mean_before)):
            raise UnknownPartsError(f"the kept values of evaluation {earlier.ordinal} do not give its mean")
        behind = tuple(top_contributing_queries(parts, query_ids, texts))
        (ranking, judgments, queries), (new, changed) = parts.parts, counts or (None, None)
        means = (parts.before, parts.now)
        rows.append(MeanChange(key[1], metric.name, *means, ranking, judgments, queries, new, changed, behind=behind))
    return rows


def cross_values(
    key: Key, causes: frozenset[str], earlier: PairedValues, current: PairedValues, mixed: Values
) -> list[list[PairedValues]]:
    """Return the per-query values of a system for each combination of ranking and judgments.

    The result is ``result[ranking][judgments]``, with index 0 for the previous evaluation and 1 for the current one.
    key: (metric_hash, system_id).
    causes: the causes (ranking, judgments, queries) that changed.
    mixed: values of the ranking of one evaluation under the judgments of the other; used if both changed.
    """
    metric, name = key
    if {RANKING, JUDGMENTS} <= causes:
        return [
            [earlier, mixed.get((metric, f"{THEN} {name}"), NOTHING)],
            [mixed.get((metric, f"{NOW} {name}"), NOTHING), current],
        ]
    return [[earlier, earlier], [current, current]] if RANKING in causes else [[earlier, current], [earlier, current]]


def values_in_order(group: PairedValues, query_ids: Sequence[str]) -> list[float]:
    """Return the values of a group in the order of `query_ids`; NaN for a query without a value."""
    values = dict(zip(group.query_ids, group.differences.tolist(), strict=True))
    return [values.get(query_id, np.nan) for query_id in query_ids]


def top_contributing_queries(
    parts: Split, query_ids: Sequence[str], texts: Mapping[str, str | None]
) -> Iterator[ChangedMeanQuery]:
    """Yield, for each cause of a change, the queries with the largest contributions, positive or negative.

    There are at most BEHIND queries per cause, and none for a cause or query that contributed nothing.
    parts: the change of one mean, split by cause, with the contributions of queries.
    query_ids: the queries in the order of these contributions.
    texts: query_id -> text of the query, or None.
    """
    for cause, part, row in zip(CAUSES, parts.parts, parts.of_queries, strict=True):
        if abs(part) <= STILL:
            continue
        for at in np.argsort(-np.abs(row), kind="stable")[:BEHIND].tolist():
            if abs(row[at]) > STILL / len(query_ids):
                yield ChangedMeanQuery(cause, query_ids[at], texts.get(query_ids[at]), float(row[at]))


def group_mean(group: PairedValues, side: ComparedEvaluation) -> float | None:
    """Return the mean of the per-query values of one system, or None if there are no values.

    The mean is weighted if queries have weights.
    group: the values of the system, in the attribute `differences`.
    side: the evaluation (the previous or the current one) whose weights are used.
    """
    values = group.differences.tolist()
    return mean(values) if side.weights is None else weighted_mean(values, side.weights_of(group.query_ids))


def score_by_judgments(
    judgments: Engine,
    rankings: Mapping[str, Engine],
    names: Sequence[str],
    metrics: Sequence[Metric],
    evaluation: Evaluation,
) -> dict[Key, PairedValues]:
    """Score rankings under the judgments of one evaluation, and return the per-query values.

    The result maps (metric_hash, ``LABEL NAME``) to values, where NAME is the name of a system. It is empty if `names`
    is empty.
    judgments: the engine that holds the judgments.
    rankings: label -> the engine that holds the rankings; the label tells apart equal names in the two evaluations.
    names: names of the systems to score.
    evaluation: the configuration of the engine that computes the values.
    Raises UnknownPartsError if judgments and rankings stay in Spark.
    """
    if not names:
        return {}
    if evaluation.engine.spark:
        raise UnknownPartsError("judgments and rankings stay in Spark")

    def read(table: str, label: str) -> pa.Table:
        rows = rankings[label].read(table, where={"system_id": names})
        labelled = pc.binary_join_element_wise(label, rows["system_id"].cast(pa.string()), " ")
        return rows.set_column(rows.schema.get_field_index("system_id"), "system_id", labelled)

    systems = [f"{label} {name}" for label in rankings for name in names]
    judged = judgments.read("judgment")
    tables = {name: pa.concat_tables([read(name, label) for label in rankings]) for name in OF_RANKINGS}
    tables |= {name: next(iter(rankings.values())).read(name).slice(0, 0) for name in ABOUT_RANKINGS}
    with scoring.open_engine_for(evaluation) as engine:
        engine.declare_texts("system_id", systems)
        columns = [judged["query_id"], *(tables[name]["query_id"] for name in OF_RANKINGS)]
        engine.declare_texts("query_id", {text for ids in columns for text in ids.unique().to_pylist()})
        put_metrics(engine, metrics)
        engine.put("pulled_judgment", judged)
        engine.put("pulled_query", TEXT_SCHEMA.empty_table())
        engine.put("pulled_attribute", ATTRIBUTE_SCHEMA.empty_table())
        for name, table in tables.items():
            engine.put(name, table)
        engine.put("pulled_system", pa.table([systems, list(range(len(systems)))], schema=SYSTEM_SCHEMA))
        engine.set_defaults(baseline=systems[0])
        scoring.score_metrics(engine, metrics, summed_up=False)
        values = engine.read("metric_value", ("metric_hash", "system_id", "query_id", "value"), order="query_id")
        return value_groups(values, "metric_hash", "system_id")


def count_changed_judgments(past: Engine, current: Engine, query_ids: Sequence[str]) -> tuple[int, int]:
    """Return (number of new judgments, number of judgments that were changed or removed).

    past, current: the engines with the judgments of the previous and of the current evaluation.
    query_ids: the queries whose judgments are counted.
    """
    ids = pa.array(query_ids, pa.string())
    old, new = (
        engine.read("judgment", (*JUDGED, "grade")).filter(pc.field("query_id").isin(ids)) for engine in (past, current)
    )
    joined = old.join(new, JUDGED, join_type="full outer", left_suffix="_old", right_suffix="_new")
    is_new = joined["grade_old"].is_null()
    is_same = pc.fill_null(pc.equal(joined["grade_old"], joined["grade_new"]), False)
    fresh = pc.sum(is_new).as_py() or 0
    return fresh, joined.num_rows - fresh - (pc.sum(is_same).as_py() or 0)
