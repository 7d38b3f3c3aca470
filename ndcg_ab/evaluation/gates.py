"""Gates: what must hold for an evaluation to pass, as the configuration declares it before the run."""

from collections.abc import Iterator

from ndcg_ab.config.model import Evaluation, Gate
from ndcg_ab.evaluation.outcome import GATE, GUARDRAILS, PRIMARY, GateResult, Outcome
from ndcg_ab.evaluation.phrases import signed
from ndcg_core.statistics.comparison import Comparison
from ndcg_core.statistics.verdict import Verdict


def check_gates(evaluation: Evaluation, outcome: Outcome) -> tuple[GateResult, ...]:
    """One result for every gate that the configuration names; nothing where it names none."""
    return () if evaluation.gate is None else tuple(results(evaluation.gate, outcome))


def results(gate: Gate, outcome: Outcome) -> Iterator[GateResult]:
    if gate.no_regression:
        worse = [row for row in outcome.comparisons if row.family == PRIMARY and row.conclusion is Verdict.REGRESSED]
        yield result("no regression", [described(row) for row in worse], "no candidate regressed on a primary metric")
    if gate.guardrails and any(row.family == GUARDRAILS for row in outcome.comparisons):
        yield margin_gate("guardrails", outcome, GUARDRAILS)
    if gate.not_worse:
        yield margin_gate("not worse", outcome, GATE)
    if gate.judged is not None:
        primary = {row.metric for row in outcome.comparisons if row.family == PRIMARY} or {
            row.metric for row in outcome.systems
        }
        few = [
            f"{row.system_id} {100 * (row.judged or 0.0):.0f} % on {row.metric}"
            for row in outcome.systems
            if row.metric in primary and row.judged is not None and row.judged < gate.judged
        ]
        yield result("judged", few, f"at least {100 * gate.judged:g} % of every system's results are judged")
    if gate.slice_regression is not None:
        limit = gate.slice_regression
        worse = [
            row
            for row in outcome.slices
            if row.conclusion is Verdict.REGRESSED and row.difference is not None and row.difference < -limit
        ]
        messages = [f"{row.attribute} {row.slice}: {described(row)}" for row in worse]
        yield result("slice regression", messages, f"no slice regressed by more than {limit:g}")
    if gate.unanswered is not None:
        left = {row.system_id: row.unanswered for row in outcome.systems if row.unanswered > gate.unanswered}
        silent = [f"{name} left {count} queries unanswered" for name, count in left.items()]
        yield result("unanswered", silent, f"no system leaves more than {gate.unanswered} queries unanswered")


def margin_gate(name: str, outcome: Outcome, family: str) -> GateResult:
    """Whether it is shown of every comparison of a one-sided family that it is not worse than its margin."""
    rows = [row for row in outcome.comparisons if row.family == family]
    failed = [described(row) for row in rows if not row.conclusion.holds_margin]
    shown = "the one comparison is shown to be not worse than its margin"
    if not rows:
        shown = "there is no candidate to compare"
    elif len(rows) > 1:
        shown = f"all {len(rows)} comparisons are shown to be not worse than their margins"
    return result(name, failed, shown)


def described(row: Comparison) -> str:
    difference = "" if row.difference is None else f" ({signed(row.difference)})"
    return f"{row.candidate} against {row.baseline}, {row.metric}: {row.verdict}{difference}"


def result(name: str, failures: list[str], passed: str) -> GateResult:
    return GateResult(name, not failures, "; ".join(failures) if failures else passed)
