"""What a metric is there for: it decides, it describes, or it guards.  One metric decides, unless more are named."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator

from ndcg_ab.config.model.by_metric import read_metrics
from ndcg_ab.config.model.keys import Trait
from ndcg_ab.config.model.settings import Gate, Statistics
from ndcg_ab.errors import RuleError, Setting

ROLES = ("metrics", "secondary_metrics", "guardrails")  # of a metric: the keys that give it one
FIRST, ALL = "first", "all"


def read_primary(value: Any) -> Any:
    """The key `primary_metrics`: names of metrics, or which of `metrics` are meant."""
    if value is None or value in (FIRST, ALL):
        return value
    if not isinstance(value, list) or not value:
        instead = f"; write [{value}]" if isinstance(value, str) else ""
        raise ValueError(f"must be a list of metrics, or first, or all{instead}")
    return read_metrics(value)


Primary = Annotated[list[str] | Literal["first", "all"] | None, BeforeValidator(read_primary), Trait.METRICS]


class Settled(NamedTuple):
    """The metrics that decide, those that describe, and how the former were named; FIRST: by default, perhaps."""

    metrics: list[str]
    secondary_metrics: list[str]
    primary_metrics: Primary


def settle_roles(
    metrics: Sequence[str],
    primary: Primary,
    secondary: Sequence[str],
    guardrails: Mapping[str, float],
    *,
    are_named: bool,
) -> Settled:
    """Which of the metrics decide: those of `primary`; else all where other roles are given; else the first one.

    are_named: whether `metrics` are given, and are not the default. RuleError for a metric with two roles.
    """
    given = list(metrics) if are_named or not isinstance(primary, list) else []
    chosen = primary if isinstance(primary, list) else []
    roles: dict[str, Sequence[str]] = {
        "primary_metrics": chosen,
        "metrics": [name for name in given if name not in chosen],
        "secondary_metrics": secondary,
        "guardrails": tuple(guardrails),
    }
    refuse_two_roles(roles, is_default=not are_named)
    if primary is None and len(given) > 1 and not secondary and not guardrails:
        primary = "first"
    decide = chosen or (given[:1] if primary == FIRST else given)
    return Settled(list(decide), [*(name for name in given if name not in decide), *secondary], primary)


def refuse_two_roles(roles: Mapping[str, Sequence[str]], *, is_default: bool) -> None:
    """RuleError for a metric that is given in two keys; is_default: whether no primary one is given."""
    for name in (name for names in roles.values() for name in names):
        keys = [key for key, names in roles.items() if name in names]
        if len(keys) > 1 and name in roles.get("metrics", ()) and is_default:
            raise RuleError(
                f"{name}: is the primary metric where no other is given, and has one role: give another primary metric"
                " with `",
                Setting("metrics"),
                "`",
            )
        if len(keys) > 1:
            places = [part for key in keys for part in (" and `", Setting(key), "`")][1:]
            raise RuleError(f"{name}: is given in `", *places, "; it has one role: take it out of all but one")


def refuse_unknown_metrics(roles: Mapping[str, Sequence[str]], statistics: Statistics, gate: Gate | None) -> None:
    """RuleError where a difference or a range is given for a metric that has no role, or not the one that it needs."""
    known = [name for names in roles.values() for name in names]
    unknown = f"is none of the metrics ({', '.join(known)})"
    for name, difference in (gate.not_worse if gate else {}).items():
        if name not in known:
            secondary, guardrail = Setting("secondary_metrics", name), Setting("guardrails", name, difference)
            raise RuleError(
                *(Setting("gate.not_worse"), f": {name}: {unknown}; add it with `", secondary),
                *("`, or make it a guardrail: `", guardrail, "`"),
            )
    for name in gate.no_drop if gate and isinstance(gate.no_drop, dict) else ():
        if name not in roles["metrics"]:
            rule = f"is none of the primary metrics ({', '.join(roles['metrics'])}); name one, or make it one with `"
            raise RuleError(Setting("gate.no_drop"), f": {name}: {rule}", Setting("primary_metrics", name), "`")
    for name in statistics.ranges:
        if name not in known:
            raise RuleError(Setting("statistics.ranges"), f": {name}: {unknown}; take it out")
    for name in statistics.smallest_effect if isinstance(statistics.smallest_effect, dict) else ():
        effect = Setting("statistics.smallest_effect")
        if name in roles["guardrails"]:
            raise RuleError(effect, f": {name}: {unknown}; it is a guardrail, whose margin is given there")
        if name not in known:
            primary, secondary = Setting("metrics", name), Setting("secondary_metrics", name)
            raise RuleError(effect, f": {name}: {unknown}; add it with `", primary, "` or `", secondary, "`")
