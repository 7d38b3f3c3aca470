"""What requests cost, in a configuration: which costs are recorded, and how much more of them a candidate may take.

A guardrail on a cost is written as one on a metric, with a statistic behind the @: ``latency_ms@p95: 20``.  It is
taken from `guardrails` to `costs.guardrails` before anything reads the names of metrics there.
"""

import re
from typing import Any, NamedTuple

from pydantic import Field, field_validator, model_validator

from ndcg_ab.config.model.margins import read_margin
from ndcg_ab.config.model.operation import Model
from ndcg_core.statistics.averages import STATISTICS, quantile_share

LATENCY = "latency_ms"  # the time of a request, which is measured here
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
OF_A_COST = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)@(mean|p[0-9.]+)")
RESERVED = ("query_id", "doc_id", "score", "rank", "system_id")


class CostStatistic(NamedTuple):
    """A statistic of a cost: ``latency_ms@p95``. share: the quantile's; None for the mean."""

    cost: str
    statistic: str

    @property
    def share(self) -> float | None:
        return quantile_share(self.statistic)

    @property
    def name(self) -> str:
        return f"{self.cost}@{self.statistic}"


class Costs(Model):
    """What is recorded of every request beside its ranking."""

    record: list[str] = Field(
        default_factory=list,
        description="Names of costs: latency_ms, which is measured; of `http.costs`; columns of files.",
    )
    warm_up: int = Field(
        0, strict=True, ge=0, le=10_000, description="Requests to each system before those that are counted."
    )
    by_turns: bool = Field(
        False, strict=True, description="Ask every query once more, of all systems by turns; only these requests count."
    )
    guardrails: dict[str, float] = Field(
        default_factory=dict, description="COST@STATISTIC: by how much more no candidate may take; also in guardrails."
    )

    @model_validator(mode="before")
    @classmethod
    def _names_alone(cls, value: Any) -> Any:
        return {"record": [value] if isinstance(value, str) else value} if isinstance(value, str | list) else value

    @field_validator("record")
    @classmethod
    def _named(cls, value: list[str]) -> list[str]:
        for name in value:
            refuse_name(name)
        return list(dict.fromkeys(value))

    @model_validator(mode="after")
    def _one_way_to_warm_up(self) -> "Costs":
        if self.by_turns and self.warm_up:
            raise ValueError("warm_up: by_turns asks every query once before it counts: take one of the two out")
        return self

    @field_validator("guardrails", mode="before")
    @classmethod
    def _margins(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        found = {}
        for key, margin in value.items():
            name = read_cost_statistic(str(key)).name
            try:
                found[name] = read_margin(margin)
            except ValueError as error:
                raise ValueError(f"{key}: {error}") from None
        return found

    def __bool__(self) -> bool:
        """Whether anything is recorded."""
        return bool(self.names)

    @property
    def names(self) -> list[str]:
        """Every cost that is recorded: those named, and those of guardrails."""
        guarded = [read_cost_statistic(key).cost for key in self.guardrails]
        return list(dict.fromkeys([*self.record, *guarded]))

    @property
    def statistics(self) -> list[CostStatistic]:
        """What is said of each cost: mean, p50, p95, p99, and what a guardrail names."""
        guarded = [read_cost_statistic(key) for key in self.guardrails]
        usual = [CostStatistic(cost, statistic) for cost in self.names for statistic in STATISTICS]
        found = dict.fromkeys([*usual, *guarded])
        return sorted(found, key=lambda each: (self.names.index(each.cost), each.share or 0.0))


def refuse_name(name: str) -> None:
    if not NAME.fullmatch(name) or name in RESERVED:
        raise ValueError(f"{name!r}: a cost is called by letters, digits and _, and not {', '.join(RESERVED)}")


def read_cost_statistic(text: str) -> CostStatistic:
    """The two parts of ``latency_ms@p95``; ValueError where it is something else."""
    found = OF_A_COST.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r}: must be COST@STATISTIC, as latency_ms@p95 or tokens@mean")
    refuse_name(found[1])
    quantile_share(found[2])
    return CostStatistic(found[1], found[2])


def split_guardrails(content: Any) -> Any:
    """The configuration with the guardrails on costs below `costs`; of scores of another tool as it is."""
    guardrails = content.get("guardrails") if isinstance(content, dict) and not content.get("scores") else None
    of_costs = {
        key: margin
        for key, margin in (guardrails.items() if isinstance(guardrails, dict) else ())
        if isinstance(key, str) and OF_A_COST.fullmatch(key)
    }
    costs = content.get("costs") if of_costs else None
    if not of_costs or not (costs is None or isinstance(costs, dict | list | str)):
        return content
    given: dict[str, Any] = {"record": [costs] if isinstance(costs, str) else costs or []}
    given = costs if isinstance(costs, dict) else given
    own = given.get("guardrails")
    if twice := sorted(of_costs.keys() & own.keys() if isinstance(own, dict) else ()):
        raise ValueError(f"{twice[0]} is named twice, in guardrails and in costs.guardrails")
    left = {key: margin for key, margin in (guardrails or {}).items() if key not in of_costs}
    return content | {"guardrails": left, "costs": given | {"guardrails": (own or {}) | of_costs}}
