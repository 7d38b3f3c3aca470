"""What an evaluation found: the one structure behind the terminal, the JSON, the bundle and the tracker.

Its JSON is a contract (docs/json.md): ``"schema": 1``.
"""

import contextlib
import dataclasses
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ndcg_core.comparison import Comparison
from ndcg_core.descriptive import Carrier, Descriptive
from ndcg_core.metric import Metric, parse

SCHEMA = 1
SEVERITIES = ("error", "warning", "note")
# Names of families of comparisons.
PRIMARY, SECONDARY, GUARDRAILS, GATE, PAIRS = "primary", "secondary", "guardrails", "gate", "all pairs"
MAIN = (PRIMARY, SECONDARY, GUARDRAILS)


@dataclasses.dataclass(frozen=True)
class Finding:
    """Something that the data check noticed.

    severity: "error", "warning" or "note". count: how many queries, results or judgments it concerns.
    """

    code: str
    severity: str
    message: str
    count: int


@dataclasses.dataclass(frozen=True)
class GateResult:
    """Whether something holds that must hold for a night to pass; message: what does not, or what does."""

    name: str
    passed: bool
    message: str


@dataclasses.dataclass(frozen=True)
class SystemSummary:
    """One system on one metric.

    mean, median: over the scored queries, in the metric's range; None when there are none. The mean is weighted where
        the queries have weights, and unweighted_mean the plain one; else that is None.
    queries: the scored queries. unanswered: those that the system returned nothing for (they score 0).
    judged: mean share of its results within the cutoff that have a judgment, 0 to 1, over the queries that it
        answered; None when it answered none.
    """

    system_id: str
    metric: str
    mean: float | None
    median: float | None
    queries: int
    unanswered: int
    judged: float | None
    unweighted_mean: float | None = None


@dataclasses.dataclass(frozen=True)
class Outcome:
    """A whole evaluation: metrics in the order asked for, systems in the order given, the baseline among them."""

    baseline: str
    metrics: tuple[Metric, ...]
    systems: tuple[SystemSummary, ...]
    comparisons: tuple[Comparison, ...]
    findings: tuple[Finding, ...]
    alpha: float
    seed: int
    resamples: int
    parity_queries: int
    gates: tuple[GateResult, ...] = ()

    @property
    def gate(self) -> str | None:
        """passed or failed; None where the configuration names no gate."""
        if not self.gates:
            return None
        return "passed" if all(gate.passed for gate in self.gates) else "failed"

    @property
    def main(self) -> list[Comparison]:
        """Every candidate against the baseline on every metric, in the order of the metrics: no slices, no pairs."""
        rows = {(row.metric, row.candidate): row for row in self.comparisons if row.family in MAIN}
        names = [metric.name for metric in self.metrics]
        return sorted(rows.values(), key=lambda row: names.index(row.metric))

    @property
    def slices(self) -> list[Comparison]:
        return [row for row in self.comparisons if row.attribute is not None]

    @property
    def pairs(self) -> list[Comparison]:
        return [row for row in self.comparisons if row.family == PAIRS]

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON; the same inputs give the same bytes."""
        comparisons = [dataclasses.asdict(comparison) for comparison in self.comparisons]
        return {
            "schema": SCHEMA,
            "baseline": self.baseline,
            "alpha": self.alpha,
            "seed": self.seed,
            "resamples": self.resamples,
            "metrics": [
                {"name": metric.name, "hash": metric.hash, "definition": metric.definition} for metric in self.metrics
            ],
            "systems": [dataclasses.asdict(system) for system in self.systems],
            "comparisons": comparisons,
            "findings": [dataclasses.asdict(finding) for finding in self.findings],
            "gates": [dataclasses.asdict(gate) for gate in self.gates],
            "parity": {"queries": self.parity_queries, "tolerance": 1e-9},
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Outcome":
        """The outcome that `to_dict` wrote."""
        return cls(
            baseline=content["baseline"],
            metrics=tuple(parse(metric["name"]) for metric in content["metrics"]),
            systems=tuple(SystemSummary(**row) for row in content["systems"]),
            comparisons=tuple(comparison_from(row) for row in content["comparisons"]),
            findings=tuple(Finding(**row) for row in content["findings"]),
            alpha=content["alpha"],
            seed=content["seed"],
            resamples=content["resamples"],
            parity_queries=content["parity"]["queries"],
            gates=tuple(GateResult(**row) for row in content["gates"]),
        )

    @classmethod
    def read(cls, path: Path) -> "Outcome":
        return cls.from_dict(json.loads(path.read_text(encoding="utf-8")))


def comparison_from(row: Mapping[str, Any]) -> Comparison:
    """The comparison that `dataclasses.asdict` took apart."""
    described = row["descriptive"]
    if described is not None:
        carriers = tuple(Carrier(**carrier) for carrier in described["carriers"])
        described = Descriptive(**{**described, "carriers": carriers})
    return Comparison(**{**row, "notes": tuple(row["notes"]), "descriptive": described})


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path to write to that becomes `path` when all went well: the file is whole or not there at all.

    A link is followed; what is no file (a device, a pipe) is written to as it is.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    target = path.resolve()
    partial = target.with_name(f".{target.stem}.partial{target.suffix}")
    try:
        yield partial
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Writes a file whole or not at all."""
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")
