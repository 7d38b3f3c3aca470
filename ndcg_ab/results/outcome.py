"""Define `Outcome`, the complete result of an evaluation, from which terminal, JSON, bundle and tracker are written.

The JSON is a stable interface (docs/json.md): ``"schema": 1``.
"""

import dataclasses
import json
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from ndcg_ab.results.change_records import Judges, RankingChanges
from ndcg_ab.results.codec import SCHEMA, decode, encode, field_types, json_text
from ndcg_ab.results.cost_records import Costs
from ndcg_ab.results.decisions import JUDGED, NO_DROP, TOLD_BY_VERDICTS, Decision, decide
from ndcg_ab.results.ledger import SCORED_GATE, LedgerRow
from ndcg_ab.results.wording import INTENDED, MAIN, PAIRS, SLICE_GATE
from ndcg_core.measures.metric import Metric
from ndcg_core.statistics.verdicts.comparison import Comparison


class Severity(StrEnum):
    """The severity of a finding; the members are in order, the most severe first."""

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
        return SEVERITIES[self]


class SeverityTraits(NamedTuple):
    """The presentation of a severity.

    rank: 0 for the most severe, 1, 2 … mark, colour: one-character symbol, and its colour in a terminal.
    """

    rank: int
    mark: str
    colour: str


SEVERITIES = {
    Severity.ERROR: SeverityTraits(0, "!", "red"),
    Severity.WARNING: SeverityTraits(1, "!", "yellow"),
    Severity.NOTE: SeverityTraits(2, "i", "dim"),
    Severity.IGNORED: SeverityTraits(3, "i", "dim"),
}


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
        The system of each failure, and its reason. Both are empty if the condition holds. `systems` is also empty if
        the failure is not about particular systems, for example because there is no slice to compare.
    """

    name: str
    passed: bool
    message: str
    systems: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()

    def reasons_for(self, *systems: str) -> str:
        """Return why the condition of the gate fails for any of the given systems.

        The result is "" if the condition holds, or fails only for other systems. It is the message if the failure is
        not about particular systems, or if their reasons are unknown.
        """
        if self.passed or not self.systems:
            return "" if self.passed else self.message
        if not self.reasons:
            return self.message if {*systems} & {*self.systems} else ""
        return "; ".join(why for name, why in zip(self.systems, self.reasons, strict=True) if name in systems)


@dataclasses.dataclass(frozen=True)
class Input:
    """An input that an evaluation read.

    Attributes
    ----------
    name : str
        The system of a ranking; for other inputs the file name, or another name of the source.
    kind : str
        `judgments`, `cheap judgments`, `careful unseen`, `ranking`, `queries`, `intended` or `scores`.
    version : str or None
        Configured version of a system or of judgments; None without one.
    origin : str
        A path, module:function, or another name of the source for messages.
    rows : int
        Number of rows.
    digest : str
        The first 32 hex digits of the SHA-256 of the content, independent of row order and file format.
    read : str or None
        If the input was not read now because it has not changed, the earlier time of reading, ISO 8601, UTC; else None.
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
        Mean and median of the values over the scored queries; None without scored queries. The mean is weighted if the
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

    Attributes
    ----------
    system : str
        The system that contributed the judgments.
    hidden : int
        Number of these judgments, each of one document for one query.
    comparisons : tuple of Comparison
        The comparisons by the other judgments; if no judgment remains, they have 0 queries and are not testable.
    """

    system: str
    hidden: int
    comparisons: tuple[Comparison, ...]


@dataclasses.dataclass(frozen=True)
class FunctionJudge:
    """The numbers of grades by a judge function, and its agreement with the judgments in files.

    Attributes
    ----------
    function : str
        The function, as module:function.
    judged : int
        Number of documents that only the function graded.
    unsaid : int
        Number of documents without a judgment for which the function returned no grade.
    compared : int
        Number of sampled documents that both the files and the function grade; at most 200, 0 without files.
    equal : int
        Number of compared documents with equal grades.
    mean_difference : float or None
        Mean of the function's grade minus the grade in the files; None if no document is compared.
    cohen_kappa : float or None
        At most 1, 0 at chance level; None if all grades are equal, or if no document is compared.
    krippendorff_alpha : float or None
        Of ordinal grades: at most 1, 0 at chance level; None if all grades are equal, or if no document is compared.
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
    """The complete result of an evaluation.

    Attributes
    ----------
    baseline : str
        Name of the system that the others are compared with.
    alpha : float
        Threshold of adjusted p-values.
    seed, resamples : int
        Seed of the random draws, and number of sign flips per test.
    metrics : tuple of Metric
        The metrics, in the configured order.
    systems : tuple of SystemSummary
        One summary per system and metric. The systems are in the given order.
    comparisons : tuple of Comparison
        The comparisons of all families: primary and secondary metrics, guardrails, gates, slices and pairs.
    findings : tuple of Finding
        The problems that the data check found, the most severe first.
    parity_queries : int or None
        Number of queries that the Python core computed again; None if another tool computed the scores.
    gates : tuple of GateResult
        One result per condition of the gate; empty without a gate.
    judges : Judges or None
        Agreement of several judges; None if no document has several judges.
    changes : tuple of RankingChanges
        Changes of each candidate in the top ranks; empty if the rankings are not on this machine.
    left_out : tuple of LeftOut
        The primary comparisons without the judgments that each system alone contributed; empty if judgments do not name
        systems as their sources.
    function_judge : FunctionJudge or None
        Work of a judge function; None without one.
    if_all_decided : tuple of Decision
        If by default only the first metric decides, the decisions that would be different if every metric did; else
        empty.
    ledger : tuple of LedgerRow
        Numbers of rows or queries that each stage read, used and left out.
    costs : Costs or None
        Costs of requests; None if they were not recorded.
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
    changes: tuple[RankingChanges, ...] = ()
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
        """Return the decision on a candidate from its comparisons, its costs and the failed gates.

        A failed gate counts if it concerns the candidate. A gate that the baseline fails concerns every candidate,
        unless it fails because the baseline dropped since the previous evaluation.
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
        """Return the outcome as content for JSON, with the decisions; equal outcomes give equal content."""
        content: dict[str, Any] = {"schema": SCHEMA}
        for field in dataclasses.fields(self):
            content[field.name] = encode(getattr(self, field.name))
            if field.name == "systems":
                content["decisions"] = encode(self.decisions)
        queries = content.pop("parity_queries")
        content["parity"] = None if queries is None else {"queries": queries, "tolerance": 1e-9}
        return content if self.costs else {key: value for key, value in content.items() if key != "costs"}

    def to_json(self) -> str:
        return json_text(self.to_dict())

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Outcome":
        """Restore the outcome from the content that `to_dict` returned.

        Unknown keys are ignored. Raise KeyError, TypeError or ValueError if the content does not fit.
        """
        kinds = field_types(cls)  # type: ignore[arg-type]  # a class is hashable
        fields = {name: decode(kinds[name], value) for name, value in content.items() if name in kinds}
        return cls(**fields, parity_queries=content["parity"] and content["parity"]["queries"])

    @classmethod
    def read(cls, path: Path) -> "Outcome":
        return cls.from_dict(json.loads(path.read_text(encoding="utf-8")))
