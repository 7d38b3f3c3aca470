"""The records of the costs of requests: values by system, differences, and verdicts on guardrails."""

import dataclasses
import math

from ndcg_ab.results.wording import queries_text
from ndcg_core.statistics.verdicts.verdict import Verdict

AT_LEAST, AT_MOST = "at_least", "at_most"
SIGNS = {None: "", AT_LEAST: "≥", AT_MOST: "≤"}
VERDICTS = {
    Verdict.WORSE: "higher by more than {:g}",
    Verdict.MAY_BE_WORSE: "higher by more than {:g} not ruled out",
    Verdict.NOT_WORSE: "not higher by more than {:g}",
}


@dataclasses.dataclass(frozen=True)
class CostValue:
    """One statistic of the cost of a system's requests.

    Attributes
    ----------
    system_id : str
        Name of the system.
    cost : str
        Name of the cost, such as latency_ms.
    statistic : str
        "mean", "p50", "p95", "p99" or another percentile.
    queries : int
        Number of queries for which every system has this cost.
    value : float or None
        The statistic, in the unit of the cost, weighted if the queries have weights; None without queries.
    low, high : float or None
        Bounds of the interval of level 1 - alpha; a bound is None if there are too few queries for it, or if it is
        unknown because requests failed.
    cold_requests : int
        Number of warm-up requests, which are not counted.
    cold_mean : float or None
        Mean cost of the warm-up requests; None without any.
    measured : str
        How the cost was measured, in words.
    failed : int
        Number of counted requests that failed; the latency of each is the time until the request was abandoned.
    bound : str or None
        "at_least" if the value is that of a failed request and so only a lower bound; else None.
    missing : int
        Number of queries whose cost is unknown for this system.
    asked : int
        Number of queries for which the cost of any system was recorded, at least `queries`.
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
        """The value as text: ``1,234``, or ``≥1,234`` for a lower bound."""
        return f"{SIGNS[self.bound]}{format_cost(self.value)}"


@dataclasses.dataclass(frozen=True)
class CostDifference:
    """The difference of a cost statistic between a candidate and the baseline on the same queries.

    Attributes
    ----------
    candidate, baseline : str
        Names of the systems.
    cost, statistic : str
        Name of the cost and its statistic, as in `CostValue`.
    queries : int
        Number of queries for which every system has this cost.
    difference : float or None
        Candidate - baseline in the unit of the cost; negative if the candidate costs less. None without queries, and
        if the values of both systems are lower bounds.
    low, high : float or None
        Bounds of the interval. With a guardrail, `low` is adjusted for all cost guardrails, so that the chance to find
        harm in any of them by mistake is at most alpha / 2.
    margin : float or None
        Largest acceptable difference of a guardrail; None without one.
    conclusion : Verdict or None
        For a guardrail not_worse, may_be_worse, or worse (by more than the margin); None without one.
    queries_needed : int or None
        Number of queries that would decide an undecided guardrail, above `queries`; None if unknown.
    bound : str or None
        "at_least" if failed requests of the candidate make the difference a lower bound, "at_most" if those of the
        baseline make it an upper bound, else None.
    failed : int
        Number of failed requests of the candidate.
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
        """The cost and the statistic in one text: ``latency_ms@p95``."""
        return f"{self.cost}@{self.statistic}"

    @property
    def may_exceed_margin(self) -> bool:
        """Whether a guardrail may be broken: it is not shown to hold, and the difference may be above the margin.

        The difference may be above the margin if the measured difference is above it, is only a lower bound, or is
        unknown. False without a guardrail.
        """
        if self.margin is None or self.conclusion is Verdict.NOT_WORSE:
            return False
        return self.difference is None or self.bound == AT_LEAST or self.difference > self.margin

    @property
    def mark(self) -> str:
        return self.conclusion.traits.mark if self.conclusion else ""

    @property
    def numbers(self) -> str:
        """The difference and its interval as text: ``+12.3 [+8.1, +19.4]``.

        An unknown bound is ``?``, and a difference that is only a lower bound begins with ``≥``.
        """
        ends = ", ".join("?" if end is None else format_cost(end, signed=True) for end in (self.low, self.high))
        return f"{SIGNS[self.bound]}{format_cost(self.difference, signed=True)} [{ends}]"

    @property
    def verdict(self) -> str:
        """The verdict on a guardrail in words: ``not higher by more than 20``; empty without a guardrail."""
        return VERDICTS[self.conclusion].format(self.margin) if self.conclusion else ""

    @property
    def has_unknown_upper_bound(self) -> bool:
        """Whether failed requests of the candidate may have made the upper bound of the interval unknown."""
        return self.failed > 0 and self.high is None

    @property
    def sentence(self) -> str:
        """The verdict and the numbers in words: ``latency_ms@p95 higher by more than 20: +55.0 [+40.2, +71.3]``.

        For an undecided guardrail the text adds the number of queries needed. If failed requests make the upper bound
        unknown, it adds the number of failed requests.
        """
        more = f", {queries_text(self.queries)}, about {self.queries_needed:,} needed" if self.queries_needed else ""
        if self.has_unknown_upper_bound:
            more += f", {requests_text(self.failed)} failed"
        return f"{f'{self.metric} {self.verdict}'.strip()}: {self.numbers}{more}"


@dataclasses.dataclass(frozen=True)
class Costs:
    """The costs of requests of all systems.

    Attributes
    ----------
    values : tuple of CostValue
        One value per cost, system and statistic. They are sorted by cost, then by system, then by statistic; costs,
        systems and statistics are in the configured order.
    differences : tuple of CostDifference
        One difference from the baseline per cost, candidate and statistic, sorted by cost, then by candidate, then by
        statistic.
    """

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
    """Return a number of requests in words: ``1 request``, ``14 requests``."""
    return f"{count:,} request{'s' * (count != 1)}"


def format_cost(value: float | None, *, signed: bool = False) -> str:
    """Return a cost with three significant digits or all digits before the point: ``12.3``, ``1,234``, ``+0.00123``.

    From 10^9 on, the number is in scientific notation. A dash for None. signed: True to write the sign of positive
    numbers, too.
    """
    if value is None:
        return "–"
    sign = "+" if signed else ""
    if value == 0 or not math.isfinite(value):
        return f"{value:{sign}g}"
    decimals = min(max(0, 2 - math.floor(math.log10(abs(value)))), 12)
    return f"{value:{sign},.{decimals}f}" if abs(value) < 1e9 else f"{value:{sign}.3g}"
