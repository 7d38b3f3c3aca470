"""Read the evaluations of one configuration in order of time, and the changes between them (`ndcg-ab history`)."""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ndcg_ab.comparing.since_last import SINCE_LAST
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.keys import Trait, input_keys, keys_with
from ndcg_ab.engines.duckdb import GrowingDatabase
from ndcg_ab.errors import InputError
from ndcg_ab.history import bundle as bundles
from ndcg_ab.history import database
from ndcg_ab.history.failed_nights import FailedNight, read_failed_nights
from ndcg_ab.history.repeated_tests import RepeatedTests, read_repeated_tests
from ndcg_ab.results.codec import encode, json_text
from ndcg_ab.results.decisions import Choice
from ndcg_core.measures.notation import match_metric
from ndcg_core.statistics.over_time import CAUSES
from ndcg_core.statistics.verdicts.verdict import Size, State, Verdict


@dataclass
class EvaluatedNight:
    """One evaluation in the history, with its results on one metric.

    Attributes
    ----------
    ordinal, key : int, str
        Number and unique name of the evaluation.
    began : str
        The nominal time, ISO 8601.
    gate : str or None
        "passed" or "failed"; None without gates.
    values : dict
        system_id -> mean of the metric, or None.
    compared : dict
        Candidate -> comparison with the baseline; a candidate that was not compared is left out.
    changed : tuple of str
        What differs from the previous evaluation: judgments, ranking NAME, queries, configuration (its keys), baseline,
        definition (of the metric).
    pending : bool
        True if the bundle exists and no tracker has it.
    decisions, reasons : dict
        Candidate -> recommended decision, and candidate -> its reason.
    failures : tuple of str
        The failed gates, each with the systems for which it failed: ``no regression (new)``.
    since_last : dict
        System -> comparison with itself in the previous evaluation, if its ranking had changed.
    moved : dict
        System -> cause (ranking, judgments, queries) -> part of the change of the mean, if known.
    acknowledged : tuple or None
        Time and note of the acknowledgement of its drops; None if there is none.
    judgments_version : str or None
        The configured versions of the judgments, joined with ``, ``; None if there are none.
    """

    ordinal: int
    key: str
    began: str
    baseline: str
    gate: str | None
    values: dict[str, float | None] = field(default_factory=dict)
    compared: dict[str, "PastComparison"] = field(default_factory=dict)
    changed: tuple[str, ...] = ()
    pending: bool = False
    decisions: dict[str, Choice] = field(default_factory=dict)
    failures: tuple[str, ...] = ()
    reasons: dict[str, str] = field(default_factory=dict)
    since_last: dict[str, "PastComparison"] = field(default_factory=dict)
    moved: dict[str, dict[str, float]] = field(default_factory=dict)
    acknowledged: tuple[str, str | None] | None = None
    judgments_version: str | None = None

    @property
    def improved(self) -> list[str]:
        """The systems whose ranking is shown to be better than in the previous evaluation.

        A gain that is shown to be smaller than the smallest effect does not count.
        """
        return [name for name, test in self.since_last.items() if test.direction > 0]

    @property
    def dropped(self) -> list[str]:
        """The systems whose ranking is shown to be worse than in the previous evaluation.

        A loss that is shown to be smaller than the smallest effect is no drop.
        """
        return [name for name, test in self.since_last.items() if test.direction < 0]


class ReusedNight(NamedTuple):
    """A night (scheduled run) that reused an earlier evaluation, because inputs and configuration were equal.

    Attributes
    ----------
    began : str
        The nominal time of the night, ISO 8601.
    ordinal : int
        Number of the reused evaluation.
    """

    began: str
    ordinal: int


@dataclass(frozen=True)
class Timeline:
    """The evaluations of one configuration on one metric, in the order of their nominal times.

    Attributes
    ----------
    name, metric : str
        Name of the configuration, and the metric.
    systems : tuple of str
        The baseline first, then the configured systems in order, then systems that are no longer configured.
    evaluations : tuple of EvaluatedNight
        The evaluations, or only the latest ones if a number was requested.
    reused : tuple of ReusedNight
        The runs that reused an earlier evaluation, from the time of the first returned evaluation on.
    failed : tuple of FailedNight
        The runs that failed, from the time of the first returned evaluation on, except those that were repeated with
        success.
    over_nights : RepeatedTests or None
        The tests repeated over all evaluations, on every primary metric; None if nothing was tested.
    latest_value : int or None
        The smallest number of latest evaluations that includes one with a value of the metric; None if no evaluation
        has a value.
    """

    name: str
    metric: str
    systems: tuple[str, ...]
    evaluations: tuple[EvaluatedNight, ...]
    reused: tuple[ReusedNight, ...] = ()
    failed: tuple[FailedNight, ...] = ()
    over_nights: RepeatedTests | None = None
    latest_value: int | None = None

    @property
    def missing_metric_text(self) -> str:
        """A sentence which says that no returned evaluation has a value of the metric, or "" if one has."""
        if any(value is not None for each in self.evaluations for value in each.values.values()):
            return ""
        further = f"; --last {self.latest_value} goes back to one that has" if self.latest_value else ""
        return f"no evaluation shown has a value of {self.metric}{further}"


class PastComparison(NamedTuple):
    """The result of one comparison in the history.

    Attributes
    ----------
    difference : float or None
        The mean difference.
    conclusion : Verdict
        The verdict.
    verdict : str
        The verdict in words; empty for a system compared with itself.
    direction : int
        For a system compared with itself: the result of `shown_direction`.
    is_reversible : bool
        Whether unjudged results could reverse the verdict, or what they could do is unknown. False for a system
        compared with itself, and for costs.
    """

    difference: float | None
    conclusion: Verdict
    verdict: str = ""
    direction: int = 0
    is_reversible: bool = False

    @property
    def marked_verdict(self) -> Verdict:
        """The verdict whose mark is shown: a guardrail that holds, and that unjudged results could turn, is open."""
        return Verdict.MAY_BE_WORSE if self.conclusion.holds_margin and self.is_reversible else self.conclusion


def read_timeline(evaluation: Evaluation, metric: str | None, last: int | None) -> Timeline:
    """Return the timeline of one metric: its evaluations, and the changes between them.

    metric: name of the metric or cost; None for the first configured metric.
    last: number of latest evaluations to return; None for all.
    Raises InputError if there is no history, if it is empty, or if it has no such metric.
    """
    path = database.existing_history(evaluation)
    pending = {f"{evaluation.name}/{folder.name}" for folder in bundles.unpublished_bundles(evaluation)}
    with database.open_history_to_read(path) as tables:
        columns = ("ordinal", "key", "began", "baseline", "gate", "configuration")
        rows = tables.rows("evaluation", columns, order="began, ordinal")
        if not rows:
            raise InputError(f"{path}: holds no evaluation yet; `ndcg-ab run CONFIG` makes one")
        costs = {name for (name,) in tables.rows("cost_timeline", ("metric",))}
        name = find_metric(tables, metric, evaluation, path, costs)
        nights = {
            ordinal: EvaluatedNight(ordinal, key, began, baseline, gate, pending=key in pending)
            for ordinal, key, began, baseline, gate, _ in rows
        }
        states = read_states(nights, name, tables)
        read_values(nights, name, tables)
        read_decisions(nights, name, tables)
        over_nights = read_repeated_tests(tables)
        reused = [ReusedNight(*row) for row in tables.rows("reuse", ("began", "ordinal"), order="began, ordinal")]
    done = {*(night.began for night in nights.values()), *(night.began for night in reused)}
    failed = [night for night in read_failed_nights(evaluation) if night.began not in done]
    before: dict[str, Any] | None = None
    for (*_, configuration), night in zip(rows, nights.values(), strict=True):
        content, values, state = json.loads(configuration), night.values, states[night.ordinal]
        system_names = [system["name"] for system in content["systems"]]  # the order that was asked for
        night.values = {system: values[system] for system in system_names if system in values}
        state |= {"configuration": flatten_settings(content), "baseline": night.baseline}
        night.changed = () if before is None else tuple(list_changes(before, state))
        before = state
    evaluations = list(nights.values())
    latest = evaluations[-last:] if last else evaluations
    systems = order_systems(evaluation, [system for each in latest for system in each.values])
    has_values = [any(value is not None for value in each.values.values()) for each in reversed(evaluations)]
    return Timeline(
        evaluation.name,
        name,
        tuple(systems),
        tuple(latest),
        tuple(row for row in reused if row.began >= latest[0].began),
        tuple(row for row in failed if row.began >= latest[0].began),
        over_nights,
        has_values.index(True) + 1 if any(has_values) else None,
    )


def order_systems(evaluation: Evaluation, names: Iterable[str]) -> list[str]:
    """Return each name once: the baseline, then the configured systems in order, then systems no longer configured."""
    ordered = dict.fromkeys(names)
    current = dict.fromkeys([evaluation.baseline_name, *(system.name for system in evaluation.systems)])
    return [*(name for name in current if name in ordered), *(name for name in ordered if name not in current)]


def read_states(nights: dict[int, EvaluatedNight], metric: str, tables: GrowingDatabase) -> dict[int, dict[str, Any]]:
    """Return the state of each evaluation, which is compared with that of the next evaluation to find changes.

    The result maps the ordinal to {input: digest}, with the key ``definition`` for the hash of the metric. Also sets
    `judgments_version` of each evaluation.
    nights: ordinal -> evaluation; changed in place.
    metric: name of the metric.
    tables: the open history.
    """
    states: dict[int, dict[str, Any]] = {ordinal: {} for ordinal in nights}
    described = ("ordinal", "kind", "name", "digest", "version")
    for ordinal, kind, name, digest, version in tables.rows("input", described, order="ordinal, kind, name, digest"):
        if kind == "judgments" and version:
            judgments_version = nights[ordinal].judgments_version
            nights[ordinal].judgments_version = f"{judgments_version}, {version}" if judgments_version else version
        state = f"{kind} {name}" if kind in ("ranking", "scores") else kind
        before = states[ordinal].get(state)  # of judgments there may be several files
        states[ordinal][state] = f"{before} {digest}" if before else digest
    for ordinal, digest in tables.rows("metric", ("ordinal", "hash"), where={"metric": metric}):
        states[ordinal]["definition"] = digest
    return states


def read_decisions(nights: dict[int, EvaluatedNight], metric: str, tables: GrowingDatabase) -> None:
    """Read decisions, failed gates, changes since the previous evaluation and acknowledgements into the evaluations.

    nights: ordinal -> evaluation; changed in place.
    metric: name of the metric whose changes since the previous evaluation are read.
    tables: the open history.
    """
    for ordinal, candidate, decision, why in tables.rows("decision", ("ordinal", "candidate", "decision", "reason")):
        nights[ordinal].decisions[candidate] = Choice(decision)
        nights[ordinal].reasons[candidate] = why
    for ordinal, name, systems in tables.rows("gate", ("ordinal", "name", "systems"), where={"passed": False}):
        nights[ordinal].failures += (failure_text(name, systems),)
    fields = ("ordinal", "candidate", "difference", "conclusion", "size")
    key = {"metric": metric, "family": SINCE_LAST}
    for ordinal, system, difference, *facts in tables.rows("comparison", fields, where=key, order="ordinal, candidate"):
        nights[ordinal].since_last[system] = PastComparison(
            difference, Verdict(facts[0]), direction=shown_direction(*facts)
        )
    for ordinal, system, *parts in tables.rows("moved", ("ordinal", "system_id", *CAUSES), where={"metric": metric}):
        if None not in parts:
            nights[ordinal].moved[system] = dict(zip(CAUSES, parts, strict=True))
    for ordinal, *acknowledgement in tables.rows("acknowledged", ("ordinal", "at", "note")):
        nights[ordinal].acknowledged = (acknowledgement[0], acknowledgement[1])


def read_values(nights: dict[int, EvaluatedNight], metric: str, tables: GrowingDatabase) -> None:
    """Read the means of a metric or cost, and the comparisons with the baseline, into the evaluations.

    nights: ordinal -> evaluation; changed in place.
    metric: name of the metric or cost.
    tables: the open history.
    """
    for row in tables.read("cost_timeline", where={"metric": metric}).to_pylist():
        nights[row["ordinal"]].values[row["system_id"]] = row["mean"]
        if row["conclusion"] is not None:  # of a guardrail
            conclusion = Verdict(row["conclusion"])
            past = PastComparison(row["difference"], conclusion, conclusion.words)
            nights[row["ordinal"]].compared[row["system_id"]] = past
    for row in database.read_timeline_rows(tables).to_pylist():
        if row["metric"] == metric:
            night, system = nights[row["ordinal"]], row["system_id"]
            night.values[system] = row["mean"]
            if row["verdict"] is not None:
                past = PastComparison(row["difference"], Verdict(row["conclusion"]), row["verdict"])
                state = State(row["unjudged_state"] or State.UNKNOWN)
                night.compared[system] = past._replace(is_reversible=state.is_undecided)


def shown_direction(conclusion: str, size: str | None) -> int:
    """Return the direction of a system's change since the previous evaluation: -1 for a drop, 1 for an improvement.

    Return 0 if no change is shown, or if the change is shown to be smaller than the smallest effect.
    conclusion: a value of `Verdict`.
    size: a value of `Size`, the change compared with the smallest effect; None if this is unknown.
    """
    return 0 if size == Size.SMALLER_THAN else Verdict(conclusion).direction


def failure_text(gate: str, systems: str | None) -> str:
    """Return the name of a failed gate, followed by the systems for which it failed: ``no regression (new)``.

    systems: the names as the history stores them, joined with ``; ``; None for a gate without systems.
    """
    return f"{gate} ({', '.join(dict.fromkeys(systems.split('; ')))})" if systems else gate


def flatten_settings(configuration: dict[str, Any]) -> dict[str, Any]:
    """Return dotted key -> value for all configuration keys that can change a result.

    The versions of systems are included; names of inputs are not.
    """
    values: dict[str, Any] = {}

    def put(prefix: str, value: Any) -> None:
        if isinstance(value, dict):
            for name, inner in value.items():
                put(f"{prefix}.{name}" if prefix else name, inner)
        else:
            values[prefix] = value

    excluded = keys_with(Evaluation, Trait.OPERATIONAL) | input_keys(Evaluation) | {"baseline", "name"}
    put("", {key: value for key, value in configuration.items() if key not in excluded})
    return values | {f"version of {system['name']}": system.get("version") for system in configuration["systems"]}


def find_metric(past: Any, option: str | None, evaluation: Evaluation, path: Path, costs: Collection[str] = ()) -> str:
    """Return the name by which the history stores the metric that a user named.

    past: the open history.
    option: the user's name of the metric. None for the first configured metric; if another tool computed the scores and
        no metric is configured, None stands for the metric of the last evaluation (the first in alphabetical order).
    path: the file of the history, for the message.
    costs: names of cost statistics, which are also allowed.
    Raises InputError if the history has no such metric.
    """
    names = sorted({found for (found,) in past.rows("system_summary", ("metric",))} | {*costs})
    metric = option or evaluation.metrics[0]
    if option is None and evaluation.scores and not evaluation.names_metrics:  # the one that was compared last
        ((metric, *_), *_) = past.rows("system_summary", ("metric",), order="ordinal desc, metric")
    name = metric if metric in costs else match_metric(metric, names)
    if name not in names:
        setting = f"--metric {metric!r}" if option else f"metrics[0] = {metric!r}"
        raise InputError(f"{setting}: {path} has only {', '.join(names)}")
    return name


def list_changes(before: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    """Yield words for what differs between two evaluations: ``judgments``, ``ranking b new``, ``baseline``.

    before, now: input -> digest, with further keys for the configuration, the baseline and the definition of the
        metric.
    """
    for name in dict.fromkeys([*before, *now]):
        if name == "configuration":
            old, new = before[name], now[name]
            changed = [key for key in dict.fromkeys([*old, *new]) if old.get(key) != new.get(key)]
            yield from [f"configuration ({', '.join(changed)})"] if changed else []
        elif name in before and name in now:
            yield from [name] if before[name] != now[name] else []
        elif name != "definition":
            yield f"{name} {'new' if name in now else 'gone'}"


QueryValue = tuple[int, str, str, float]  # ordinal, began, system_id, value


def read_query(evaluation: Evaluation, query_id: str, metric: str | None, last: int | None) -> list[QueryValue]:
    """Return the values of one query over time, as (ordinal, nominal time, system_id, value).

    The rows are sorted by time, then by system.
    metric: name of the metric; None for the first configured metric.
    last: number of latest evaluations with the query to return; None for all.
    Raises InputError if there is no history, or if no evaluation has the query or the metric.
    """
    path = database.existing_history(evaluation)
    with database.open_history_to_read(path) as past:
        name = find_metric(past, metric, evaluation, path)
        columns, filters = ("ordinal", "began", "system_id", "value"), {"query_id": query_id, "metric": name}
        rows = past.rows("query_timeline", columns, where=filters, order="began, ordinal")
        if not rows:
            near = past.rows("near_query", ("query_id",), order="distance, query_id", query_id=query_id)
            names = ", ".join(repr(found) for (found,) in near[:3])
            raise InputError(f"--query {query_id!r}: is in no evaluation of {path} (near: {names})")
    ordinals = list(dict.fromkeys(row[0] for row in rows))
    systems = order_systems(evaluation, [row[2] for row in rows])
    latest = [row for row in rows if last is None or row[0] in ordinals[-last:]]
    return sorted(latest, key=lambda row: (row[1], row[0], systems.index(row[2])))


def query_json(query_id: str, rows: Sequence[QueryValue]) -> str:
    names = ("ordinal", "began", "system_id", "value")
    return json_text({"query_id": query_id, "values": [dict(zip(names, row, strict=True)) for row in rows]})


def timeline_json(timeline: Timeline) -> str:
    content = {
        "name": timeline.name,
        "metric": timeline.metric,
        "reused": [row._asdict() for row in timeline.reused],
        "failed": [row._asdict() for row in timeline.failed],
        "over_nights": encode(timeline.over_nights),
        "evaluations": [
            {
                **{name: getattr(each, name) for name in ("ordinal", "key", "began", "baseline", "gate", "failures")},
                "decisions": [{"candidate": name, "decision": choice} for name, choice in each.decisions.items()],
                **{name: getattr(each, name) for name in ("changed", "judgments_version", "pending")},
                "acknowledged": each.acknowledged and dict(zip(("at", "note"), each.acknowledged, strict=True)),
                "since_last": [
                    {"system_id": name, "difference": test.difference, "conclusion": test.conclusion}
                    for name, test in each.since_last.items()
                ],
                "moved": [{"system_id": name, **parts} for name, parts in each.moved.items()],
                "systems": [
                    {
                        "system_id": system,
                        "mean": value,
                        "difference": found and found.difference,
                        "verdict": found and found.verdict,
                        "conclusion": found and found.conclusion,
                    }
                    for system, value, found in ((*item, each.compared.get(item[0])) for item in each.values.items())
                ],
            }
            for each in timeline.evaluations
        ],
    }
    return json_text(content)
