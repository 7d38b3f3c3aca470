"""Define `Outcome`, the complete result of an evaluation, from which terminal, JSON, bundle and tracker are written.

The JSON is a stable interface (docs/json.md): ``"schema": 1``.
"""

import dataclasses
import json
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple, assert_never

from ndcg_ab.results.change_records import Changes, Judges
from ndcg_ab.results.codec import SCHEMA, decode, encode, field_types
from ndcg_ab.results.cost_records import Costs
from ndcg_ab.results.decisions import JUDGED, NO_DROP, TOLD_BY_VERDICTS, Decision, decide
from ndcg_ab.results.ledger import SCORED_GATE, LedgerRow
from ndcg_ab.results.wording import INTENDED, MAIN, PAIRS, SLICE_GATE
from ndcg_core.measures.metric import Metric
from ndcg_core.statistics.verdicts.comparison import Comparison


class Severity(StrEnum):
    """The severity of a finding, the most severe first."""

    ERROR = "error"
    """The evaluation stops."""
    WARNING = "warning"
    """The problem may change the conclusions."""
    NOTE = "note"
    """The observation changes nothing."""
    IGNORED = "ignored"
    """The configuration says not to report the finding."""

    @property
    def traits(self) -> "SeverityTraits":
        """The presentation of the severity in all reports."""
        match self:
            case Severity.ERROR:
                return SeverityTraits(0, "!", "red")
            case Severity.WARNING:
                return SeverityTraits(1, "!", "yellow")
            case Severity.NOTE:
                return SeverityTraits(2, "i", "dim")
            case Severity.IGNORED:
                return SeverityTraits(3, "i", "dim")
            case _:
                assert_never(self)


class SeverityTraits(NamedTuple):
    """The presentation of a severity.

    rank: 0 for the most severe, 1, 2 …  mark, colour: one-character symbol, and its colour in a terminal.
    """

    rank: int
    mark: str
    colour: str


@dataclasses.dataclass(frozen=True)
class Finding:
    """A problem or observation that the data check reports.

    Attributes
    ----------
    code : str
        One of `ndcg_ab.finding_codes.CODES` (docs/findings.md).
    severity : str
        A value of `Severity`.
    message : str
        The finding in one sentence.
    count : int
        Number of queries, results or judgments that are affected.
    system, metric : str or None
        The ranking and the metric that are affected; None if no single one is.
    value : float or None
        A further number, such as a share or the possible change of a mean.
    examples : tuple of str
        Up to five locations with their content, in order.
    """

    code: str
    severity: str
    message: str
    count: int
    system: str | None = None
    metric: str | None = None
    value: float | None = None
    examples: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class GateResult:
    """The result of one condition of the gate.

    Attributes
    ----------
    name : str
        Name of the condition.
    passed : bool
        Whether the condition holds.
    message : str
        Sentence on why the condition fails, or on how it holds.
    systems, reasons : tuple of str
        The systems that fail the condition, and the reason for each; empty if it passed or concerns no single system.
    """

    name: str
    passed: bool
    message: str
    systems: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()

    def reasons_for(self, *systems: str) -> str:
        """Return why the condition of the gate fails for the given systems; "" if it passed or fails only for others.

        If the condition concerns no single system, the message is returned.
        """
        if self.passed or not self.systems:
            return "" if self.passed else self.message
        if not self.reasons:
            return self.message if {*systems} & {*self.systems} else ""
        return "; ".join(why for name, why in zip(self.systems, self.reasons, strict=True) if name in systems)


@dataclasses.dataclass(frozen=True)
class Input:
    """An input that an evaluation read.

    name: the file name of judgments and queries, or the system of a ranking. kind: `judgments`, `cheap judgments`,
    `queries`, `intended` or `ranking`.
    version: version of a system, if configured. origin: a path, or module:function. rows: number of rows.
    digest: the first 32 hex digits of the SHA-256 of the content, independent of row order and file format.
    read: if the input was not read now, because it has not changed, the earlier time of reading, ISO 8601, UTC; else
        None.
    """

    name: str
    kind: str
    version: str | None
    origin: str
    rows: int
    digest: str
    read: str | None = None


@dataclasses.dataclass(frozen=True)
class SystemSummary:
    """The summary of one system on one metric.

    Attributes
    ----------
    system_id : str
        Name of the system.
    metric : str
        Name of the metric.
    mean, median : float or None
        Mean and median of the values over the scored queries; None without scored queries.  The mean is weighted if the
        queries have weights.
    queries : int
        Number of scored queries.
    unanswered : int or None
        Number of scored queries without results from the system, which score 0; None if another tool computed the
        scores.
    judged : float or None
        Mean share of judged results within the cutoff, 0 to 1, over the answered queries; None if none was answered.
    unweighted_mean : float or None
        The unweighted mean if `mean` is weighted; else None.
    """

    system_id: str
    metric: str
    mean: float | None
    median: float | None
    queries: int
    unanswered: int | None
    judged: float | None
    unweighted_mean: float | None = None


@dataclasses.dataclass(frozen=True)
class LeftOut:
    """The primary comparisons, repeated without the judgments that one system alone contributed.

    system: the system that contributed the hidden judgments. hidden: number of judged documents left out, >= 0.
    comparisons: the comparisons by the other judgments; not testable, and without queries, if no judgment remains.
    """

    system: str
    hidden: int
    comparisons: tuple[Comparison, ...]


@dataclasses.dataclass(frozen=True)
class FunctionJudge:
    """The numbers of grades by a judge function, and its agreement with the judgments in files.

    function: module:function. judged: number of documents that the function alone graded, >= 0. unsaid: number of
    documents
        without a judgment for which the function returned no grade.
    compared: number of sampled documents that both the files and the function grade; at most 200, 0 without files.
    equal: number of compared documents with equal grades. mean_difference: mean of the function's grade minus the
    files'
        grade; None if no document is compared.
    cohen_kappa: 1 at best, 0 at chance level. krippendorff_alpha: ordinal alpha, 1 at best, 0 at chance level. Both are
        None if all grades are equal, or if no document is compared.
    """

    function: str
    judged: int
    unsaid: int
    compared: int
    equal: int
    mean_difference: float | None
    cohen_kappa: float | None
    krippendorff_alpha: float | None


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The complete result of an evaluation: metrics in the configured order, and systems in the given order.

    parity_queries: number of queries that the Python core computed again; None if another tool computed the scores.
    judges: agreement of several judges; None if there are not several.
    changes: changes of each candidate in the top ranks; empty if the rankings are not on this machine.
    left_out: the primary comparisons without the judgments that each system alone contributed, if judgments name
    systems as their sources.
    function_judge: work of a judge function; None without one.
    costs: costs of requests; None if they were not recorded.
    if_all_decided: the decisions that would be different if every metric were primary, for an evaluation in which by
    default only the first one is.
    ledger: numbers of rows or queries that each stage read, used and left out.
    """

    baseline: str
    alpha: float
    seed: int
    resamples: int
    metrics: tuple[Metric, ...]
    systems: tuple[SystemSummary, ...]
    comparisons: tuple[Comparison, ...]
    findings: tuple[Finding, ...]
    parity_queries: int | None
    gates: tuple[GateResult, ...] = ()
    judges: Judges | None = None
    changes: tuple[Changes, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    function_judge: FunctionJudge | None = None
    if_all_decided: tuple[Decision, ...] = ()
    ledger: tuple[LedgerRow, ...] = ()
    costs: Costs | None = None

    @property
    def has_external_scores(self) -> bool:
        """Whether another tool computed the scores, so that rankings and judgments are unknown."""
        return self.parity_queries is None

    @property
    def gate(self) -> str | None:
        """The result of all conditions of the gate, "passed" or "failed", or None without a gate."""
        if not self.gates:
            return None
        return "passed" if all(gate.passed for gate in self.gates) else "failed"

    @property
    def failures(self) -> tuple[GateResult, ...]:
        """The conditions of the gate that failed."""
        return tuple(gate for gate in self.gates if not gate.passed)

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """The recommended decision on each candidate, in the order of the systems (docs/verdicts.md)."""
        return tuple(self._decision_on(name) for name in self.candidates)

    @property
    def candidates(self) -> list[str]:
        """The names of the systems that are compared with the baseline, in the given order."""
        compared = {row.candidate for row in self.comparisons if row.family in MAIN}
        return [name for name in dict.fromkeys(row.system_id for row in self.systems) if name in compared]

    def _decision_on(self, candidate: str) -> Decision:
        """Return the decision on a candidate from comparisons and failed gates.

        Gates count that concern the candidate. A failure of the baseline concerns every candidate, except a drop of the
        baseline since the previous evaluation.
        """
        told = {
            gate.name: gate.reasons_for(*([candidate] if gate.name == NO_DROP else [candidate, self.baseline]))
            for gate in self.failures
        }
        failures = {name: f"gate {name} failed: {why}" for name, why in told.items() if why}
        few_judged = [text for name, text in failures.items() if name in (JUDGED, SCORED_GATE)]
        others = [text for name, text in failures.items() if name not in (JUDGED, SCORED_GATE, *TOLD_BY_VERDICTS)]
        costs = [row for row in self.costs.guarded if row.candidate == candidate] if self.costs else ()
        decision = decide(candidate, self.comparisons, others, few_judged, costs)
        other = next((each.decision for each in self.if_all_decided if each.candidate == candidate), decision.decision)
        if others or few_judged or other is decision.decision:
            return decision
        return dataclasses.replace(decision, reason=f"{decision.reason}; if every metric decided: {other.words}")

    @property
    def main(self) -> list[Comparison]:
        """The comparisons of every candidate with the baseline over all queries, sorted by metric.

        Comparisons of slices and of pairs of candidates are left out.
        """
        rows = {(row.metric, row.candidate): row for row in self.comparisons if row.family in MAIN}
        names = [metric.name for metric in self.metrics]
        return sorted(rows.values(), key=lambda row: names.index(row.metric))

    @property
    def slices(self) -> list[Comparison]:
        apart = (SLICE_GATE, INTENDED)
        return [row for row in self.comparisons if row.attribute is not None and row.family not in apart]

    @property
    def intended(self) -> list[Comparison]:
        """The comparisons on the queries that a change is meant to improve, and on the other queries."""
        return [row for row in self.comparisons if row.family == INTENDED]

    @property
    def pairs(self) -> list[Comparison]:
        return [row for row in self.comparisons if row.family == PAIRS]

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as content for JSON; equal inputs give equal bytes."""
        content: dict[str, Any] = {"schema": SCHEMA}
        for field in dataclasses.fields(self):
            content[field.name] = encode(getattr(self, field.name))
            if field.name == "systems":
                content["decisions"] = encode(self.decisions)
        queries = content.pop("parity_queries")
        content["parity"] = None if queries is None else {"queries": queries, "tolerance": 1e-9}
        return content if self.costs else {key: value for key, value in content.items() if key != "costs"}

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Outcome":
        """Restore the outcome from the content that `to_dict` returned."""
        kinds = field_types(cls)  # type: ignore[arg-type]  # a class is hashable
        fields = {name: decode(kinds[name], value) for name, value in content.items() if name in kinds}
        return cls(**fields, parity_queries=content["parity"] and content["parity"]["queries"])

    @classmethod
    def read(cls, path: Path) -> "Outcome":
        return cls.from_dict(json.loads(path.read_text(encoding="utf-8")))
