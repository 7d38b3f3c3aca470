"""Check gates: the conditions, declared before the run, under which an evaluation passes."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ndcg_ab.comparing.since_last import SinceLast
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.settings import Gate
from ndcg_ab.results import decisions
from ndcg_ab.results.cost_records import CostDifference
from ndcg_ab.results.ledger import SCORED_GATE, scored_queries_text, scored_rows
from ndcg_ab.results.numbers import format_percent_below, signed
from ndcg_ab.results.outcome import GateResult, Outcome, SystemSummary
from ndcg_ab.results.wording import GATE, GUARDRAILS, PRIMARY, SLACK, SLICE_GATE, queries_text
from ndcg_core.statistics.verdicts.comparison import Comparison
from ndcg_core.statistics.verdicts.verdict import Obstacle, Verdict

BASELINE = "baseline"
MUCH_LESS = 0.2  # share of the queries that the baseline alone may leave unanswered
MUCH_AS_BEFORE = 0.9  # least share of scored queries, relative to the previous evaluation
NOBODY = "there is no candidate to compare"
Failure = tuple[str, str]  # the system that fails a gate, or "" for no particular one, and the message


def check_gates(evaluation: Evaluation, outcome: Outcome, since: SinceLast | None = None) -> tuple[GateResult, ...]:
    """Return a result for every configured gate condition; empty without a gate.

    Two checks add a result even if they are not configured, but only if they fail: whether the metrics score enough
    queries, and whether the baseline answers enough. since: the comparison with the previous evaluation; None if there
    is none.
    """
    gate = evaluation.gate
    if gate is None:
        return ()
    outcome = mark_unscored(outcome)
    primary = [metric.name for metric in evaluation.deciding_metrics]
    scored = scored_gate(gate.scored, outcome, primary, since)
    results = [scored] * (not scored.passed or "scored" in gate.model_fields_set)
    return (*gate_results(gate, outcome), *results, *check_baseline_answers(outcome))


def scored_gate(least_share: float, outcome: Outcome, primary: Sequence[str], since: SinceLast | None) -> GateResult:
    """Return the result of the check that each primary metric scores enough of the judged queries.

    A metric must score at least the share `least_share`, in [0, 1], of the judged queries, and the comparison of each
    candidate must have at least this share of them. If there is a previous evaluation, the share must also be at least
    `MUCH_AS_BEFORE` times the share that the metric scored in it. primary: names of the primary metrics. since: the
    changes since the previous evaluation; None if there is none.
    """
    before = {row.about: row for row in since.scored} if since else {}
    needed = f"at least {100 * least_share:g} % must be"
    failed: list[Failure] = []
    for row in (each for each in scored_rows(outcome.ledger) if each.about in primary):
        limit, words = least_share * row.read, needed
        if last := before.get(row.about):
            limit = max(limit, MUCH_AS_BEFORE * last.share * row.read)
            previous = f"{last.used} of {last.read} in evaluation {since.ordinal if since else ''}"
            words += f", and {100 * MUCH_AS_BEFORE:g} % of the last share ({previous})"
        shared = {each.candidate: each.queries for each in primary_rows(outcome) if each.metric == row.about}
        shortfalls = {name: min(count, row.used) for name, count in shared.items() if count < limit - SLACK}
        if row.used < limit - SLACK:
            shortfalls = {"": row.used}
        for name, count in shortfalls.items():
            previous = f"{row.about}: {scored_queries_text(replace(row, used=count))}, {words}"
            failed.append((name, f"{name}: {previous}" if name else previous))
    result = make_result(SCORED_GATE, failed, f"of the judged queries {needed} scored")
    return result if result.systems else replace(result, reasons=())


def check_baseline_answers(outcome: Outcome) -> Iterator[GateResult]:
    """Yield a failed result if the baseline leaves far more queries unanswered than another system.

    The ranking of such a baseline may be a truncated file. Nothing is yielded otherwise.
    """
    rows = [row for row in outcome.systems if row.metric == outcome.metrics[0].name and row.unanswered is not None]
    unanswered = {row.system_id: row.unanswered or 0 for row in rows}
    of_baseline, fewest = unanswered.get(outcome.baseline, 0), min(unanswered.values(), default=0)
    if of_baseline - fewest > MUCH_LESS * max((row.queries for row in rows), default=0):
        problem = f"{outcome.baseline} leaves {queries_text(of_baseline)} unanswered, and another system {fewest}"
        yield GateResult(BASELINE, False, f"{problem}: is the ranking of the baseline whole?")


def primary_rows(outcome: Outcome) -> list[Comparison]:
    return [row for row in outcome.comparisons if row.family == PRIMARY]


def mark_unscored(outcome: Outcome) -> Outcome:
    """Return the outcome with comparisons marked as not testable if their metric scores no query."""
    unscored = {row.about for row in scored_rows(outcome.ledger) if not row.used}
    empty: dict[str, Any] = {"queries": 0, "difference": None, "size": None}
    empty |= {"conclusion": Verdict.NOT_TESTABLE, "obstacle": Obstacle.FEW_QUERIES}
    rows = [replace(row, **empty) if row.metric in unscored else row for row in outcome.comparisons]
    return replace(outcome, comparisons=tuple(rows)) if unscored else outcome


def gate_results(gate: Gate, outcome: Outcome) -> Iterator[GateResult]:
    """Yield a result for each condition of a gate; a comparison without queries never passes."""
    if gate.no_regression:
        worse = [row for row in primary_rows(outcome) if decisions.measured_state(row).is_harm or not row.queries]
        if not outcome.comparisons and gate.model_fields_set <= {"no_regression", "guardrails", "proof"}:
            yield GateResult(decisions.NO_REGRESSION, False, NOBODY)
        else:
            small = [row for row in primary_rows(outcome) if row.conclusion is Verdict.REGRESSED and row not in worse]
            passed = "no candidate regressed on a primary metric"
            if small:
                passed = f"no regression that the gate forbids; {'; '.join(map(failure_text, small))}"
            failures = [(row.candidate, failure_text(row)) for row in worse]
            yield make_result(decisions.NO_REGRESSION, failures, passed)
    costs = outcome.costs.guarded if outcome.costs else []
    if gate.guardrails and (costs or any(row.family == GUARDRAILS for row in outcome.comparisons)):
        yield margin_gate(decisions.GUARDRAILS_GATE, outcome, GUARDRAILS, gate.proof, costs)
    if gate.not_worse:
        yield margin_gate(decisions.NOT_WORSE, outcome, GATE, gate.proof)
    if gate.judged is not None:
        primary = {row.metric for row in primary_rows(outcome)} or {row.metric for row in outcome.systems}
        yield judged_gate(gate.judged, [row for row in outcome.systems if row.metric in primary])
    if gate.slice_regression is not None:
        limit = gate.slice_regression
        failures = [
            (row.candidate, f"{row.attribute} {row.slice}: {failure_text(row)}")
            for row in outcome.comparisons
            if row.family == SLICE_GATE
            and row.conclusion is Verdict.REGRESSED
            and row.difference is not None
            and row.difference < -limit
        ]
        if outcome.comparisons and not any(row.queries for row in outcome.comparisons if row.attribute is not None):
            failures = [("", "there is no slice to compare")]
        yield make_result(decisions.SLICE_REGRESSION, failures, f"no slice regressed by more than {limit:g}")
    if gate.unanswered is not None:
        counts = [(row.system_id, row.unanswered or 0) for row in outcome.systems]
        unanswered = {name: count for name, count in counts if count > gate.unanswered}
        most = f"at most {gate.unanswered} may be"
        failures = [(name, f"{name} left {queries_text(unanswered[name])} unanswered, {most}") for name in unanswered]
        passed = f"no system leaves more than {gate.unanswered} queries unanswered"
        yield make_result(decisions.UNANSWERED, failures, passed)


def judged_gate(limit: float, summaries: Sequence[SystemSummary]) -> GateResult:
    """Return the result of the check that enough results of each system are judged.

    limit: the least share of judged results, in [0, 1]. summaries: one per system and metric; the metric with the
    fewest judged results counts.
    """
    rows: dict[str, SystemSummary] = {}
    for row in sorted(summaries, key=lambda row: row.judged or 0.0):
        if row.judged is not None and row.judged < limit:
            rows.setdefault(row.system_id, row)
    if all(row.judged is None for row in summaries):
        return GateResult(decisions.JUDGED, False, "no system has a result whose judgment is looked at")
    failures = []
    for name, row in rows.items():
        share = format_percent_below(row.judged or 0.0, limit)
        failures.append((name, f"{name}: {share} judged on {row.metric}, {100 * limit:g} % must be"))
    return make_result(decisions.JUDGED, failures, f"at least {100 * limit:g} % of every system's results are judged")


def margin_gate(
    name: str, outcome: Outcome, family: str, proof: bool, costs: Sequence[CostDifference] = ()
) -> GateResult:
    """Return the result of the check that every comparison of a one-sided family stays within its margin.

    The gate fails if harm is shown, if an estimate is beyond the margin, if a comparison has no query, or if there is
    no comparison. With `proof`, it also fails if a guardrail is not shown to hold. Two systems with equal values on
    every query pass. name: name of the gate. family: name of the family. costs: guardrails on the costs of requests,
    which are checked by these rules, too.
    """
    rows = [row for row in outcome.comparisons if row.family == family]
    if not rows and not costs:
        return GateResult(name, False, NOBODY)
    failures = [(row.candidate, failure_text(row)) for row in rows if breaks_margin(row, proof)]
    failures += [(row.candidate, f"{row.candidate}: {row.sentence}") for row in costs if breaks_cost_margin(row, proof)]
    return make_result(name, failures, "; ".join([*passed_texts(rows), *passed_costs(costs)]))


def breaks_cost_margin(row: CostDifference, proof: bool) -> bool:
    """Return whether a cost guardrail fails its gate.

    It fails if the cost is shown to be worse, if the estimate is beyond the margin, or if no query has the cost. With
    `proof`, an undecided guardrail fails as well.
    """
    if row.conclusion is Verdict.WORSE or row.may_exceed_margin or not row.queries:
        return True
    return proof and row.conclusion is Verdict.MAY_BE_WORSE


def passed_costs(rows: Sequence[CostDifference]) -> Iterator[str]:
    """Yield the message about the cost guardrails of a gate that passed; nothing without cost guardrails."""
    if unproven := sum(row.conclusion is Verdict.MAY_BE_WORSE for row in rows):
        yield f"{unproven} of {len(rows)} cost guardrails not shown to hold (gate.proof would fail)"
    elif rows:
        yield f"{len(rows)} cost guardrail{'s' * (len(rows) > 1)} shown to hold"


def breaks_margin(row: Comparison, proof: bool) -> bool:
    """Return whether a guardrail fails its gate.

    It fails if harm is shown, if the loss is beyond the margin, or if no query is scored. With `proof`, an undecided
    guardrail fails as well.
    """
    if row.difference is None or row.conclusion.is_harm:
        return True
    return row.conclusion.fails_margin and (proof or row.difference < -(row.smallest_effect or 0.0))


def passed_texts(rows: Sequence[Comparison]) -> Iterator[str]:
    """Yield the message about the comparisons of a gate that passed; nothing without comparisons."""
    alike = [row for row in rows if row.conclusion is Verdict.IDENTICAL]
    if unproven := sum(row.conclusion.fails_margin for row in rows):
        which = "the one comparison" if len(rows) == 1 else f"{unproven} of {len(rows)} comparisons"
        verb = "is" if unproven == 1 else "are"
        yield f"no harm is shown; {which} {verb} not shown to be within the margin (gate.proof would fail)"
    elif len(rows) == 1:
        yield f"the one comparison is {alike[0].verdict if alike else 'shown to be not worse than its margin'}"
    elif rows:
        identical = f", or identical ({len(alike)})" if alike else ""
        yield f"all {len(rows)} comparisons are shown to be not worse than their margins{identical}"


def failure_text(row: Comparison) -> str:
    difference = "" if row.difference is None else f" ({signed(row.difference)})"
    return f"{row.candidate} against {row.baseline}, {row.metric}: {row.verdict}{difference}"


def make_result(name: str, failures: Sequence[Failure], passed: str) -> GateResult:
    """Make the result of a gate, which passes if there are no failures.

    passed: the message if there is none. The result names no systems if a failure concerns no particular one.
    """
    systems, reasons = tuple(zip(*failures, strict=True)) or ((), ())
    return GateResult(name, not failures, "; ".join(reasons) or passed, systems if all(systems) else (), reasons)
