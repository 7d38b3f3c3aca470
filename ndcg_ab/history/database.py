"""Open, fill and query the history: one DuckDB file with the tables of all evaluations of one name (docs/history.md).

Every row has the ordinal of its evaluation: 1, 2, 3 … in the order of finishing.
"""

import contextlib
import hashlib
import json
import os
import re
import shutil
import threading
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from ndcg_ab import __version__
from ndcg_ab.comparing.since_last import MeanChange, SinceLast
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.keys import Trait, input_keys, keys_with
from ndcg_ab.engines import Engine
from ndcg_ab.engines.duckdb import GrowingDatabase, is_duckdb_error, is_out_of_memory
from ndcg_ab.engines.duckdb.files import open_history
from ndcg_ab.errors import InputError
from ndcg_ab.full_disks import UNWRITABLE_WORDS, WORDS
from ndcg_ab.results.change_records import RankingChanges
from ndcg_ab.results.codec import decode, record_row, records_table
from ndcg_ab.results.cost_records import CostDifference, CostValue
from ndcg_ab.results.decisions import Decision
from ndcg_ab.results.ledger import LedgerRow
from ndcg_ab.results.outcome import Finding, GateResult, Input, Outcome, SystemSummary
from ndcg_ab.temporary import temporary_folder
from ndcg_core.statistics.verdicts.comparison import Comparison

HISTORY = "history.duckdb"
LOCKED_UP_WORDS = ("Permission denied", "Operation not permitted")
PATIENCE = 60.0  # seconds to wait for another process that has the history open


def text_columns(*names: str) -> dict[str, pa.DataType]:
    return dict.fromkeys(names, pa.string())


# Table -> the record that its rows are made from, or its columns; every one has the ordinal of its evaluation first
# (docs/history.md).
RECORDS: dict[str, type | dict[str, pa.DataType]] = {
    "evaluation": text_columns(
        "key",
        "began",
        "finished",
        "baseline",
        "configuration",
        "content_key",
        "configuration_key",
        "query_set",
        "gate",
        "program",
    ),
    "input": Input,
    "metric": text_columns("metric", "hash", "definition"),
    "system_summary": SystemSummary,
    "comparison": Comparison,
    "finding": Finding,
    "gate": GateResult,
    "decision": Decision,
    "reuse": text_columns("began"),
    "acknowledged": text_columns("at", "note"),
    "since_last": text_columns("system_id", "changed", "unknown") | {"earlier": pa.int64()},
    "moved": MeanChange,
    "changes": RankingChanges,
    "ledger": LedgerRow,
    "cost": CostValue,
    "cost_difference": CostDifference,
    "query_score": text_columns("system_id", "query_id", "metric", "metric_hash") | {"value": pa.float64()},
}
NEWEST = "ledger"  # a table that every history since version 0.3.0 has


def history_path(evaluation: Evaluation) -> Path:
    return evaluation.output_directory / evaluation.name / HISTORY


def existing_history(evaluation: Evaluation) -> Path:
    """Return the path of the history; raise InputError if the file does not exist yet."""
    path = history_path(evaluation)
    if not path.exists():
        raise InputError(f"{path}: there is no history yet; `ndcg-ab run CONFIG` makes it")
    return path


IN_THIS_PROCESS = threading.RLock()  # DuckDB's lock keeps out other processes only


@contextlib.contextmanager
def open_history_for(path: Path, patience: float = PATIENCE) -> Iterator[GrowingDatabase]:
    """Yield the history database, ready for writing.

    It is created if missing, and has a table for every kind of record.
    patience: seconds to wait for other processes that have the history open.
    Raises InputError if the history stays in use, cannot be read or written, or comes from a version before 0.3.0. The
    message says what to do.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with IN_THIS_PROCESS:
        try:
            create_history(path)
            with open_history(path, patience) as history:
                if history.columns("evaluation") and not history.columns(NEWEST):
                    raise InputError(
                        f"{path}: a version before 0.3.0 wrote it: move it away; the next run begins a new history"
                    )
                for name, kind in RECORDS.items():
                    history.append(name, records_table([], kind, ordinal=0))
                yield history
        except Exception as error:
            is_closed = isinstance(error, InputError) and str(error).startswith(f"{path}: ")
            is_closed = is_closed and ("lock" in str(error) or "cannot be opened" in str(error))
            if is_closed or (is_duckdb_error(error) and not is_out_of_memory(error)):
                raise InputError(storage_error_text(path, patience, str(error))) from error
            raise


def storage_error_text(path: Path, patience: float, message: str) -> str:
    """Return a sentence that says why the history cannot be opened, and what to do.

    patience: the seconds that were spent waiting for another process.
    message: the error message of DuckDB.
    """
    if holder := re.search(r"PID (\d+)", message):
        return f"{path}: process {holder[1]} has had it open for {patience:.0f} s and more; end it or wait for it"
    reason = " ".join(message.removeprefix(f"{path}: cannot be opened: ").split())
    if any(words in reason for words in WORDS):
        return f"{path}: there is no room ({reason}): make some, and run again; what it holds is unharmed"
    if any(words in reason for words in (*UNWRITABLE_WORDS, *LOCKED_UP_WORDS)):
        return f"{path}: cannot be written ({reason}): make its folder writable, or name another `output`"
    return (
        f"{path}: cannot be read or written ({reason}); if it is damaged, move it away with {path.name}.wal:"
        " the next run enters the bundles again"
    )


@contextlib.contextmanager
def open_history_to_read(path: Path) -> Iterator[GrowingDatabase]:
    """Yield the history database for reading.

    If the file or its folder is not writable, a temporary copy is opened instead. Raises InputError if the history
    stays in use or cannot be read.
    """
    with contextlib.ExitStack() as stack:
        if not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
            original, path = path, stack.enter_context(temporary_folder()) / path.name
            for suffix in ("", ".wal"):
                with contextlib.suppress(FileNotFoundError):
                    shutil.copyfile(f"{original}{suffix}", f"{path}{suffix}")
        yield stack.enter_context(open_history_for(path))


def create_history(path: Path) -> None:
    """Create an empty history, completely or not at all, if there is none."""
    if path.exists():
        return
    partial = path.with_name(f".{path.stem}.{os.getpid()}.partial")
    partial.unlink(missing_ok=True)
    try:
        GrowingDatabase(partial).close()
        try:
            path.hardlink_to(partial)
        except FileExistsError:  # another process was faster
            pass
        except OSError:  # a file system without links
            if not path.exists():
                partial.rename(path)
    finally:
        partial.unlink(missing_ok=True)


def digest_of(content: Any) -> str:
    """Return the first 32 hex digits of the SHA-256 of nested content, independent of the order of keys."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def configuration_key(evaluation: Evaluation) -> str:
    """Return a digest of all configuration keys that can change a result.

    Paths and addresses of inputs are left out; the contents of inputs are digested elsewhere (`content_key`).
    """
    # The content of inputs counts instead of their names.
    excluded = keys_with(type(evaluation), Trait.OPERATIONAL) | input_keys(type(evaluation))
    content = evaluation.model_dump(mode="json", exclude=excluded)
    content["systems"] = [{"name": system.name, "version": system.version} for system in evaluation.systems]
    content["baseline"] = evaluation.baseline_name
    if evaluation.scores:
        content["scores"] = True
    return digest_of(content)


def content_key(evaluation: Evaluation, inputs: Sequence[Mapping[str, Any]]) -> str:
    """Return a digest of the configuration, the content of all inputs and the version of ndcg-ab.

    Equal digests mean equal results.
    """
    digests = {f"{row['kind']} {'' if row['kind'] != 'ranking' else row['name']}": row["digest"] for row in inputs}
    scores = sorted(row["digest"] for row in inputs if row["kind"] == "scores")
    judged = [row["digest"] for row in inputs if row["kind"] == "judgments"]
    several: dict[str, Any] = {"scores ": scores} if scores else {"judgments ": judged} if judged[1:] else {}
    return digest_of([configuration_key(evaluation), digests | several, __version__])


def query_set_digest(engine: Engine) -> str:
    """Return a digest of the ids of the judged queries.

    By this digest the history counts how often a query set was used to decide.
    """
    judged = engine.rows("query", ("query_id",), where={"is_judged": True}, order="query_id")
    return digest_of([query_id for (query_id,) in judged])


def next_ordinal(history: GrowingDatabase) -> int:
    return max(ordinals(history), default=0) + 1


def ordinals(history: GrowingDatabase, keys: Sequence[str] | None = None) -> set[int]:
    """Return the ordinals (numbers 1, 2, 3 …) of the evaluations in the history.

    keys: return only those of the evaluations with these keys; None for all evaluations.
    """
    rows = history.rows("evaluation", ("ordinal", "key"))
    return {ordinal for ordinal, key in rows if keys is None or key in keys}


def keys(history: GrowingDatabase) -> set[str]:
    return {key for (key,) in history.rows("evaluation", ("key",))}


def nights_until(history: GrowingDatabase, time: datetime) -> list[tuple[str, int]]:
    """Return (nominal time, ordinal of the evaluation) for all successful runs up to a time, the latest first.

    A run that reused an earlier evaluation has the ordinal of that evaluation.
    """
    rows = [*history.rows("evaluation", ("began", "ordinal")), *history.rows("reuse", ("began", "ordinal"))]
    nights_by_time = [(datetime.fromisoformat(began), ordinal, began) for began, ordinal in rows]
    nights = sorted((row for row in nights_by_time if row[0] <= time), reverse=True)
    return [(began, ordinal) for _, ordinal, began in nights]


def keys_with_content(history: GrowingDatabase, key: str) -> list[str]:
    """Return the keys of the evaluations that have a content key, the latest evaluation first.

    key: the content key, a digest of everything that the result depends on.
    """
    rows = history.rows("evaluation", ("key",), where={"content_key": key}, order="ordinal desc")
    return [found for (found,) in rows]


def delete_old_query_scores(history: GrowingDatabase, keep: int) -> None:
    """Delete the per-query values of all evaluations but the latest `keep`."""
    history.delete("query_score", "ordinal", sorted(ordinals(history))[:-keep])


def add_evaluation(
    history: GrowingDatabase,
    evaluation: Mapping[str, str | None],
    inputs: Sequence[Any],
    outcome: Outcome,
    ordinal: int,
    since: SinceLast | None = None,
) -> None:
    """Add the rows of one evaluation to the history, except the per-query values.

    The caller must have begun a transaction.
    evaluation: column -> value of the row in the table `evaluation`.
    inputs: for each input a mapping with name, kind, origin and digest.
    since: the comparison with the previous evaluation; None if there is none.
    """
    metrics = [
        {"metric": metric.name, "hash": metric.hash, "definition": json.dumps(metric.definition)}
        for metric in outcome.metrics
    ]
    changed = [record_row(each) | {"earlier": since.ordinal} for each in since.systems] if since else []
    records: dict[str, Sequence[Any]] = {
        "evaluation": [evaluation],
        "input": decode(tuple[Input, ...], inputs),
        "metric": metrics,
        "system_summary": outcome.systems,
        "comparison": [*outcome.comparisons, *(since.comparisons if since else ())],
        "finding": outcome.findings,
        "gate": outcome.gates,
        "decision": outcome.decisions,
        "since_last": changed,
        "moved": since.moved if since else (),
        "changes": outcome.changes,
        "ledger": outcome.ledger,
        "cost": outcome.costs.values if outcome.costs else (),
        "cost_difference": outcome.costs.differences if outcome.costs else (),
    }
    for name, rows in records.items():
        history.append(name, records_table(rows, RECORDS[name], ordinal=ordinal))


def enter_reruns(history: GrowingDatabase, times: Sequence[str], ordinal: int) -> None:
    """Add the later runs that reused an evaluation to the history; those already recorded are skipped.

    times: the nominal times of the runs, ISO 8601, UTC.
    """
    entered = {began for (began,) in history.rows("reuse", ("began",), where={"ordinal": ordinal})}
    fresh = [{"began": began} for began in times if began not in entered]
    history.append("reuse", records_table(fresh, RECORDS["reuse"], ordinal=ordinal))


def read_timeline_rows(history: GrowingDatabase) -> pa.Table:
    """Return a table with one row per evaluation, metric and system.

    A row has the mean and, if the system is a candidate, its comparison with the baseline.
    """
    return history.read("timeline", order="ordinal, metric, system_id")
