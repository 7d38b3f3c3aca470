"""Nights whose configuration and inputs are those of the previous evaluation: its result stands for them."""

import contextlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.history import database
from ndcg_ab.history.bundles import bundle as bundles
from ndcg_ab.history.bundles.published import add_rerun, read_reruns
from ndcg_ab.results.codec import encode


def find_same(evaluation: Evaluation, inputs: Sequence[Mapping[str, Any]], at: datetime | None = None) -> Path | None:
    """The bundle of an earlier evaluation with the same configuration and the same inputs; None without one.

    Only one that is whole, that retention does not remove at once, and whose content was that of the night before:
    what went back to an earlier state has changed since then.  at: the moment that the night stands for.
    """
    moment = (at or datetime.now(UTC)).astimezone(UTC)
    parent = evaluation.output_directory / evaluation.name
    if not database.history_path(evaluation).exists() and not bundles.finished_bundles(parent):
        return None
    with database.open_history_for(database.history_path(evaluation)) as past:
        bundles.adopt_bundles(past, parent)
        found = database.keys_with_content(past, database.content_key(evaluation, inputs))
        nights = database.nights_until(past, moment)
        if nights and nights[0][1] not in database.ordinals(past, found):
            return None
    staying = bundles.finished_bundles(parent)[-(evaluation.retention.bundles or 0) :]
    folders = [parent / key.rpartition("/")[2] for key in found]
    return next((folder for folder in folders if folder in staying and is_whole(folder)), None)


def note_reuse(evaluation: Evaluation, folder: Path, at: datetime | None = None) -> None:
    """Leaves a trace of a night whose result is that of an earlier one: beside the bundle, and in the history.

    at: the moment that the night stands for; by default now.  The same moment leaves one trace.
    """
    moment = encode((at or datetime.now(UTC)).astimezone(UTC))
    with database.open_history_for(database.history_path(evaluation)) as past:
        if moment not in (*read_reruns(folder), encode(bundles.began_by_name(folder.name))):
            add_rerun(folder, moment)
        database.enter_reruns(past, read_reruns(folder), bundles.ordinal_of(folder))


def is_whole(folder: Path) -> bool:
    with contextlib.suppress(*bundles.UNREADABLE):
        bundles.read_bundle(folder)
        return (folder / bundles.SCORES).is_file()
    return False
