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

    def event(name: str, message: str, system: str | None = None, **more: Any) -> dict[str, Any]:
        payload = {**common, **more, "message": f"{evaluation.name}: {message}"}
        return {"event": name, "resource": resource_labels(evaluation.name, system), "payload": payload}

    if outcome.gate == "failed":
        failures = {gate.name: gate.message for gate in outcome.failures}
        message = "\n".join([format_headline(outcome), *map(": ".join, failures.items())])
        yield event("ndcg-ab.gate.failed", message, gates=failures)
    for row in outcome.main:
        if not row.exploratory and row.conclusion is Verdict.REGRESSED:
            message = f"{row.candidate} regressed against {row.baseline}, {difference_text(row)}"
            yield event("ndcg-ab.verdict.regressed", message, row.candidate, **comparison_payload(row))
    if since:
        changed = {system.system_id: list(system.changed) for system in since.systems}
        for row in since.dropped:
            causes = changed[row.candidate]
            message = f"{row.candidate} dropped since evaluation {since.ordinal}, {difference_text(row)}"
            message += f"; changed: {', '.join(causes)}" if causes else ""
            more = comparison_payload(row) | {"since": since.ordinal, "changed": causes}
            yield event("ndcg-ab.dropped", message, row.candidate, **more)


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
