"""The settings for costs of requests: which costs are recorded, and their guardrails.

A guardrail on a cost has a statistic after the @: ``latency_ms@p95: 20``. Such guardrails are moved
from `guardrails` to `costs.guardrails` before names of metrics are parsed there.
"""

import re
from typing import Annotated, Any, NamedTuple

from pydantic import field_validator, model_validator

from ndcg_ab.config.loading.hints import read_number
from ndcg_ab.config.model.keys import MEASURED, Model, Option, key
from ndcg_ab.errors import RuleError, Setting, format_value
from ndcg_core.statistics.averages import STATISTICS, quantile_share

LATENCY = "latency_ms"  # the time of a request, which is measured here
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
OF_A_COST = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)@(mean|p[0-9.]+)")
LIKE_A_COST = re.compile(r"(?i)(latency|time|duration|tokens?|price|costs?|bytes|_m?s)$")  # ends of names
OWN_UNIT = "in the unit of the cost, such as 20"
RESERVED = ("query_id", "doc_id", "score", "rank", "system_id")


class CostStatistic(NamedTuple):
    """A statistic of a cost, such as ``latency_ms@p95``.

    share: the quantile as a fraction, such as 0.95; None for the mean.
    """

    cost: str
    statistic: str

    @property
    def share(self) -> float | None:
        return quantile_share(self.statistic)

    @property
    def name(self) -> str:
        return f"{self.cost}@{self.statistic}"


class CostSettings(Model):
    """The settings for the costs recorded with each request, and their guardrails."""

    short_form = str | list[str]

    record: Annotated[list[str], Option("--cost", "compared", MEASURED, "COLUMN", argument="costs", read="as_list")] = (
        key("Names of costs: latency_ms, which is measured; of `http.costs`; columns of files.", list)
    )
    warm_up: int = key("Uncounted requests to each system at the beginning.", 0, strict=True, ge=0, le=10_000)
    by_turns: bool = key(
        "Ask every query once more, of all systems by turns; only these requests count.", False, strict=True
    )
    guardrails: dict[str, float] = key(
        "COST@STATISTIC: how far it may be above the baseline's; also in guardrails.", dict
    )

    @classmethod
    def expand(cls, value: Any) -> Any:
        """Return the mapping with the key `record` that a name or a list of names stands for.

        Any other value is returned unchanged.
        """
        return {"record": [value] if isinstance(value, str) else value} if isinstance(value, str | list) else value

    @field_validator("record")
    @classmethod
    def _named(cls, value: list[str]) -> list[str]:
        for name in value:
            refuse_name(name)
        return list(dict.fromkeys(value))

    @model_validator(mode="after")
    def _one_way_to_warm_up(self) -> "CostSettings":
        if self.by_turns and self.warm_up:
            raise ValueError("warm_up: by_turns asks every query once before it counts: take one of the two out")
        return self

    @field_validator("guardrails", mode="before")
    @classmethod
    def _margins(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        margins = {}
        for each, margin in value.items():
            name = read_cost_statistic(str(each)).name
            number = read_number(margin)
            if number is None or number <= 0:
                raise ValueError(f"{each}: {format_value(margin)}: must be a number above 0, {OWN_UNIT}")
            margins[name] = number
        return margins

    def __bool__(self) -> bool:
        """Return whether any cost is recorded."""
        return bool(self.names)

    @property
    def names(self) -> list[str]:
        """The names of all recorded costs, including the costs that only guardrails name."""
        guarded = [read_cost_statistic(key).cost for key in self.guardrails]
        return list(dict.fromkeys([*self.record, *guarded]))

    @property
    def statistics(self) -> list[CostStatistic]:
        """The statistics reported for each cost: mean, p50, p95, p99, and the statistics of its guardrails."""
        guarded = [read_cost_statistic(key) for key in self.guardrails]
        usual = [CostStatistic(cost, statistic) for cost in self.names for statistic in STATISTICS]
        distinct = dict.fromkeys([*usual, *guarded])
        return sorted(distinct, key=lambda each: (self.names.index(each.cost), each.share or 0.0))


def refuse_name(name: str) -> None:
    """Raise ValueError for a name that no cost can have.

    A name has letters, digits and _, does not begin with a digit, and is no reserved name of a column.
    """
    if not NAME.fullmatch(name) or name in RESERVED:
        raise ValueError(f"{name!r}: the name of a cost has letters, digits and _, and is not {', '.join(RESERVED)}")


def read_cost_statistic(text: str) -> CostStatistic:
    """Return the cost and statistic of a text such as ``latency_ms@p95``; raise ValueError for any other text."""
    match = OF_A_COST.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r}: must be COST@STATISTIC, as latency_ms@p95 or tokens@mean")
    refuse_name(match[1])
    quantile_share(match[2])
    return CostStatistic(match[1], match[2])


def split_guardrails(content: Any) -> Any:
    """Return the configuration with guardrails on costs moved from `guardrails` to `costs`.

    A configuration with scores, or without such guardrails, is returned unchanged. Raises RuleError for a guardrail on
    a cost without a statistic, and ValueError for a repeated one.
    """
    guardrails = content.get("guardrails") if isinstance(content, dict) and not content.get("scores") else None
    section = CostSettings.expand(content.get("costs") or {}) if isinstance(guardrails, dict) else None
    if not isinstance(guardrails, dict) or not isinstance(section, dict):
        return content
    record, own = section.get("record"), section.get("guardrails") or {}
    of_costs = {each: guardrails[each] for each in guardrails if isinstance(each, str) and OF_A_COST.fullmatch(each)}
    others = {each: margin for each, margin in guardrails.items() if each not in of_costs}
    for each, margin in others.items():
        name = each.partition("@")[0] if isinstance(each, str) else ""
        if name and (name in (record if isinstance(record, list) else [record]) or LIKE_A_COST.search(name)):
            rule = f": {each!r}: a guardrail on a cost is COST@mean or, for a percentile, COST@p95; write `"
            proposal = Setting("guardrails", f"{name}@p95", read_number(margin) or 20)
            raise RuleError(Setting("guardrails"), rule, proposal, "`")
    if not of_costs or not isinstance(own, dict):
        return content
    if repeated := sorted(of_costs.keys() & own.keys()):
        raise ValueError(f"{repeated[0]} is named twice, in guardrails and in costs.guardrails")
    return content | {"guardrails": others, "costs": section | {"guardrails": own | of_costs}}
