"""Summarise the history since a given time: which systems dropped and why, and which drops are acknowledged."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from ndcg_ab.comparing.since_last import SINCE_LAST
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.errors import InputError
from ndcg_ab.history import database
from ndcg_ab.history.failed_nights import FailedNight
from ndcg_ab.history.timeline import EvaluatedNight, Timeline, shown_direction
from ndcg_ab.results.codec import encode, json_text, records_table

DAYS = re.compile(r"([1-9]\d{0,4})d")
TABLE = "acknowledged"


@dataclass(frozen=True)
class Drop:
    """A drop: in one evaluation, a system's ranking was shown to be worse than in the previous evaluation.

    Attributes
    ----------
    ordinal, began : int, str
        Number and nominal time (ISO 8601) of the evaluation.
    system_id : str
        Name of the system.
    difference : float or None
        Mean difference from the previous evaluation.
    changed : tuple of str
        The inputs and settings that had changed since then.
    moved : dict
        Cause (ranking, judgments, queries) -> part of the change of the mean; empty if unknown.
    better_in : int or None
        Number of the first later evaluation in which the system is shown to have improved, unless the gain is shown to
        be smaller than the smallest effect; None if there is none.
    acknowledged : str or None
        Time at which a person acknowledged the drop, or None.
    note : str or None
        That person's note.
    """

    ordinal: int
    began: str
    system_id: str
    difference: float | None
    changed: tuple[str, ...]
    moved: dict[str, float]
    better_in: int | None = None
    acknowledged: str | None = None
    note: str | None = None

    @property
    def is_open(self) -> bool:
        return self.better_in is None and self.acknowledged is None


@dataclass(frozen=True)
class Digest:
    """A summary of the history since a point in time.

    Attributes
    ----------
    name, metric : str
        Name of the evaluation, and the metric.
    since : str
        The point in time, UTC.
    evaluations : int
        Number of evaluations since then.
    reused : int
        Number of runs since then that reused an earlier evaluation, because nothing had changed.
    failed : tuple of FailedNight
        The runs since then that failed.
    drops : tuple of Drop
        The drops since then, and all earlier drops that are still open.
    failing : dict
        Name of a gate that fails in the latest evaluation, with the system -> number of the evaluation since which the
        gate has failed every time.
    pending : tuple of int
        Numbers of all evaluations that no tracker has.
    """

    name: str
    metric: str
    since: str
    evaluations: int
    reused: int
    failed: tuple[FailedNight, ...]
    drops: tuple[Drop, ...]
    failing: dict[str, int]
    pending: tuple[int, ...]


def parse_since(text: str, now: datetime) -> datetime:
    """Return the time that a text names.

    The text is a number of days before `now`, such as ``7d``, or a date or time, in UTC unless it has a time zone.
    Raise InputError for any other text.
    """
    if match := DAYS.fullmatch(text):
        return now - timedelta(days=int(match[1]))
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f"--since {text!r}: must be a number of days, as 7d, or a date, as 2026-11-20") from None
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time


def make_digest(timeline: Timeline, since: datetime) -> Digest:
    nights = timeline.evaluations
    drops = [drop for index in range(len(nights)) for drop in drops_of_night(nights, index)]
    return Digest(
        timeline.name,
        timeline.metric,
        since.astimezone(UTC).isoformat(timespec="seconds"),
        sum(is_since(night.began, since) for night in nights),
        sum(is_since(night.began, since) for night in timeline.reused),
        tuple(night for night in timeline.failed if is_since(night.began, since)),
        tuple(drop for drop in drops if drop.is_open or is_since(drop.began, since)),
        {
            gate: nights[
                1 + max((at for at, each in enumerate(nights) if gate not in each.failures), default=-1)
            ].ordinal
            for gate in nights[-1].failures
        },
        tuple(night.ordinal for night in nights if night.pending),
    )


def is_since(began: str, since: datetime) -> bool:
    return datetime.fromisoformat(began) >= since


def drops_of_night(nights: tuple[EvaluatedNight, ...], index: int) -> list[Drop]:
    night = nights[index]
    return [
        Drop(
            night.ordinal,
            night.began,
            name,
            night.since_last[name].difference,
            night.changed,
            night.moved.get(name, {}),
            next((later.ordinal for later in nights[index + 1 :] if name in later.improved), None),
            *(night.acknowledged or ()),
        )
        for name in night.dropped
    ]


def digest_json(digest: Digest) -> str:
    content = {**encode(digest), "failed": [night._asdict() for night in digest.failed]}
    content["failing"] = [{"gate": gate, "since": since} for gate, since in digest.failing.items()]
    for drop, found in zip(content["drops"], digest.drops, strict=True):
        drop["open"] = found.is_open
    return json_text(content)


def acknowledge_drop(evaluation: Evaluation, ordinal: int, note: str | None) -> list[str]:
    """Mark the drops of one evaluation as acknowledged, and return the names of the systems that dropped in it.

    A system dropped if its ranking is shown to be worse than in the previous evaluation, and the loss is not shown to
    be smaller than the smallest effect. An earlier acknowledgement is replaced.
    ordinal: number of the evaluation.
    note: a note to store with the acknowledgement, or None.
    Raises InputError if there is no history or no such evaluation, or if no system dropped in it.
    """
    path = database.existing_history(evaluation)
    with database.open_history_for(path) as past:
        if ordinal not in database.ordinals(past):
            raise InputError(f"--acknowledge {ordinal}: {path} has no evaluation of that number")
        columns = ("candidate", "conclusion", "size")
        where: dict[str, str | int] = {"ordinal": ordinal, "family": SINCE_LAST}
        rows = past.rows("comparison", columns, where=where, order="candidate, metric")
        dropped = list(dict.fromkeys(system for system, *facts in rows if shown_direction(*facts) < 0))
        if not dropped:
            raise InputError(f"--acknowledge {ordinal}: nothing dropped in evaluation {ordinal}")
        row = {"at": datetime.now(UTC).isoformat(timespec="seconds"), "note": note}
        with past.transaction():
            past.delete(TABLE, "ordinal", [ordinal])
            past.append(TABLE, records_table([row], database.RECORDS[TABLE], ordinal=ordinal))
    return dropped
