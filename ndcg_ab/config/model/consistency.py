"""Check rules about several keys of a configuration, for the model `Evaluation`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic_core import InitErrorDetails

from ndcg_ab.config.loading.hints import closest_hint
from ndcg_ab.config.model.by_metric import FIRST, Primary
from ndcg_ab.config.model.settings import Gate, Statistics
from ndcg_ab.errors import Part, RuleError, Setting
from ndcg_ab.other_measures import find_measure
from ndcg_core.measures.notation import ExternalMetric

SCORES = Setting("scores")
ROLES = ("metrics", "secondary_metrics", "guardrails")  # of a metric: the keys that give it one


def check_consistency(evaluation: Any) -> None:
    """Raise RuleError for the first rule about several keys that an evaluation breaks.

    Before that, the settings of Spark are passed to each source.
    """
    judgments = (evaluation.judgments, *evaluation.more_judgments, evaluation.cheap_judgments)
    for entry in (*filter(None, judgments), *evaluation.systems):
        entry.read_by(evaluation.engine.spark)
    refuse_first(broken_rules(evaluation))


def refuse_first(broken: Iterable[Sequence[Part]]) -> None:
    """Raise RuleError for the first broken rule, if any; broken: the parts of a sentence for each."""
    for parts in broken:
        raise RuleError(*parts)


def missing_inputs(evaluation: Any, value: Any) -> list[InitErrorDetails]:
    """Return pydantic's errors for missing judgments and missing systems.

    The list is empty if judgments and systems are given, or scores instead. value: the content of the configuration.
    """
    if evaluation.scores:
        return []
    keys = [key for key in ("judgments", "systems") if not getattr(evaluation, key)]
    lacking = [InitErrorDetails(type="missing", loc=(key,), input=value) for key in keys]
    if "systems" in keys and "systems" in evaluation.model_fields_set:
        length = {"field_type": "List", "min_length": 1, "actual_length": 0}
        lacking[-1] = InitErrorDetails(type="too_short", loc=("systems",), input=[], ctx=length)
    return lacking


def broken_rules(evaluation: Any) -> Iterator[Sequence[Part]]:
    """Yield the parts of a sentence for each rule about several keys that an evaluation breaks."""
    yield from (broken_rules_of_scores if evaluation.scores else broken_rules_of_sources)(evaluation)
    if evaluation.careful_unseen is not None and evaluation.cheap_judgments is None:
        yield Setting("careful_unseen"), ": goes with `", Setting("cheap_judgments"), "`: give them, too"
    yield from broken_rules_of_names(evaluation)
    if evaluation.queries is None and (evaluation.slices.by or evaluation.statistics.weighted):
        key = Setting("slices.by" if evaluation.slices.by else "statistics.weighted")
        yield Setting("queries"), ": missing; ", key, " needs a file of queries with the columns it names"
    gate = evaluation.gate
    if gate is not None and gate.slice_regression is not None and not evaluation.slices.by:
        rule = ": there are no slices to look at; name attributes with `"
        yield Setting("gate.slice_regression"), rule, Setting("slices.by"), "`"
    if gate is not None and gate.proof and not (gate.not_worse or evaluation.guardrails or evaluation.costs.guardrails):
        margin = Setting("gate.not_worse", evaluation.metrics[0], 0.01)
        yield Setting("gate.proof"), ": no guardrail or margin could be shown to hold; give one: `", margin, "`"


def broken_rules_of_names(evaluation: Any) -> Iterator[Sequence[Part]]:
    """Yield the broken rules about the names of systems; none if names stand for one system per file, yet unknown."""
    names = [system.name for system in evaluation.systems]
    if any(system.is_one_per_file for system in evaluation.systems):
        return
    for name in names:
        if names.count(name) > 1:
            yield Setting("systems"), f": the name {name!r} is given twice; every system needs its own"
    if evaluation.baseline is not None and names and evaluation.baseline not in names:
        hint = closest_hint(evaluation.baseline, names)
        rule = f" = {evaluation.baseline!r}: must be one of the systems ({', '.join(names)}){hint}"
        yield Setting("baseline"), rule


def broken_rules_of_scores(evaluation: Any) -> Iterator[Sequence[Part]]:
    """Yield the broken rules about keys that do not go with scores: those about rankings, judgments and Spark."""
    for key in ("judgments", "more_judgments", "cheap_judgments", "documents", "costs"):
        if getattr(evaluation, key):
            yield Setting(key), ": goes with rankings, and `", SCORES, "` hold none: take one of the two out"
    for key in ("judged", "unanswered"):
        if evaluation.gate is not None and getattr(evaluation.gate, key) is not None:
            yield Setting(f"gate.{key}"), ": is not known of scores that another tool computed; take it out"
    if evaluation.engine.spark is not None:
        yield "engine.spark: makes scores from rankings, and `", SCORES, "` hold none: take one of the two out"


def broken_rules_of_sources(evaluation: Any) -> Iterator[Sequence[Part]]:
    """Yield the broken rules about the kinds of sources: tables that Spark reads, and functions.

    A judge function belongs to `judgments` or `more_judgments`. It needs queries, and works neither with Spark nor with
    proxy judgments.
    """
    spark, proxy, queries = evaluation.engine.spark, evaluation.cheap_judgments, Setting("queries")
    more = {f"more_judgments[{index}]": entry for index, entry in enumerate(evaluation.more_judgments)}
    entries = {"judgments": evaluation.judgments, **more, "cheap_judgments": proxy}
    kinds = {key: entry.kind for key, entry in entries.items() if entry is not None}
    tables = [key for key, kind in kinds.items() if kind == "table"]
    judging = [key for key, kind in kinds.items() if kind == "python" and key != "cheap_judgments"]
    for key in (*tables, *(f"system {each.name!r}" for each in evaluation.systems if each.kind == "table")):
        if spark is None:
            yield Setting(key), ": table is read by Spark, and there is none: say where, with engine: {spark: …}"
    if more and tables:
        rule = ": are put together on this machine, and rows of a `table` stay with Spark: give files"
        yield Setting("more_judgments"), rule
    for name in (*evaluation.metrics, *evaluation.secondary_metrics, *evaluation.guardrails) if spark else ():
        if isinstance(find_measure(name), ExternalMetric):
            yield (f"engine.spark: the rankings stay there, and {name} is computed here: leave it out",)
    if proxy is not None and spark is not None:
        yield ("cheap_judgments: are not scored by Spark: take them or engine.spark out",)
    if kinds.get("cheap_judgments") == "python":
        yield Setting("cheap_judgments"), ": a function judges for `judgments` or `more_judgments`: name it there"
    for key in judging[1:]:
        yield Setting(key), f": {judging[0]} names a function that judges, and there can be one: take one out"
    for key in judging:
        if spark is not None:
            yield Setting(key), ": a function judges rankings that are here, and Spark's stay there: give files"
        if proxy is not None:
            rule = f": go with judgments of files alone: take it or the python of {key} out"
            yield Setting("cheap_judgments"), rule
        if evaluation.queries is None:
            yield queries, f": missing; the function of {key} is given their texts"
    for system in evaluation.systems if evaluation.queries is None else ():
        if system.source.needs_queries:
            yield queries, f": missing; system {system.name!r} is a {system.kind} source and needs them"


# ---- one metric decides, unless more are named


def assign_roles(
    metrics: Sequence[str],
    primary: Primary,
    secondary: Sequence[str],
    guardrails: Mapping[str, float],
    *,
    are_named: bool,
) -> dict[str, Any]:
    """Return the keys `metrics`, `secondary_metrics` and `primary_metrics` after assigning roles.

    The returned `metrics` are the primary metrics. primary: a list of the primary metrics; "first" or "all": the first
    or all of `metrics`; None: all of them if other roles are given, else the first. guardrails: metric -> margin.
    are_named: True if the configuration gives `metrics`; False for the default. Raises RuleError for a metric with two
    roles.
    """
    listed = list(metrics) if are_named or not isinstance(primary, list) else []
    chosen = primary if isinstance(primary, list) else []
    roles: dict[str, Sequence[str]] = {
        "primary_metrics": chosen,
        "metrics": [name for name in listed if name not in chosen],
        "secondary_metrics": secondary,
        "guardrails": tuple(guardrails),
    }
    refuse_first(metrics_with_two_roles(roles, is_default=not are_named))
    if primary is None and len(listed) > 1 and not secondary and not guardrails:
        primary = "first"
    decide = chosen or (listed[:1] if primary == FIRST else listed)
    described = [*(name for name in listed if name not in decide), *secondary]
    return {"metrics": list(decide), "secondary_metrics": described, "primary_metrics": primary}


def metrics_with_two_roles(roles: Mapping[str, Sequence[str]], *, is_default: bool) -> Iterator[Sequence[Part]]:
    """Yield the parts of a sentence for each metric that is named in two keys, since a metric has one role.

    roles: key -> metrics. is_default: True if `metrics` is the default.
    """
    for name in (name for names in roles.values() for name in names):
        keys = [key for key, names in roles.items() if name in names]
        if len(keys) > 1 and name in roles.get("metrics", ()) and is_default:
            rule = "is the primary metric where no other is given, and has one role: give another primary metric with `"
            yield f"{name}: {rule}", Setting("metrics"), "`"
        if len(keys) > 1:
            entries = [part for key in keys for part in (" and `", Setting(key), "`")][1:]
            yield f"{name}: is given in `", *entries, "; it has one role: take it out of all but one"


def settings_of_unknown_metrics(
    roles: Mapping[str, Sequence[str]], statistics: Statistics, gate: Gate | None
) -> Iterator[Sequence[Part]]:
    """Yield the parts of a sentence for each setting that names a metric to which it cannot apply.

    `gate.not_worse` and `statistics.ranges` may name any metric with a role; `statistics.smallest_effect` none that is
    a guardrail; `gate.no_drop` only primary ones. roles: role key, such as `guardrails` -> metrics.
    """
    known = [name for names in roles.values() for name in names]
    unknown = f"is none of the metrics ({', '.join(known)})"
    for name, difference in (gate.not_worse if gate else {}).items():
        if name not in known:
            secondary, guardrail = Setting("secondary_metrics", name), Setting("guardrails", name, difference)
            rest = (secondary, "`, or make it a guardrail: `", guardrail, "`")
            yield Setting("gate.not_worse"), f": {name}: {unknown}; add it with `", *rest
    for name in gate.no_drop if gate and isinstance(gate.no_drop, dict) else ():
        if name not in roles["metrics"]:
            rule = f"is none of the primary metrics ({', '.join(roles['metrics'])}); name one, or make it one with `"
            yield Setting("gate.no_drop"), f": {name}: {rule}", Setting("primary_metrics", name), "`"
    for name in statistics.ranges:
        if name not in known:
            yield Setting("statistics.ranges"), f": {name}: {unknown}; take it out"
    for name in statistics.smallest_effect if isinstance(statistics.smallest_effect, dict) else ():
        effect = Setting("statistics.smallest_effect")
        if name in roles["guardrails"]:
            yield effect, f": {name}: {unknown}; it is a guardrail, whose margin is given there"
        if name not in known:
            primary, secondary = Setting("metrics", name), Setting("secondary_metrics", name)
            yield effect, f": {name}: {unknown}; add it with `", primary, "` or `", secondary, "`"
