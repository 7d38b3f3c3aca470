"""What an evaluation found: the one structure behind the terminal, the JSON, the bundle and the tracker.

Its JSON is a contract (docs/json.md): ``"schema": 1``.
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
    """How grave a finding is, the gravest first."""

    ERROR = "error"
    """Nothing is computed in spite of it."""
    WARNING = "warning"
    """It may change what the comparison says."""
    NOTE = "note"
    """Worth knowing; it changes nothing."""
    IGNORED = "ignored"
    """The configuration says not to report it."""

    @property
    def traits(self) -> "SeverityTraits":
        """How it is shown: a new member is described here, and nowhere else."""
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
    """rank: 0 for the gravest.  mark, colour: in a terminal."""

    rank: int
    mark: str
    colour: str


@dataclasses.dataclass(frozen=True)
class Finding:
    """Something that the data check noticed.

    code: one of `ndcg_ab.finding_codes.CODES`. severity: a value of `Severity`.
    count: how many queries, results or judgments it concerns.
    system, metric: whose ranking and which metric it is about; None where it is about none, or about all of them.
    value: the number that it tells beside the count, such as a share or by how much a mean could move; None without.
    examples: up to five places with what is there, in order.
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
    """Whether something holds that must hold for an evaluation to pass; message: what does not, or what does.

    systems, reasons: for whom it does not hold, and why, one for one; empty if it passed, or if it holds for nobody.
    """

    name: str
    passed: bool
    message: str
    systems: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()

    def concerning(self, *systems: str) -> str:
        """Why it does not hold for these systems; empty where it does, all of the message where nobody is named."""
        if self.passed or not self.systems:
            return "" if self.passed else self.message
        if not self.reasons:
            return self.message if {*systems} & {*self.systems} else ""
        return "; ".join(why for name, why in zip(self.systems, self.reasons, strict=True) if name in systems)


@dataclasses.dataclass(frozen=True)
class Input:
    """What an evaluation read.

    name: of judgments and queries the file's, of a ranking the system's. kind: judgments, cheap
        judgments, queries, intended or ranking.
    version: of a system, where the configuration says one. origin: a path, or module:function. rows: how many.
    digest: SHA-256 of the content, 32 hex digits: the same for any order of rows and any file format.
    read: the earlier moment that it was read at, ISO 8601, UTC, and has not changed since; None: it was read again.
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
    """One system on one metric.

    mean, median: over the scored queries, in the metric's range; None when there are none. The mean is weighted where
        the queries have weights, and unweighted_mean the plain one; else that is None.
    queries: the scored queries. unanswered: those that the system returned nothing for (they score 0); None where
        another tool computed the scores.
    judged: mean share of its results within the cutoff that have a judgment, 0 to 1, over the queries that it
        answered; None when it answered none.
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
    """The primary comparisons without the judgments that one of the systems alone contributed.

    system: the one whose judgments are left out. hidden: judged documents that are left out, >= 0.
    comparisons: without a query and not testable if no judgment is left.
    """

    system: str
    hidden: int
    comparisons: tuple[Comparison, ...]


@dataclasses.dataclass(frozen=True)
class FunctionJudge:
    """What a function that judges did, and how far it agrees with the judgments of files.

    function: module:function. judged: the documents whose grade is the function's; >= 0. unsaid: those that nobody
        judged and of which it could not say a grade.
    compared: documents that files judge, too, drawn from what the systems show, and that it graded; at most 200, 0
        where there is no file. equal: how many of them it grades as the files do. mean_difference: its grade minus
        theirs; None where none is compared.
    cohen_kappa: 1 at best, 0 as by chance. krippendorff_alpha: likewise, ordinal. Both are None where all grades are
        the same one, or none is compared.
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
    """A whole evaluation: metrics in the order asked for, systems in the order given, the baseline among them.

    parity_queries: how many queries the Python core computed again; None where another tool computed the scores.
    judges: what several judges say; None where there are not several.
    changes: what each candidate changed in the first places; none where the rankings are not here.
    left_out: the primary comparisons without what each system alone contributed to the judgments, where these name
        systems as their sources.
    function_judge: what a function judged; None where none did.
    costs: what requests cost; None where that was not recorded.
    if_all_decided: the decisions that would be others if every metric decided, where by default the first one does.
    ledger: what each stage read, used and left out.
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
    def is_given(self) -> bool:
        """Whether another tool computed the scores: of rankings and judgments nothing is known then."""
        return self.parity_queries is None

    @property
    def gate(self) -> str | None:
        """passed or failed; None where the configuration names no gate."""
        if not self.gates:
            return None
        return "passed" if all(gate.passed for gate in self.gates) else "failed"

    @property
    def failures(self) -> tuple[GateResult, ...]:
        """The gates that failed."""
        return tuple(gate for gate in self.gates if not gate.passed)

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """What to do with each candidate, in the order of the systems (docs/verdicts.md)."""
        return tuple(self._decision_on(name) for name in self.candidates)

    @property
    def candidates(self) -> list[str]:
        """The systems that are compared with the baseline, in the order given."""
        compared = {row.candidate for row in self.comparisons if row.family in MAIN}
        return [name for name in dict.fromkeys(row.system_id for row in self.systems) if name in compared]

    def _decision_on(self, candidate: str) -> Decision:
        """By the failed gates that concern it, too; what fails for the baseline concerns all, but for its own drop."""
        told = {
            gate.name: gate.concerning(*([candidate] if gate.name == NO_DROP else [candidate, self.baseline]))
            for gate in self.failures
        }
        failures = {name: f"gate {name} failed: {why}" for name, why in told.items() if why}
        few_judged = [text for name, text in failures.items() if name in (JUDGED, SCORED_GATE)]
        others = [text for name, text in failures.items() if name not in (JUDGED, SCORED_GATE, *TOLD_BY_VERDICTS)]
        costs = [row for row in self.costs.guarded if row.candidate == candidate] if self.costs else ()
        found = decide(candidate, self.comparisons, others, few_judged, costs)
        other = next((each.decision for each in self.if_all_decided if each.candidate == candidate), found.decision)
        if others or few_judged or other is found.decision:
            return found
        return dataclasses.replace(found, reason=f"{found.reason}; with every metric primary: {other.words}")

    @property
    def main(self) -> list[Comparison]:
        """Every candidate against the baseline on every metric, in the order of the metrics: no slices, no pairs."""
        rows = {(row.metric, row.candidate): row for row in self.comparisons if row.family in MAIN}
        names = [metric.name for metric in self.metrics]
        return sorted(rows.values(), key=lambda row: names.index(row.metric))

    @property
    def slices(self) -> list[Comparison]:
        apart = (SLICE_GATE, INTENDED)
        return [row for row in self.comparisons if row.attribute is not None and row.family not in apart]

    @property
    def intended(self) -> list[Comparison]:
        """On the queries that a change was meant for, and on the others, apart."""
        return [row for row in self.comparisons if row.family == INTENDED]

    @property
    def pairs(self) -> list[Comparison]:
        return [row for row in self.comparisons if row.family == PAIRS]

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome ready for JSON; the same inputs give the same bytes."""
        found: dict[str, Any] = {"schema": SCHEMA}
        for field in dataclasses.fields(self):
            found[field.name] = encode(getattr(self, field.name))
            if field.name == "systems":
                found["decisions"] = encode(self.decisions)
        queries = found.pop("parity_queries")
        found["parity"] = None if queries is None else {"queries": queries, "tolerance": 1e-9}
        return found if self.costs else {key: value for key, value in found.items() if key != "costs"}

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Outcome":
        """Return the outcome that `to_dict` wrote."""
        kinds = field_types(cls)  # type: ignore[arg-type]  # a class is hashable
        known = {name: decode(kinds[name], value) for name, value in content.items() if name in kinds}
        return cls(**known, parity_queries=content["parity"] and content["parity"]["queries"])

    @classmethod
    def read(cls, path: Path) -> "Outcome":
        return cls.from_dict(json.loads(path.read_text(encoding="utf-8")))
