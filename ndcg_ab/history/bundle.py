"""Write and read bundles, the folders of finished evaluations, and enter them in the history database.

A bundle is a folder: ``bundle.json`` (results and inputs), ``query_scores.parquet``, ``evaluation.duckdb`` (all
tables). It gets its name at the end, so that it is complete or absent. Files added later: the HTML page,
``published.json``, ``reused.json``.
"""

import contextlib
import dataclasses
import getpass
import json
import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as papq

from ndcg_ab import __version__
from ndcg_ab.comparing.since_last import SinceLast, SystemSince, pass_no_drop_gate
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.secrets.redaction import without_plain_secrets
from ndcg_ab.engines.duckdb import GrowingDatabase
from ndcg_ab.errors import InputError
from ndcg_ab.files import resolve_path, wait_for_lock, write_text
from ndcg_ab.history import database
from ndcg_ab.history.working_folder import KEEPING, LOCK, remove_at_once, time_in_name
from ndcg_ab.results.codec import decode, encode
from ndcg_ab.results.outcome import Outcome
from ndcg_ab.visible import visible

BUNDLE = "bundle.json"
SCORES = "query_scores.parquet"
TABLES = "evaluation.duckdb"
BUNDLE_SCHEMA = 2  # since version 0.3.0
KEEP_PATIENCE = 900.0  # seconds that a finished evaluation waits for the history: more than its lock is ever held
UNREADABLE = (InputError, OSError, ValueError, KeyError, TypeError, AttributeError)  # what a damaged bundle raises
FLOW_RUN = "PREFECT__FLOW_RUN_ID"  # in the environment of what a deployment of Prefect's starts


@dataclasses.dataclass(frozen=True)
class Bundle:
    """A finished evaluation, as read from its folder.

    Attributes
    ----------
    folder : Path
        The folder of the bundle.
    program : str
        Version of ndcg-ab that made the bundle.
    key : str
        A unique, stable name. A tracker logs a bundle with the same key only once.
    ordinal : int
        Number among the evaluations with the same configured name: 1, 2, 3 ….
    began : datetime
        The nominal time, UTC: the time that the evaluation is about, even if it ran later.
    finished : datetime
        The time of finishing, UTC.
    evaluation : Evaluation
        The configuration.
    content_key : str
        Digest of everything that the result depends on.
    configuration_key : str
        Digest of the configuration alone.
    query_set : str or None
        Digest of the ids of the judged queries.
    inputs : tuple of dict
        For each input its name, kind, origin, content digest and further facts.
    outcome : Outcome
        The results.
    seconds : float or None
        Duration; None if unknown.
    user : str or None
        Name of the user who ran the evaluation; None if unknown.
    is_scheduled : bool
        True if a Prefect deployment ran the evaluation.
    since_last : SinceLast or None
        The comparison of every system with itself in the previous evaluation; None if there was none.
    """

    folder: Path
    program: str
    key: str
    ordinal: int
    began: datetime
    finished: datetime
    evaluation: Evaluation
    content_key: str
    configuration_key: str
    query_set: str | None
    inputs: tuple[dict[str, Any], ...]
    outcome: Outcome
    seconds: float | None
    user: str | None
    is_scheduled: bool
    since_last: SinceLast | None

    @property
    def ended(self) -> datetime:
        """The time at which the evaluation would have ended if it had begun at its nominal time.

        It is the time of finishing if the duration is unknown.
        """
        return self.finished if self.seconds is None else self.began + timedelta(seconds=self.seconds)

    @property
    def reused(self) -> list[datetime]:
        """The nominal times of the later runs that reused this bundle, in the order of recording.

        A run reuses a bundle if nothing has changed.
        """
        return [datetime.fromisoformat(began) for began in read_reruns(self.folder)]

    def write(self) -> None:
        """Write bundle.json, completely or not at all, without secrets."""
        content = {"schema": BUNDLE_SCHEMA, **encode(self)}
        del content["folder"]
        content |= {key: without_plain_secrets(content[key]) for key in ("evaluation", "inputs")}
        write_text(self.folder / BUNDLE, json.dumps(content, indent=2, ensure_ascii=False) + "\n")

    def add_to_history(self, past: GrowingDatabase) -> None:
        """Add the rows of this evaluation to the history database.

        The caller must have begun a transaction.
        past: the open history.
        """
        columns = ("key", "began", "finished", "content_key", "configuration_key", "query_set", "program")
        about = {name: encode(getattr(self, name)) for name in columns}
        about |= {"baseline": self.outcome.baseline, "gate": self.outcome.gate}
        about["configuration"] = json.dumps(without_plain_secrets(encode(self.evaluation)))
        inputs = without_plain_secrets(self.inputs)
        database.add_evaluation(past, about, inputs, self.outcome, self.ordinal, self.since_last)
        scores = papq.read_table(self.folder / SCORES)
        ordinals = pa.array([self.ordinal] * scores.num_rows, pa.int64())
        past.append("query_score", scores.add_column(0, "ordinal", ordinals))
        database.enter_reruns(past, read_reruns(self.folder), self.ordinal)

    def copy_for_rerun(self) -> "Bundle":
        """Return a copy of the bundle for the report of a later run with unchanged inputs.

        In the copy, no system has changed or dropped since the previous evaluation, which is this bundle.
        """
        names = tuple(dict.fromkeys(row.system_id for row in self.outcome.systems))
        return dataclasses.replace(
            self,
            outcome=dataclasses.replace(self.outcome, gates=pass_no_drop_gate(self.outcome.gates, self.ordinal)),
            since_last=SinceLast(self.ordinal, encode(self.began), tuple(SystemSince(name, ()) for name in names)),
        )


def finish_bundle(
    folder: Path,
    evaluation: Evaluation,
    outcome: Outcome,
    inputs: Sequence[Mapping[str, Any]],
    query_set: str | None,
    since_last: SinceLast | None = None,
) -> Path:
    """Turn a working folder into a finished bundle, and return the bundle's folder.

    The rows of the bundle are added to the history, and the folder is renamed inside the same transaction. If the
    process dies in between, the next process that opens the history adds the rows (`adopt_bundles`).
    folder: the working folder, with tables and per-query values.
    inputs: for each input its name, kind, origin, digest and further facts.
    query_set: digest of the ids of the judged queries.
    since_last: the comparison with the previous evaluation; None if there is none.
    Raises InputError if the history cannot be opened or written.
    """
    final = folder.with_name(folder.name.removeprefix(".").removesuffix(".partial"))
    began, now = time_in_name(final.name), datetime.now(UTC)
    is_late = abs((now - began).total_seconds()) >= 86_400  # a past night, which counts as finished at its own time
    with database.open_history_for(database.history_path(evaluation), KEEP_PATIENCE) as past:
        adopt_bundles(past, folder.parent)
        bundle = Bundle(
            folder=folder,
            program=__version__,
            key=f"{evaluation.name}/{final.name}",
            ordinal=database.next_ordinal(past),
            began=began,
            finished=began if is_late else now,
            evaluation=evaluation,
            content_key=database.content_key(evaluation, inputs),
            configuration_key=database.configuration_key(evaluation),
            query_set=query_set,
            inputs=tuple(dict(row) for row in inputs),
            outcome=outcome,
            seconds=lock_age(folder / LOCK),
            user=user_name(),
            is_scheduled=bool(os.environ.get(FLOW_RUN)),
            since_last=since_last,
        )
        shutil.rmtree(folder / "pulled", ignore_errors=True)
        with KEEPING, name_bundle_in_errors(final), past.transaction():
            bundle.add_to_history(past)
            bundle.write()
            folder.rename(final)
            (final / LOCK).unlink(missing_ok=True)
    return final


def adopt_bundles(past: GrowingDatabase, parent: Path) -> None:
    """Add the rows of the finished bundles that the history lacks.

    The history lacks a bundle if the process died before adding it, or if the history was recreated. A bundle keeps its
    ordinal unless another bundle has it. An unreadable bundle is reported on standard error, and left out.
    past: the open history.
    parent: the folder that contains the bundles.
    """
    entered = database.keys(past)
    for folder in finished_bundles(parent):
        if f"{parent.name}/{folder.name}" in entered:
            continue
        try:
            bundle = read_bundle(folder)
            is_moved = bundle.ordinal in database.ordinals(past)
            if is_moved:
                bundle = dataclasses.replace(bundle, ordinal=database.next_ordinal(past))
            if bundle.key not in entered:  # else a copy
                with past.transaction():
                    bundle.add_to_history(past)
                    if is_moved:
                        bundle.write()
            entered.add(bundle.key)
        except UNREADABLE as error:
            warn_unreadable(folder, error)
        (folder / LOCK).unlink(missing_ok=True)


def warn_unreadable(folder: Path, error: Exception) -> None:
    reason = str(error) if isinstance(error, InputError) else f"{folder}: {type(error).__name__}: {error}"
    print(visible(f"ndcg-ab: {reason}; left out"), file=sys.stderr)


def finished_bundles(parent: Path) -> list[Path]:
    """Return the folders of finished evaluations in the order of finishing, after the folders that cannot be read."""
    folders = [folder for folder in parent.glob("[0-9]*") if (folder / BUNDLE).is_file()]
    return sorted(folders, key=lambda folder: (ordinal_of(folder), folder.name))


def ordinal_of(folder: Path) -> int:
    with contextlib.suppress(*UNREADABLE):
        return int(read_content(folder)["ordinal"])
    return 0


def unpublished_bundles(evaluation: Evaluation, address: str | None = None) -> list[Path]:
    """Return the folders of the bundles that still have to be published, the oldest first.

    A bundle must be published unless one tracker has the bundle and all later runs that reused it. Unreadable bundles
    are left out, and reported on standard error.
    address: consider only the tracker at this address; None for any tracker.
    """
    folders = []
    for folder in finished_bundles(evaluation.output_directory / evaluation.name):
        if not is_published(folder, address):
            try:
                read_bundle(folder)
                folders.append(folder)
            except UNREADABLE as error:
                warn_unreadable(folder, error)
    return folders


def remove_old_bundles(evaluation: Evaluation) -> list[Path]:
    """Remove the oldest published bundles beyond the configured retention, and return the removed folders.

    Their rows stay in the history, except per-query values beyond the retention `query_scores`. A folder that cannot be
    removed is left for the next run.
    """
    if (keep_count := evaluation.retention.query_scores) is not None:
        try:
            with database.open_history_for(database.history_path(evaluation)) as past:
                database.delete_old_query_scores(past, keep_count)
        except Exception as error:  # the night is whole without it
            warn_unreadable(database.history_path(evaluation), error)
    limit = evaluation.retention.bundles
    if limit is None:
        return []
    folders = finished_bundles(evaluation.output_directory / evaluation.name)
    old = [folder for folder in folders[: max(0, len(folders) - limit)] if is_published(folder)]
    for folder in old:
        remove_at_once(folder, folder.parent)  # half a bundle would be taken for one that is not published
    return [folder for folder in old if not folder.exists()]


def read_content(folder: Path) -> dict[str, Any]:
    """Return the content of a bundle's JSON file.

    Raise InputError if there is no such file, or if it is not a JSON object.
    """
    path = folder / BUNDLE
    if not path.is_file():
        raise InputError(f"{folder}: holds no {BUNDLE}; name the folder of one evaluation")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict):
            raise ValueError("no object")
    except ValueError as error:
        raise InputError(f"{path}: is not a bundle of this version: {type(error).__name__}: {error}") from None
    return content


def read_bundle(folder: Path) -> Bundle:
    """Return the bundle in a folder.

    Raise InputError if there is no bundle, if it is malformed, or if a version with another format wrote it.
    """
    content, path = read_content(folder), folder / BUNDLE
    if "schema" in content and content["schema"] != BUNDLE_SCHEMA:
        raise InputError(
            f"{path}: ndcg-ab {content.get('program')} wrote it, and {__version__} cannot read it: read it with that"
            " version, or move the folder away"
        )
    try:
        bundle: Bundle = decode(Bundle, {**content, "folder": folder})
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(f"{path}: is not a bundle of this version: {type(error).__name__}: {error}") from None
    return bundle


def find_reusable(evaluation: Evaluation, inputs: Sequence[Mapping[str, Any]], time: datetime) -> Path | None:
    """Return the folder of the bundle whose results hold for these inputs and this configuration, or None.

    Inputs and configuration must equal those of the latest evaluation up to `time`. If an input changed in between and
    went back to an earlier content, nothing is reused. The bundle must be complete and within retention.
    """
    parent = evaluation.output_directory / evaluation.name
    if not database.history_path(evaluation).exists() and not finished_bundles(parent):
        return None
    with database.open_history_for(database.history_path(evaluation)) as past:
        adopt_bundles(past, parent)
        keys = database.keys_with_content(past, database.content_key(evaluation, inputs))
        nights = database.nights_until(past, time.astimezone(UTC))
        if nights and nights[0][1] not in database.ordinals(past, keys):
            return None
    staying = finished_bundles(parent)[-(evaluation.retention.bundles or 0) :]
    folders = [parent / key.rpartition("/")[2] for key in keys]
    return next((folder for folder in folders if folder in staying and is_complete(folder)), None)


def record_reuse(evaluation: Evaluation, folder: Path, at: datetime | None = None) -> None:
    """Record in the bundle's folder and in the history that a later run reused the results of the bundle.

    at: the nominal time of that run; None for now. A time is recorded only once.
    """
    time = encode((at or datetime.now(UTC)).astimezone(UTC))
    with database.open_history_for(database.history_path(evaluation)) as past:
        if time not in (*read_reruns(folder), encode(time_in_name(folder.name))):
            add_rerun(folder, time)
        database.enter_reruns(past, read_reruns(folder), ordinal_of(folder))


def is_complete(folder: Path) -> bool:
    with contextlib.suppress(*UNREADABLE):
        read_bundle(folder)
        return (folder / SCORES).is_file()
    return False


@contextlib.contextmanager
def name_bundle_in_errors(final: Path) -> Iterator[None]:
    """Convert an error within the context to InputError if the bundle's folder is already complete.

    The message names the bundle, and says that the next run adds it to the history. Other errors are raised unchanged.
    final: the folder of the complete bundle.
    """
    try:
        yield
    except Exception as error:
        if not final.exists():
            raise
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(
            f"{final}: is whole, but cannot be entered in the history now ({reason}): the next run enters it"
        ) from error


def user_name() -> str | None:
    """Return the name of the user, or None if the machine knows none, as in some containers."""
    with contextlib.suppress(OSError, KeyError):
        return getpass.getuser()
    return None


def lock_age(lock: Path) -> float | None:
    """Return the seconds since the lock of a working folder was created, or None without a lock."""
    with contextlib.suppress(OSError):
        return round(max(0.0, time.time() - lock.stat().st_mtime), 3)
    return None


PUBLISHED = "published.json"
REUSED = "reused.json"
PUBLISHING = ".publishing"


def is_published(folder: Path, address: str | None = None) -> bool:
    """Return whether a tracker has the bundle, and has been told of every later run that reused the bundle.

    folder: the folder of the bundle.
    address: consider only the tracker at this address; None for any tracker.
    """
    known_nights = read_published(folder)
    records = known_nights.values() if address is None else [known_nights[address]] if address in known_nights else []
    return any(nights >= len(read_reruns(folder)) for nights in records)


def read_published(folder: Path) -> dict[str, int]:
    """Return tracker address -> number of reusing runs that this tracker has been told of.

    The mapping is empty if the bundle was not published or the record cannot be read.
    """
    with contextlib.suppress(OSError, ValueError, AttributeError, TypeError):
        content = json.loads((folder / PUBLISHED).read_text(encoding="utf-8"))
        return {str(address): int(nights) for address, nights in content.get("places", {}).items()}
    return {}


def mark_published(folder: Path, where: Mapping[str, Any]) -> None:
    """Record that a tracker has the bundle. Earlier records of other trackers stay.

    where: `uri` (the address of the tracker), `reused` (the number of reusing runs that it has been told of) and
        further properties.
    """
    known_nights = read_published(folder) | {where.get("uri", ""): where.get("reused", 0)}
    write_text(folder / PUBLISHED, json.dumps({**where, "places": known_nights}, indent=2) + "\n")


def read_reruns(folder: Path) -> list[str]:
    """Return the nominal times (ISO 8601, UTC) of the runs that reused the bundle, in the order of recording.

    The list is empty if no run reused the bundle or the record cannot be read.
    """
    with contextlib.suppress(OSError, ValueError, TypeError):
        return [str(time) for time in json.loads((folder / REUSED).read_text(encoding="utf-8"))]
    return []


def add_rerun(folder: Path, began: str) -> None:
    write_text(folder / REUSED, json.dumps([*read_reruns(folder), began], indent=2) + "\n")


@contextlib.contextmanager
def lock_publishing(folder: Path, patience: float = 120.0) -> Iterator[None]:
    """Hold the lock for publishing the bundles of an evaluation within the context.

    folder: the folder of one bundle of the evaluation.
    patience: seconds to wait for the lock.
    Raises InputError if another process holds the lock for longer, or if the parent folder is not writable.
    """
    parent = resolve_path(folder).parent
    try:
        opened = (parent / PUBLISHING).open("w")
    except OSError as error:
        raise InputError(
            f"{parent}: cannot be written ({error.strerror}), and publishing is noted beside the bundle: make the"
            " folder writable, or publish a copy of it"
        ) from None
    with opened as lock:
        if not wait_for_lock(lock, patience):
            raise InputError(f"{parent}: another process has been publishing for {patience:.0f} s and more")
        yield
