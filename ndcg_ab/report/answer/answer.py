"""One outcome as an answer: what every report renders, and adds nothing to.

The decisions on all candidates, the best first; for each its estimates with the interval that decides and whether
labels settle them; what questions the answer; the warnings, one for each cause with its command.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ndcg_ab.report.answer.doubts import (
    HARDLY,
    Doubt,
    comparison_notes,
    list_doubts,
    reasons_for_doubt,
    warn_of_few_weights,
)
from ndcg_ab.report.answer.findings import Line, finding_lines
from ndcg_ab.report.answer.marks import Interval, comparison_mark, deciding_interval, speaks_for_candidate
from ndcg_ab.report.sections.costs import shown_first
from ndcg_ab.report.sections.judges import format_judges_line
from ndcg_ab.report.words.text import order_comparisons, query_kind
from ndcg_ab.results.cost_records import CostDifference
from ndcg_ab.results.decisions import Choice, is_turned
from ndcg_ab.results.outcome import Outcome
from ndcg_ab.results.wording import GUARDRAILS, PRIMARY
from ndcg_core.statistics.verdicts.comparison import Comparison

JUDGE = "ndcg-ab judge-next"
DRAW_AGAIN = "ndcg-ab draw --kept"
# What to run about a finding; of any other its code is explained.
COMMANDS = {
    "few_judged": JUDGE,
    "no_longer_zero": DRAW_AGAIN,
    "judged_differs": JUDGE,
    "labels_favour": JUDGE,
    "looks_clustered": "",
    "reversed_grades": "",
}


class Warned(NamedTuple):
    """One line of a warning. command: what to run about it, or empty. more: what is said of others like it."""

    severity: str
    text: str
    command: str
    more: str = ""


class Estimate(NamedTuple):
    """A candidate's difference on one metric.

    mark: ▲ improved, ▼ regressed, ✓ ? ✗ of a guardrail, ● any other. interval: the one that decides; None without a
    test. is_open: unjudged results could turn it. decides: whether it is of a primary metric or a guardrail. favours:
    whether it speaks for the candidate, against it, or (None) neither. mean: the candidate's; None where nothing is
    scored.
    """

    comparison: Comparison
    mark: str
    interval: Interval | None
    is_open: bool
    decides: bool
    favours: bool | None
    mean: float | None

    @property
    def metric(self) -> str:
        return self.comparison.metric

    @property
    def difference(self) -> float | None:
        return self.comparison.difference


@dataclass(frozen=True)
class Candidate:
    """One candidate. doubt: why its decision is in doubt, or None; the reason begins with it.

    estimates: in the order of the metrics; the first decides. costs: what its requests cost, as far as it is shown
    beside the metrics.
    """

    name: str
    choice: Choice
    reason: str
    doubt: str | None
    estimates: tuple[Estimate, ...]
    costs: tuple[CostDifference, ...] = ()

    @property
    def first(self) -> Estimate | None:
        """The estimate on the first metric; None where it was not compared there."""
        return self.estimates[0] if self.estimates else None

    @property
    def deciding(self) -> list[Estimate]:
        """Of the primary metrics and the guardrails."""
        return [each for each in self.estimates if each.decides]


@dataclass(frozen=True)
class Answer:
    """What an evaluation comes to.

    metric: the first, which decides. queries, mean: of the baseline on it; None where nothing was scored. kind: drawn,
    where the queries were; else empty.
    candidates: the best decision first, then the largest difference. doubts: what questions them. warnings: one for
    each cause over all systems, first the doubts and other errors. findings: all of the data check, in lines. notes:
    what to keep in mind. gate: whether it passed, in a line; empty without one. is_clean: there is nothing to report.
    """

    baseline: str
    metric: str
    queries: int | None
    mean: float | None
    candidates: tuple[Candidate, ...]
    doubts: tuple[Doubt, ...]
    warnings: tuple[Warned, ...]
    findings: tuple[Line, ...]
    notes: tuple[str, ...]
    gate: str
    is_clean: bool
    kind: str = ""

    @property
    def choices(self) -> dict[str, Choice]:
        """Candidate -> decision."""
        return {each.name: each.choice for each in self.candidates}


def make_answer(outcome: Outcome) -> Answer:
    first = outcome.metrics[0]
    base = next((row for row in outcome.systems if (row.system_id, row.metric) == (outcome.baseline, first.name)), None)
    found = tuple(finding_lines(outcome))
    doubts, few = tuple(list_doubts(outcome)), warn_of_few_weights(outcome)
    return Answer(
        baseline=outcome.baseline,
        metric=first.name,
        queries=base.queries if base else None,
        mean=base.mean if base else None,
        candidates=tuple(order_candidates(outcome)),
        doubts=doubts,
        warnings=tuple(list_warnings(outcome, doubts, found)),
        findings=found,
        notes=tuple(comparison_notes(outcome)),
        gate=gate_line(outcome),
        is_clean=not (outcome.findings or doubts or few),
        kind=query_kind(outcome),
    )


def order_candidates(outcome: Outcome) -> list[Candidate]:
    """The best decision first, then the largest difference on the first metric."""
    places = {row.candidate: place for place, row in enumerate(order_comparisons(outcome, outcome.metrics[0]))}
    means = {(row.system_id, row.metric): row.mean for row in outcome.systems}
    why = reasons_for_doubt(outcome)
    ordered = sorted(
        outcome.decisions,
        key=lambda found: (found.decision.traits.place, places.get(found.candidate, len(places))),
    )
    return [
        Candidate(
            row.candidate,
            row.decision,
            f"in doubt, since {why[row.candidate]}: {row.reason}" if row.candidate in why else row.reason,
            why.get(row.candidate),
            tuple(
                make_estimate(each, means.get((row.candidate, each.metric)))
                for each in outcome.main
                if each.candidate == row.candidate
            ),
            shown_first(outcome.costs, row.candidate),
        )
        for row in ordered
    ]


def make_estimate(row: Comparison, mean: float | None = None) -> Estimate:
    return Estimate(
        comparison=row,
        mark=comparison_mark(row),
        interval=deciding_interval(row),
        is_open=is_turned(row),
        decides=row.family in (PRIMARY, GUARDRAILS),
        favours=speaks_for_candidate(row),
        mean=mean,
    )


def gate_line(outcome: Outcome) -> str:
    """``gate passed: no regression, guardrails``; which failed, where some did; empty without a gate."""
    if not outcome.gates:
        return ""
    names = [gate.name for gate in outcome.failures or outcome.gates]
    return f"{'✗ gate failed' if outcome.failures else '✓ gate passed'}: {', '.join(names)}"


def list_warnings(outcome: Outcome, doubts: Sequence[Doubt], findings: Sequence[Line]) -> list[Warned]:
    """What questions the answer, one line for each cause over all systems, the gravest first."""
    found = [Warned("error", doubt.sentence, JUDGE * (doubt.reason == HARDLY)) for doubt in doubts]
    found += [Warned("warning", text, "") for text in warn_of_few_weights(outcome)]
    if judges := format_judges_line(outcome):
        found.append(Warned("warning", judges, "ndcg-ab judgments"))
    causes: dict[str, list[Line]] = {}
    for line in findings:
        if line.severity in ("error", "warning"):
            causes.setdefault(line.code, []).append(line)
    for code, lines in causes.items():
        more = f" (and {len(lines) - 1} more like it)" if len(lines) > 1 else ""
        command = COMMANDS.get(code, f"ndcg-ab findings {code}")
        found.append(Warned(lines[0].severity, lines[0].text, command, more))
    return sorted(found, key=lambda each: each.severity != "error")
