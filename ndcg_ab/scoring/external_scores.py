"""Load scores that another tool computed into the score tables, so that all later steps are the same."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.inputs.sources import READING_SCORES, System
from ndcg_ab.engines.base import Engine
from ndcg_ab.errors import InputError, format_value
from ndcg_ab.results.outcome import Finding
from ndcg_ab.results.wording import queries_text
from ndcg_ab.scoring.metric_tables import SCHEMAS, append_rows, metric_row
from ndcg_ab.sources import Pulled, Queries
from ndcg_ab.sources.external_scores import KEY, repeated_keys
from ndcg_core.measures.metric import nearest_hint
from ndcg_core.measures.notation import ExternalMetric
from ndcg_core.statistics.averages import mean

SYSTEM_SCHEMA = pa.schema([("system_id", pa.string()), ("position", pa.int64())])
TEXT, REAL, WHOLE, TRUTH = pa.string(), pa.float64(), pa.int64(), pa.bool_()
FAILED = pa.schema([("system_id", TEXT), ("query_id", TEXT)])
QUERY_SCORE = pa.schema(
    [("system_id", TEXT), ("query_id", TEXT), ("metric_id", TEXT), ("value", REAL), ("is_answered", TRUTH)]
)
COVERAGE = pa.schema([("system_id", TEXT), ("query_id", TEXT), ("metric_id", TEXT), ("judged", REAL)])
SCORED_QUERY = pa.schema([("metric_id", TEXT), ("query_id", TEXT), ("is_relevant", TRUTH)])
QUERY = pa.schema(
    [
        ("query_id", TEXT),
        ("text", TEXT),
        ("weight", REAL),
        ("cluster", TEXT),
        ("probability", REAL),
        ("disagreement", REAL),
        ("is_drawn", TRUTH),
        ("is_judged", TRUTH),
        ("judged", WHOLE),
        ("is_named", TRUTH),
    ]
)
COARSE, FINE = 2, 4  # decimals: more than the first and at most the second tell of rounded values
MOST_NAMED = 12  # metrics named in a message
UNLIKE_MEANS = ("gm_",)  # prefixes of metrics whose value over all queries is not the mean

Values = dict[str, float]  # query_id -> value


# ---- systems and metrics


def add_systems_of_scores(evaluation: Evaluation, pulled: Sequence[Pulled]) -> Evaluation:
    """Return the evaluation with systems and primary metric filled in from the scores.

    Systems and metrics in the configuration are not changed. Raise InputError if the scores lack a configured system or
    metric, or if they have several metrics and none is configured as primary.
    """
    table = combine_scores(pulled)
    origins = " and ".join(dict.fromkeys(each.origin for each in pulled))
    refuse_two_definitions(table, origins)
    single = table.filter(pc.invert(table["is_mean"]))
    names, metrics = (pc.unique(single[name]).to_pylist() for name in ("system_id", "metric"))
    for name in [system.name for system in evaluation.systems] + [evaluation.baseline or names[0]]:
        if name not in names:
            key = "baseline" if name == evaluation.baseline else "systems"
            raise InputError(
                f"{key} = {format_value(name)}: is not in {origins} (there:"
                f" {list_names(names)}){nearest_hint(name, names)}"
            )
    changes: dict[str, object] = {}
    if not evaluation.systems:
        changes["systems"] = [named_system(name) for name in names]
    if not evaluation.names_metrics:
        others = {*evaluation.secondary_metrics, *evaluation.guardrails}
        unknown = [name for name in metrics if name not in others and f"-{name}" not in others]
        if len(unknown) != 1:
            refuse_several_metrics(unknown or metrics, single, origins)
        changes["metrics"] = unknown
    settled = evaluation.model_copy(update=changes)
    try:
        settled._check_settings_of_metrics()
    except ValueError as error:
        raise InputError(str(error)) from None
    for metric in settled.metric_list:
        assert isinstance(metric, ExternalMetric)
        if metric.source_name not in metrics:
            raise InputError(
                f"metric {format_value(metric.name)}: is not in {origins} (there: {list_names(metrics)})"
                f"{nearest_hint(metric.source_name, metrics)}"
            )
    return settled


def refuse_several_metrics(metrics: Sequence[str], values: pa.Table, origins: str) -> NoReturn:
    """Raise InputError because the scores hold several metrics and the configuration names no primary one."""
    owners = values.group_by(["system_id"]).aggregate([("metric", "distinct")]).to_pylist()
    of_all = [name for name in metrics if all(name in row["metric_distinct"] for row in owners)]
    if not of_all:
        names_text = "; ".join(f"{row['system_id']}: {list_names(row['metric_distinct'])}" for row in owners)
        raise InputError(
            f"{origins}: the systems share no metric ({names_text}): give one metric the same name in each file"
        )
    raise InputError(
        f"metrics: {origins}: holds {len(metrics)} metrics ({list_names(metrics)}): say which is the primary one, as"
        f" --metric {of_all[0]} (in a configuration: metrics: [{of_all[0]}])"
    )


def named_system(name: str) -> System:
    """Return a system that has a name and no ranking; raise InputError if the name cannot be printed on one line."""
    before = READING_SCORES.set(True)
    try:
        return System(name=name)
    except ValueError:
        raise InputError(
            f"system_id = {format_value(name)}: must be printable text on one line, of 1 to 100 letters"
        ) from None
    finally:
        READING_SCORES.reset(before)


def combine_scores(pulled: Sequence[Pulled]) -> pa.Table:
    """Return the scores of all inputs as one table.

    Raises InputError if a system has two values of one metric on one query.
    """
    table = pa.concat_tables([each.table.replace_schema_metadata() for each in pulled])
    for row in repeated_keys(table.group_by(KEY).aggregate([([], "count_all")])):
        key = {name: row[name] for name in KEY}
        origins = [each.origin for each in pulled if key in each.table.select(KEY).to_pylist()]
        raise InputError(
            f"{' and '.join(origins)}: {format_value(row['metric'])} of system {format_value(row['system_id'])} on"
            f" query {format_value(row['query_id'])} is in both; a query has one value"
        )
    return table


def refuse_two_definitions(table: pa.Table, origins: str) -> None:
    """Raise InputError if the values of one metric name have two definition hashes.

    A missing hash beside a hash counts as two definitions.
    """
    definitions: dict[str, str | None] = {}
    for row in table.group_by(["metric", "metric_hash"]).aggregate([]).to_pylist():
        first = definitions.setdefault(row["metric"], row["metric_hash"])
        if first != row["metric_hash"]:
            raise InputError(
                f"{origins}: {row['metric']} has the metric_hash {first} and {row['metric_hash']}; one definition is"
                " needed"
            )


def list_names(names: Sequence[str]) -> str:
    return ", ".join(names[:MOST_NAMED]) + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")


# ---- into the tables


def load_scores(engine: Engine, evaluation: Evaluation, pulled: Sequence[Pulled], queries: Queries) -> list[Finding]:
    """Put the scores into the engine's tables, and return findings about them.

    evaluation: with systems and primary metric filled in. Raise InputError if a system has no value of a metric, or
    shares no query with the baseline.
    """
    metrics = [metric for metric in evaluation.metric_list if isinstance(metric, ExternalMetric)]
    systems = [system.name for system in evaluation.systems]
    table = combine_scores(pulled)
    values, means = (values_by_system(table.filter(pc.equal(table["is_mean"], is_mean))) for is_mean in (False, True))
    names = pa.table({"system_id": systems, "position": list(range(len(systems)))}, schema=SYSTEM_SCHEMA)
    engine.put("pulled_system", names)
    engine.put("pulled_failed_query", FAILED.empty_table())
    engine.put("pulled_attribute", queries.attribute_table())
    engine.put("pulled_intended", queries.intended_table())
    engine.put("pulled_metric", metric_table(metrics))
    engine.set_defaults(baseline=evaluation.baseline_name)
    by_id = {row["query_id"]: row for row in queries.text_table().to_pylist()}
    drawn_ids = drawn_query_ids(by_id)
    rows = [
        (system, query_id, metric.hash, 0.0 - value if metric.is_negated else value, True)
        for metric in metrics
        for system in systems
        for query_id, value in values.get((system, metric.source_name), {}).items()
        if drawn_ids is None or query_id in drawn_ids
    ]
    scored = sorted({(metric_id, query_id, True) for _, query_id, metric_id, *_ in rows})
    # In the order of the SQL files: what is given makes again what reads it.
    engine.put_computed("query", query_table(sorted({query_id for _, query_id, *_ in rows}), by_id))
    engine.put_computed("scored_query", append_rows(SCORED_QUERY.empty_table(), scored))
    engine.put_computed("query_score", append_rows(QUERY_SCORE.empty_table(), rows))
    engine.put_computed("coverage", COVERAGE.empty_table())
    engine.build("system_summary", "paired_difference")
    return [
        Finding("scores_given", "note", GIVEN, len(rows)),
        *check_negated(metrics),
        *check_shared(evaluation, metrics, values),
        *check_means(systems, metrics, values, means),
        *check_rounding(systems, metrics, values),
    ]


GIVEN = (
    "another tool computed the values: the documents behind them, the order of ties and what is judged are not known"
    " here; a higher value counts as better (write -METRIC where a lower one is)"
)


def values_by_system(table: pa.Table) -> dict[tuple[str, str], Values]:
    """Return the values as a mapping (system_id, metric) -> query_id -> value."""
    values: dict[tuple[str, str], Values] = {}
    columns = (table[name].to_pylist() for name in ("system_id", "metric", "query_id", "value"))
    for system, metric, query_id, value in zip(*columns, strict=True):
        values.setdefault((system, metric), {})[query_id] = value
    return values


def metric_table(metrics: Sequence[ExternalMetric]) -> pa.Table:
    """Return the table `pulled_metric` for metrics of another tool.

    Only the id, the position and the names are filled in; all choices are null.
    """
    rows = [metric_row(metric, position) for position, metric in enumerate(metrics)]
    return pa.Table.from_pylist(rows, schema=SCHEMAS["pulled_metric"])


def drawn_query_ids(queries: Mapping[str, Mapping[str, Any]]) -> set[str] | None:
    """Return the ids of the queries that were drawn for judging; None if no query has a probability.

    queries: query_id -> row of the query file.
    """
    return {query_id for query_id, row in queries.items() if row["probability"]} or None


def query_table(scored: Sequence[str], queries: Mapping[str, Mapping[str, Any]]) -> pa.Table:
    """Return the table `query`: the scored queries, which count as judged, and the other queries of the query file.

    scored: ids of the scored queries. queries: query_id -> row of the query file.
    """
    scored_ids, drawn_ids = set(scored), drawn_query_ids(queries)
    rows = [
        {
            **queries.get(query_id, {"query_id": query_id}),
            "is_drawn": drawn_ids is None or query_id in drawn_ids,
            "is_judged": query_id in scored_ids,
            "judged": 0,
            "is_named": query_id in queries,
        }
        for query_id in dict.fromkeys([*scored, *queries])
    ]
    return pa.Table.from_pylist(rows, schema=QUERY)


# ---- findings


def check_negated(metrics: Sequence[ExternalMetric]) -> Iterator[Finding]:
    """Yield a finding for each metric whose signs are reversed because lower values are better."""
    for metric in metrics:
        if metric.is_negated:
            message = f"{metric.name}: the values of {metric.source_name} with their signs turned, as lower is better"
            yield Finding("negated_scores", "note", message, 1, metric=metric.name)


def check_shared(
    evaluation: Evaluation, metrics: Sequence[ExternalMetric], values: dict[tuple[str, str], Values]
) -> Iterator[Finding]:
    """Yield a finding for each system and metric without values for some queries that other systems have.

    values: (system, metric) -> query_id -> value. Raise InputError if a system has no value of a metric, or shares no
    query with the baseline.
    """
    systems, baseline = [system.name for system in evaluation.systems], evaluation.baseline_name
    for metric in metrics:
        of_system = {name: values.get((name, metric.source_name), {}) for name in systems}
        everything = sorted(set().union(*of_system.values()))
        ours = of_system[baseline]
        for name, query_ids in of_system.items():
            if not query_ids:
                raise InputError(f"{metric.source_name}: system {name} has no value of it")
        for name, theirs in of_system.items():
            if not ours.keys() & theirs.keys():
                first = [f"{each} {min(query_ids)!r}" for each, query_ids in ((baseline, ours), (name, theirs))]
                raise InputError(
                    f"{metric.source_name}: systems {baseline} and {name} share no query that both have a value for"
                    f" (the first of {' and of '.join(first)}): the query ids of both must be the same"
                )
            lacking = [query_id for query_id in everything if query_id not in theirs]
            if lacking:
                message = (
                    f"system {name} has no value of {metric.source_name} for {len(lacking)} of"
                    f" {queries_text(len(everything))} (such as {lacking[0]!r}): differences are taken over the queries"
                    " that both systems have, and a system may gain by what it leaves out"
                )
                yield Finding("missing_score", "warning", message, len(lacking), name, metric.name)


def check_means(
    systems: Sequence[str],
    metrics: Sequence[ExternalMetric],
    values: dict[tuple[str, str], Values],
    means: dict[tuple[str, str], Values],
) -> Iterator[Finding]:
    """Yield a finding for each mean in the scores that disagrees with the mean of the queries' values.

    A mean agrees if it differs only by rounding; a sum over the queries is accepted, too. values: (system, metric) ->
    query_id -> value. means: (system, metric) -> a mapping whose first value is the mean in the scores.
    """
    for metric in metrics:
        for system in systems:
            key = (system, metric.source_name)
            given = list(means.get(key, {}).values())
            computed = list(values.get(key, {}).values())
            if not given or not computed or metric.source_name.startswith(UNLIKE_MEANS):
                continue
            ours, unit = mean(computed) or 0.0, 10.0 ** -min(FINE, count_decimals(np.array([*computed, *given])))
            if min(abs(ours - given[0]), abs(ours * len(computed) - given[0])) > max(1.01 * unit, 1e-9 * abs(ours)):
                message = (
                    f"system {system}: the mean of {metric.source_name} over its {queries_text(len(computed))} is"
                    f" {ours:.6g}, and the file says {given[0]:.6g}: it counts other queries (as trec_eval -c does), or"
                    " some are not in the file"
                )
                yield Finding("mean_disagrees", "warning", message, len(computed), system, metric.name, ours - given[0])


def check_rounding(
    systems: Sequence[str], metrics: Sequence[ExternalMetric], values: dict[tuple[str, str], Values]
) -> Iterator[Finding]:
    """Yield a finding for each metric whose values have only 3 or 4 decimals, so that small differences are lost."""
    for metric in metrics:
        found = [value for name in systems for value in values.get((name, metric.source_name), {}).values()]
        digits = count_decimals(np.array(found))
        if COARSE < digits <= FINE:
            message = (
                f"{metric.source_name}: its values have {digits} decimals: smaller differences are lost, and a query"
                " may count as a tie that is none (trec_eval -q prints 4 decimals; pytrec_eval and ir_measures -p 12"
                " give all)"
            )
            yield Finding("rounded_scores", "note", message, len(found), metric=metric.name)


def count_decimals(values: NDArray[np.float64]) -> int:
    """Return the least number of decimals with which all values are exact; 15 if more than 14 are needed."""
    return next((digits for digits in range(15) if bool(np.all(np.round(values, digits) == values))), 15)
