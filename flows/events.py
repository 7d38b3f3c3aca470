"""Make the events that trigger Prefect automations (docs/scheduling.md)."""

from collections.abc import Iterator
from typing import Any

from ndcg_ab.comparing.since_last import SinceLast
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.report.answer import format_headline
from ndcg_ab.report.words import format_interval
from ndcg_ab.results.numbers import signed
from ndcg_ab.results.outcome import Outcome
from ndcg_core.statistics.verdicts.comparison import Comparison
from ndcg_core.statistics.verdicts.verdict import Verdict


def events_of(
    evaluation: Evaluation, common: dict[str, Any], outcome: Outcome, since: SinceLast | None
) -> Iterator[dict[str, Any]]:
    """Yield the arguments of Prefect's `emit_event` for each event of an evaluation.

    There is one event if the gate failed, one for each comparison that regressed and is not exploratory, and one for
    each drop. A system dropped if its ranking is shown to be worse than in the previous evaluation, and the loss is not
    shown to be smaller than the smallest effect. Later evaluations do not repeat the event of a drop. common:
    properties of every payload. since: the changes since the previous evaluation; None if there is none. `message` in
    each payload is a sentence that can be posted unchanged.
    """
    if outcome.gate == "failed":
        failures = {gate.name: gate.message for gate in outcome.failures}
        message = "\n".join([f"{evaluation.name}: {format_headline(outcome)}", *map(": ".join, failures.items())])
        payload = {**common, "gates": failures, "message": message}
        yield {"event": "ndcg-ab.gate.failed", "resource": resource_labels(evaluation.name), "payload": payload}
    for row in outcome.main:
        if not row.exploratory and row.conclusion is Verdict.REGRESSED:
            message = f"{evaluation.name}: {row.candidate} regressed against {row.baseline}, {difference_text(row)}"
            payload = common | comparison_payload(row) | {"message": message}
            resource = resource_labels(evaluation.name, row.candidate)
            yield {"event": "ndcg-ab.verdict.regressed", "resource": resource, "payload": payload}
    if since is None:
        return
    changed = {system.system_id: list(system.changed) for system in since.systems}
    for row in since.dropped:
        payload = common | comparison_payload(row) | {"since": since.ordinal, "changed": changed[row.candidate]}
        cause = f"; changed: {', '.join(changed[row.candidate])}" if changed[row.candidate] else ""
        dropped = f"{row.candidate} dropped since evaluation {since.ordinal}, {difference_text(row)}{cause}"
        payload["message"] = f"{evaluation.name}: {dropped}"
        resource = resource_labels(evaluation.name, row.candidate)
        yield {"event": "ndcg-ab.dropped", "resource": resource, "payload": payload}


def difference_text(row: Comparison) -> str:
    return f"{row.metric} {signed(row.difference)} {format_interval(row)}"


def resource_labels(evaluation: str, system: str | None = None) -> dict[str, str]:
    """Return the labels by which Prefect automations find an evaluation or one of the systems.

    system: name of the system; None for the evaluation itself.
    """
    name = f"ndcg-ab.evaluation.{evaluation}" if system is None else f"ndcg-ab.system.{evaluation}.{system}"
    return {"prefect.resource.id": name, "prefect.resource.name": system or evaluation}


def comparison_payload(row: Comparison) -> dict[str, Any]:
    payload = {"metric": row.metric, "difference": row.difference, "low": row.low, "high": row.high}
    return payload | {"p_adjusted": row.p_adjusted, "verdict": row.verdict}
