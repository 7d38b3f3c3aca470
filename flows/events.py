"""The events that automations of Prefect can act on, as data (docs/scheduling.md)."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from ndcg_ab.comparing.since_last import SinceLast
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.results.outcome import Outcome
from ndcg_core.statistics.verdicts.comparison import Comparison
from ndcg_core.statistics.verdicts.verdict import Verdict


class Event(NamedTuple):
    """What is sent."""

    name: str
    resource: dict[str, str]
    payload: dict[str, Any]


def events_of(
    evaluation: Evaluation, common: dict[str, Any], outcome: Outcome, since: SinceLast | None
) -> Iterator[Event]:
    """`ndcg-ab.gate.failed` for the evaluation, `ndcg-ab.verdict.regressed` for every candidate that regressed.

    `ndcg-ab.dropped` for every system that dropped since the evaluation before: once, in the night that did.
    common: what is in every payload.
    """
    if outcome.gate == "failed":
        failures = {gate.name: gate.message for gate in outcome.failures}
        yield Event("ndcg-ab.gate.failed", event_resource(evaluation.name), {**common, "gates": failures})
    for row in outcome.main:
        if not row.exploratory and row.conclusion is Verdict.REGRESSED:
            yield Event(
                "ndcg-ab.verdict.regressed",
                event_resource(evaluation.name, row.candidate),
                common | comparison_payload(row),
            )
    changed = {system.system_id: list(system.changed) for system in since.systems} if since else {}
    for row in since.dropped if since else ():
        payload = (
            common
            | comparison_payload(row)
            | {"since": since.ordinal if since else None, "changed": changed[row.candidate]}
        )
        yield Event("ndcg-ab.dropped", event_resource(evaluation.name, row.candidate), payload)


def event_resource(evaluation: str, system: str | None = None) -> dict[str, str]:
    name = f"ndcg-ab.evaluation.{evaluation}" if system is None else f"ndcg-ab.system.{evaluation}.{system}"
    return {"prefect.resource.id": name, "prefect.resource.name": system or evaluation}


def comparison_payload(row: Comparison) -> dict[str, Any]:
    found = {"metric": row.metric, "difference": row.difference, "low": row.low, "high": row.high}
    return found | {"p_adjusted": row.p_adjusted, "verdict": row.verdict}
