"""Evaluations kept: a bundle on disk for each, and a history of all of them in DuckDB.

A bundle is a folder: ``bundle.json`` (what was found, from what), ``query_scores.parquet``, ``report.html``
and ``evaluation.duckdb`` (every table of the pipeline).  It appears whole: it is made under another name
and renamed at the end.
"""

import contextlib
import dataclasses
import json
import shutil
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as papq

from flows.config import Evaluation
from flows.errors import InputError
from flows.outcome import Outcome, write_text
from flows.report import write_page
from flows.warehouse import Warehouse, open_for_writing
from ndcg_core.comparison import Comparison
from ndcg_core.descriptive import Descriptive

BUNDLE = "bundle.json"
SCORES = "query_scores.parquet"
PAGE = "report.html"
TABLES = "evaluation.duckdb"
STAMP = "%Y%m%dT%H%M%SZ"


@dataclasses.dataclass(frozen=True)
class Bundle:
    """A finished evaluation, as read from its folder.

    key: unique and stable; publishing twice under one key logs once.  ordinal: 1, 2, 3 … among the
    evaluations of its name.  began, finished: UTC.  inputs: name, kind, origin and content digest of each.
    """

    folder: Path
    key: str
    ordinal: int
    began: datetime
    finished: datetime
    evaluation: Evaluation
    outcome: Outcome
    inputs: tuple[dict[str, Any], ...]
    extremes: tuple[dict[str, Any], ...]


def begin(evaluation: Evaluation) -> Path:
    """A new working folder for one evaluation, under a name that no reader looks at."""
    parent = evaluation.output_directory / evaluation.name
    stamp = datetime.now(UTC).strftime(STAMP)
    for attempt in range(1, 1000):
        name = stamp if attempt == 1 else f"{stamp}-{attempt}"
        folder = parent / f".{name}.partial"
        if not (parent / name).exists():
            try:
                folder.mkdir(parents=True)
            except FileExistsError:
                continue
            except OSError as error:
                raise InputError(f"output = {str(evaluation.output)!r}: cannot be written: {error}") from None
            return folder
    raise InputError(f"{parent}: too many evaluations began in one second")


def began_of(name: str) -> datetime:
    """The moment in a bundle folder's name."""
    return datetime.strptime(name.partition("-")[0], STAMP).replace(tzinfo=UTC)


def abandon(folder: Path) -> None:
    """Removes the working folder of an evaluation that failed, and the folders above it that it leaves empty."""
    shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):
        folder.parent.rmdir()
        folder.parent.parent.rmdir()


def keep(
    folder: Path,
    evaluation: Evaluation,
    outcome: Outcome,
    inputs: Sequence[Mapping[str, Any]],
    extremes: list[dict[str, Any]],
) -> Path:
    """Finishes the bundle and enters it in the history; the folder's final place."""
    final = folder.with_name(folder.name.removeprefix(".").removesuffix(".partial"))
    finished = datetime.now(UTC)
    with open_for_writing(folder.parent / "history.duckdb") as history, history.transaction():
        ordinal = next_ordinal(history)
        content = {
            "schema": 1,
            "key": f"{evaluation.name}/{final.name}",
            "ordinal": ordinal,
            "began": began_of(final.name).isoformat(timespec="seconds"),
            "finished": finished.isoformat(timespec="seconds"),
            "evaluation": evaluation.model_dump(mode="json"),
            "inputs": list(inputs),
            "extremes": extremes,
            "outcome": outcome.to_dict(),
        }
        write_text(folder / BUNDLE, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
        write_page(folder / PAGE, outcome, extremes, content)
        enter(history, content, outcome, papq.read_table(folder / SCORES))
        shutil.rmtree(folder / "pulled", ignore_errors=True)
        folder.rename(final)
    return final


def next_ordinal(history: Warehouse) -> int:
    known = history.rows("select table_name from information_schema.tables where table_name = 'evaluation'")
    return int(history.rows("select coalesce(max(ordinal), 0) + 1 from evaluation")[0][0]) if known else 1


def enter(history: Warehouse, content: Mapping[str, Any], outcome: Outcome, scores: pa.Table) -> None:
    """Adds one evaluation's rows to the history's tables; every row carries its ordinal."""
    ordinal = content["ordinal"]
    evaluation = {key: content[key] for key in ("ordinal", "key", "began", "finished")}
    evaluation |= {"baseline": outcome.baseline, "configuration": json.dumps(content["evaluation"])}
    history.append("evaluation", pa.Table.from_pylist([evaluation]))
    tables: dict[str, list[dict[str, Any]]] = {
        "input": [dict(row) for row in content["inputs"]],
        "metric": [
            {"metric": metric.name, "hash": metric.hash, "definition": json.dumps(metric.definition)}
            for metric in outcome.metrics
        ],
        "system_summary": [dataclasses.asdict(row) for row in outcome.systems],
        "comparison": [comparison_row(row) for row in outcome.comparisons],
        "finding": [dataclasses.asdict(row) for row in outcome.findings],
    }
    for name, rows in tables.items():
        if rows:
            schema = HISTORY_SCHEMAS.get(name)
            history.append(name, pa.Table.from_pylist([{"ordinal": ordinal, **row} for row in rows], schema=schema))
    history.append("query_score", scores.add_column(0, "ordinal", pa.array([ordinal] * scores.num_rows, WHOLE)))


def comparison_row(comparison: Comparison) -> dict[str, Any]:
    """A comparison in one row: what describes it beside it, without its queries (they stand in query_score)."""
    row = dataclasses.asdict(comparison) | {"notes": "; ".join(comparison.notes)}
    described = row.pop("descriptive") or {}
    return row | {name: described.get(name) for name in DESCRIPTIVE}


DESCRIPTIVE = [field.name for field in dataclasses.fields(Descriptive) if field.name != "carriers"]
REAL, TEXT, WHOLE = pa.float64(), pa.string(), pa.int64()
COUNTS = [(name, WHOLE) for name in ("queries", "differing", "wins", "ties", "losses")]
NUMBERS = [(name, REAL) for name in ("difference", "low", "high", "p_value", "p_adjusted", "mde")]
HISTORY_SCHEMAS = {  # where a column may be all null, its type cannot be told from the rows
    "comparison": pa.schema(
        [("ordinal", WHOLE), ("baseline", TEXT), ("candidate", TEXT), ("metric", TEXT), *COUNTS, *NUMBERS]
        + [("verdict", TEXT), ("notes", TEXT), ("family", TEXT), ("family_size", WHOLE), ("procedure", TEXT)]
        + [("alpha", REAL), ("seed", WHOLE), ("resamples", WHOLE), ("exploratory", pa.bool_())]
        + [("attribute", TEXT), ("slice", TEXT), ("baseline_mean", REAL), ("smallest_effect", REAL)]
        + [("interval_method", TEXT), ("simultaneous_low", REAL), ("simultaneous_high", REAL), ("lower_bound", REAL)]
        + [("effective_queries", REAL), ("unweighted_difference", REAL)]
        + [(name, REAL) for name in DESCRIPTIVE]
    ),
    "system_summary": pa.schema(
        [("ordinal", WHOLE), ("system_id", TEXT), ("metric", TEXT), ("mean", REAL), ("median", REAL)]
        + [("queries", WHOLE), ("unanswered", WHOLE), ("judged", REAL), ("unweighted_mean", REAL)]
    ),
    "input": pa.schema(
        [("ordinal", WHOLE), ("name", TEXT), ("kind", TEXT), ("version", TEXT), ("origin", TEXT)]
        + [("rows", WHOLE), ("digest", TEXT)]
    ),
}


def read_bundle(folder: Path) -> Bundle:
    """The bundle in a folder; InputError where there is none."""
    path = folder / BUNDLE
    if not path.is_file():
        raise InputError(f"{folder}: holds no {BUNDLE}; name the folder of one evaluation")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return Bundle(
            folder=folder,
            key=content["key"],
            ordinal=content["ordinal"],
            began=datetime.fromisoformat(content["began"]),
            finished=datetime.fromisoformat(content["finished"]),
            evaluation=Evaluation(**content["evaluation"]),
            outcome=Outcome.from_dict(content["outcome"]),
            inputs=tuple(content["inputs"]),
            extremes=tuple(content["extremes"]),
        )
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"{path}: is not a bundle of this version: {type(error).__name__}: {error}") from None
