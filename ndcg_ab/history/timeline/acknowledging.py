"""Drops that somebody has acknowledged: kept in the history, and shown as no longer open."""

from datetime import UTC, datetime

from ndcg_ab.comparing.since_last import SINCE_LAST
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.errors import InputError
from ndcg_ab.history import database
from ndcg_ab.results.codec import records_table
from ndcg_core.statistics.verdicts.verdict import Size, Verdict

TABLE = "acknowledged"


def acknowledge_drop(evaluation: Evaluation, ordinal: int, note: str | None) -> list[str]:
    """Marks the drops of one evaluation as known, in place of an earlier mark; the systems that dropped in it.

    InputError where that evaluation is not there, or nothing dropped in it.
    """
    path = database.existing_history(evaluation)
    with database.open_history_for(path) as past:
        if ordinal not in database.ordinals(past):
            raise InputError(f"--acknowledge {ordinal}: {path} has no evaluation of that number")
        columns = ("candidate", "conclusion", "size")
        where: dict[str, str | int] = {"ordinal": ordinal, "family": SINCE_LAST}
        rows = past.rows("comparison", columns, where=where, order="candidate, metric")
        dropped = list(dict.fromkeys(system for system, *found in rows if is_drop(*found)))
        if not dropped:
            raise InputError(f"--acknowledge {ordinal}: nothing dropped in evaluation {ordinal}")
        row = database.Acknowledged(datetime.now(UTC).isoformat(timespec="seconds"), note)
        with past.transaction():
            past.delete(TABLE, "ordinal", [ordinal])
            past.append(TABLE, records_table([row], database.Acknowledged, ordinal=ordinal))
    return dropped


def is_drop(conclusion: str, size: str | None) -> bool:
    """Whether a comparison with the previous evaluation shows a loss that may matter."""
    return conclusion == Verdict.REGRESSED and size != Size.SMALLER_THAN
