"""The history: every evaluation of one name, in the tables of one DuckDB file (docs/history.md).

Every row carries the ordinal of its evaluation: 1, 2, 3 … in the order in which they were finished.
"""

import contextlib
import dataclasses
import hashlib
import json
import os
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from flows import __version__
from flows.config import Evaluation
from flows.errors import InputError
from flows.outcome import PRIMARY, Outcome
from flows.warehouse import Warehouse, open_for_writing
from ndcg_core.comparison import Comparison
from ndcg_core.descriptive import Descriptive

HISTORY = "history.duckdb"
PATIENCE = 60.0  # seconds to wait for another process that has the history open
ELSEWHERE = {"output", "directory", "mlflow", "prefect", "resources", "schedule", "retention"}  # changes no result

REAL, TEXT, WHOLE = pa.float64(), pa.string(), pa.int64()
DESCRIPTIVE = [field.name for field in dataclasses.fields(Descriptive) if field.name != "carriers"]
COUNTS = [(name, WHOLE) for name in ("queries", "differing", "wins", "ties", "losses")]
NUMBERS = [(name, REAL) for name in ("difference", "low", "high", "p_value", "p_adjusted", "mde")]
SCHEMAS = {
    "evaluation": pa.schema(
        [("ordinal", WHOLE), ("key", TEXT), ("began", TEXT), ("finished", TEXT), ("baseline", TEXT)]
        + [("configuration", TEXT), ("content_key", TEXT), ("configuration_key", TEXT), ("query_set", TEXT)]
        + [("gate", TEXT), ("program", TEXT)]
    ),
    "input": pa.schema(
        [("ordinal", WHOLE), ("name", TEXT), ("kind", TEXT), ("version", TEXT), ("origin", TEXT)]
        + [("rows", WHOLE), ("digest", TEXT)]
    ),
    "metric": pa.schema([("ordinal", WHOLE), ("metric", TEXT), ("hash", TEXT), ("definition", TEXT)]),
    "system_summary": pa.schema(
        [("ordinal", WHOLE), ("system_id", TEXT), ("metric", TEXT), ("mean", REAL), ("median", REAL)]
        + [("queries", WHOLE), ("unanswered", WHOLE), ("judged", REAL), ("unweighted_mean", REAL)]
    ),
    "comparison": pa.schema(
        [("ordinal", WHOLE), ("baseline", TEXT), ("candidate", TEXT), ("metric", TEXT), *COUNTS, *NUMBERS]
        + [("verdict", TEXT), ("notes", TEXT), ("family", TEXT), ("family_size", WHOLE), ("procedure", TEXT)]
        + [("alpha", REAL), ("seed", WHOLE), ("resamples", WHOLE), ("exploratory", pa.bool_())]
        + [("attribute", TEXT), ("slice", TEXT), ("baseline_mean", REAL), ("smallest_effect", REAL)]
        + [("interval_method", TEXT), ("simultaneous_low", REAL), ("simultaneous_high", REAL), ("lower_bound", REAL)]
        + [("effective_queries", REAL), ("unweighted_difference", REAL)]
        + [(name, REAL) for name in DESCRIPTIVE]
    ),
    "finding": pa.schema([("ordinal", WHOLE), ("code", TEXT), ("severity", TEXT), ("message", TEXT), ("count", WHOLE)]),
    "gate": pa.schema([("ordinal", WHOLE), ("name", TEXT), ("passed", pa.bool_()), ("message", TEXT)]),
    "query_score": pa.schema(
        [("ordinal", WHOLE), ("system_id", TEXT), ("query_id", TEXT), ("metric", TEXT), ("value", REAL)]
        + [("metric_hash", TEXT)]
    ),
}


def path_of(evaluation: Evaluation) -> Path:
    return evaluation.output_directory / evaluation.name / HISTORY


IN_THIS_PROCESS = threading.RLock()  # DuckDB's lock keeps out other processes only


@contextlib.contextmanager
def opened(path: Path, patience: float = PATIENCE) -> Iterator[Warehouse]:
    """The history with all of its tables; waits for another process that has it open, or says which one does.

    Raises InputError, which says what to do about a file that is damaged.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with IN_THIS_PROCESS:
        try:
            create(path)
            with open_for_writing(path, patience) as history:
                for name, schema in SCHEMAS.items():
                    history.append(name, schema.empty_table())
                yield history
        except InputError as error:
            if str(error).startswith(f"{path}: ") and ("lock" in str(error) or "cannot be opened" in str(error)):
                raise InputError(trouble(path, patience, str(error))) from None
            raise
        except Exception as error:
            if is_duckdbs(error):
                raise InputError(trouble(path, patience, str(error))) from error
            raise


def create(path: Path) -> None:
    """An empty history appears whole: a process that dies here leaves none, or one that can be opened."""
    if path.exists():
        return
    partial = path.with_name(f".{path.stem}.{os.getpid()}.partial")
    partial.unlink(missing_ok=True)
    with Warehouse(partial):
        pass
    try:
        path.hardlink_to(partial)
    except FileExistsError:
        pass  # another process was faster
    except OSError:  # a file system without links
        if not path.exists():
            partial.rename(path)
    partial.unlink(missing_ok=True)


def is_duckdbs(error: BaseException) -> bool:
    return type(error).__module__.lstrip("_").partition(".")[0] == "duckdb"


def trouble(path: Path, patience: float, said: str) -> str:
    """In one sentence who holds the history, or what is wrong with it and what to do."""
    if holder := re.search(r"PID (\d+)", said):
        return f"{path}: process {holder[1]} has had it open for {patience:.0f} s and more; end it or wait for it"
    reason = " ".join(said.removeprefix(f"{path}: cannot be opened: ").split())
    return (
        f"{path}: cannot be read or written ({reason}); if it is damaged, move it away with {path.name}.wal:"
        " the next run enters the bundles again"
    )


def digest_of(content: Any) -> str:
    """SHA-256 of a structure, 32 hex digits: the same for any order of its keys."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def configuration_key(evaluation: Evaluation) -> str:
    """Digest of everything in the configuration that can change a result; not of where inputs and results lie."""
    content = evaluation.model_dump(mode="json", exclude=ELSEWHERE)
    content["systems"] = [{"name": system.name, "version": system.version} for system in evaluation.systems]
    content["baseline"] = evaluation.baseline_name
    for name in ("judgments", "queries"):
        content.pop(name)
    return digest_of(content)


def content_key(evaluation: Evaluation, inputs: Sequence[Mapping[str, Any]]) -> str:
    """Digest of the configuration and of every input's content: the same key, the same result."""
    digests = {f"{row['kind']} {'' if row['kind'] != 'ranking' else row['name']}": row["digest"] for row in inputs}
    return digest_of([configuration_key(evaluation), digests, __version__])


def next_ordinal(history: Warehouse) -> int:
    return int(history.rows("select coalesce(max(ordinal), 0) + 1 from evaluation")[0][0])


def ordinals(history: Warehouse) -> set[int]:
    return {ordinal for (ordinal,) in history.rows("select ordinal from evaluation")}


def keys(history: Warehouse) -> set[str]:
    return {key for (key,) in history.rows("select key from evaluation")}


def same_content(history: Warehouse, key: str) -> list[str]:
    """Keys of the evaluations with this content, the latest first."""
    rows = history.rows("select key from evaluation where content_key = $key order by ordinal desc", {"key": key})
    return [found for (found,) in rows]


def comparisons_so_far(history: Warehouse, query_set: str) -> int:
    """Tested primary comparisons on one set of queries, each content once: every new one is another look."""
    return int(
        history.rows(
            "with first_look as ("
            "  select min(ordinal) as ordinal from evaluation where query_set = $query_set"
            "  group by coalesce(content_key, key)"
            ")"
            " select count(*) from comparison inner join first_look using (ordinal)"
            " where family = $family and p_value is not null",
            {"query_set": query_set, "family": PRIMARY},
        )[0][0]
    )


def forget_query_scores(history: Warehouse, nights: int) -> None:
    """Keeps the values of single queries for the latest evaluations only."""
    history.rows(
        "delete from query_score"
        " where ordinal not in (select ordinal from evaluation order by ordinal desc limit $nights)",
        {"nights": nights},
    )


def enter(history: Warehouse, content: Mapping[str, Any], outcome: Outcome, scores: pa.Table) -> None:
    """Adds one evaluation's rows, from the content of its bundle; to be called inside a transaction."""
    ordinal = content["ordinal"]
    names = ("key", "began", "finished", "content_key", "configuration_key", "query_set", "program")
    evaluation = {name: content.get(name) for name in names}
    evaluation |= {"baseline": outcome.baseline, "configuration": json.dumps(content["evaluation"])}
    evaluation["gate"] = outcome.gate
    tables: dict[str, list[dict[str, Any]]] = {
        "evaluation": [evaluation],
        "input": [dict(row) for row in content["inputs"]],
        "metric": [
            {"metric": metric.name, "hash": metric.hash, "definition": json.dumps(metric.definition)}
            for metric in outcome.metrics
        ],
        "system_summary": [dataclasses.asdict(row) for row in outcome.systems],
        "comparison": [comparison_row(row) for row in outcome.comparisons],
        "finding": [dataclasses.asdict(row) for row in outcome.findings],
        "gate": [dataclasses.asdict(row) for row in outcome.gates],
    }
    for name, rows in tables.items():
        history.append(name, pa.Table.from_pylist([{"ordinal": ordinal, **row} for row in rows], schema=SCHEMAS[name]))
    history.append("query_score", scores.add_column(0, "ordinal", pa.array([ordinal] * scores.num_rows, WHOLE)))


def comparison_row(comparison: Comparison) -> dict[str, Any]:
    """A comparison in one row: what describes it beside it, without its queries (they stand in query_score)."""
    row = dataclasses.asdict(comparison) | {"notes": "; ".join(comparison.notes)}
    described = row.pop("descriptive") or {}
    return row | {name: described.get(name) for name in DESCRIPTIVE}


def nights(history: Warehouse) -> pa.Table:
    """Every system on every metric, evaluation by evaluation, with its comparison where it has one."""
    return history.arrow(
        "select ordinal, evaluation.began, s.system_id, s.metric, s.mean, c.difference, c.low, c.high, c.verdict"
        " from system_summary as s"
        " inner join evaluation using (ordinal)"
        " left join comparison as c on c.ordinal = s.ordinal and c.candidate = s.system_id and c.metric = s.metric"
        "  and c.baseline = evaluation.baseline and c.family in ('primary', 'secondary', 'guardrails')"
        " order by ordinal, s.metric, s.system_id"
    )
