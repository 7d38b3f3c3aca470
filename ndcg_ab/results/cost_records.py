"""What an evaluation says of the costs of requests: values of each system, differences, and whether guardrails hold."""

import dataclasses
import math

from ndcg_ab.results.wording import queries_text
from ndcg_core.statistics.verdicts.verdict import Verdict

AT_LEAST, AT_MOST = "at_least", "at_most"
SIGNS = {None: "", AT_LEAST: "≥", AT_MOST: "≤"}


@dataclasses.dataclass(frozen=True)
class CostValue:
    """One statistic of what requests of one system cost.

    cost: its name, as latency_ms. statistic: mean, p50, p95, p99 or another percentile. queries: on which every system
        has this cost. value: in the unit of the cost, weighted where the queries have weights; None without queries.
    low, high: its 95 % interval (of level 1 - alpha); None where the queries are too few for that end, or requests that
        failed hide it.
    cold_requests, cold_mean: the requests that warmed up and are not counted, and their mean; 0 and None without.
    measured: how, in words.
    failed: requests that failed, of those that count; the time of each is that until it was given up. bound: at_least
        where the value lies on one of them, so that only this is known; else None.
    missing: queries whose cost is not known of this system. asked: all queries, of which `queries` count.
    """

    system_id: str
    cost: str
    statistic: str
    queries: int
    value: float | None
    low: float | None = None
    high: float | None = None
    cold_requests: int = 0
    cold_mean: float | None = None
    measured: str = ""
    failed: int = 0
    bound: str | None = None
    missing: int = 0
    asked: int = 0

    @property
    def number(self) -> str:
        """``1,234``, or ``≥1,234`` where that is only a lower bound."""
        return f"{SIGNS[self.bound]}{plain_cost(self.value)}"


@dataclasses.dataclass(frozen=True)
class CostDifference:
    """A statistic of a candidate's cost minus that of the baseline, on the same queries: below 0 it takes less.

    difference, low, high: in the unit of the cost; None as in `CostValue`. With a guardrail low holds for all cost
        guardrails together, so that harm is shown with a chance of at most alpha / 2 where there is none.
    bound: at_least where requests of the candidate failed, so that its value is a lower bound; at_most where those of
        the baseline did; else None. Where both did there is no difference. failed: requests of the candidate.
    margin: by how much more it may take. conclusion: of a guardrail not_worse, may_be_worse, or worse, which means: by
        more than the margin. Both None without a guardrail.
    queries_needed: that would settle an open guardrail, where that is known.
    """

    candidate: str
    baseline: str
    cost: str
    statistic: str
    queries: int
    difference: float | None
    low: float | None
    high: float | None
    margin: float | None = None
    conclusion: Verdict | None = None
    queries_needed: int | None = None
    bound: str | None = None
    failed: int = 0

    @property
    def metric(self) -> str:
        """``latency_ms@p95``."""
        return f"{self.cost}@{self.statistic}"

    @property
    def is_beyond(self) -> bool:
        """Whether the estimate itself is above the margin, or may be, and the interval does not rule it out."""
        if self.margin is None or self.conclusion is Verdict.NOT_WORSE:
            return False
        return self.difference is None or self.bound == AT_LEAST or self.difference > self.margin

    @property
    def mark(self) -> str:
        return self.conclusion.traits.mark if self.conclusion else ""

    @property
    def numbers(self) -> str:
        """``+12.3 [+8.1, +19.4]``; an end that is not known is ``?``, a difference that is only a bound ``≥+12.3``."""
        ends = ", ".join("?" if end is None else plain_cost(end, signed=True) for end in (self.low, self.high))
        return f"{SIGNS[self.bound]}{plain_cost(self.difference, signed=True)} [{ends}]"

    @property
    def verdict(self) -> str:
        """What is said of a guardrail: ``not higher by more than 20``; empty without one."""
        match self.conclusion:
            case Verdict.WORSE:
                return f"higher by more than {self.margin:g}"
            case Verdict.MAY_BE_WORSE:
                return f"higher by more than {self.margin:g} not ruled out"
            case Verdict.NOT_WORSE:
                return f"not higher by more than {self.margin:g}"
            case _:
                return ""

    @property
    def can_be_settled(self) -> bool:
        """Whether it is open, and how many more queries would settle it is known."""
        return self.conclusion is Verdict.MAY_BE_WORSE and (self.queries_needed or 0) > self.queries

    @property
    def is_hidden(self) -> bool:
        """Whether requests of the candidate that failed may be why the high end is not known."""
        return self.failed > 0 and self.high is None

    @property
    def sentence(self) -> str:
        """``latency_ms@p95 higher by more than 20: +55.0 [+40.2, +71.3]``; of an open one what settles it, and how
        many requests failed that hide the high end."""
        more = f", {queries_text(self.queries)}, about {self.queries_needed:,} needed" if self.can_be_settled else ""
        if self.is_hidden:
            more += f", {requests_text(self.failed)} failed"
        return f"{f'{self.metric} {self.verdict}'.strip()}: {self.numbers}{more}"


@dataclasses.dataclass(frozen=True)
class Costs:
    """values: of every system, cost and statistic, in the order asked for. differences: of every candidate."""

    values: tuple[CostValue, ...]
    differences: tuple[CostDifference, ...]

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys(row.cost for row in self.values))

    @property
    def guarded(self) -> list[CostDifference]:
        return [row for row in self.differences if row.margin is not None]

    def value_of(self, system: str, cost: str, statistic: str) -> CostValue | None:
        key = (system, cost, statistic)
        return next((row for row in self.values if (row.system_id, row.cost, row.statistic) == key), None)


def requests_text(count: int) -> str:
    """``1 request``, ``14 requests``."""
    return f"{count:,} request{'s' * (count != 1)}"


def plain_cost(value: float | None, *, signed: bool = False) -> str:
    """Three significant digits, and no fewer than all before the point: ``12.3``, ``1,234``, ``+0.00123``."""
    if value is None:
        return "–"
    sign = "+" if signed else ""
    if value == 0 or not math.isfinite(value):
        return f"{value:{sign}g}"
    decimals = min(max(0, 2 - math.floor(math.log10(abs(value)))), 12)
    return f"{value:{sign},.{decimals}f}" if abs(value) < 1e9 else f"{value:{sign}.3g}"
