"""Judgments, rankings and tables as files, and evaluations of them, as small tests need them."""

import contextlib
import csv
import gzip
import io
import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as papq

from ndcg_ab.config.model.evaluation import Evaluation

Grades = Mapping[str, Mapping[str, object]]
Ranking = Mapping[str, Iterable[str] | Mapping[str, float]]


def write_table(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Write rows in the format of the suffix (csv, tsv, jsonl, json, parquet; .gz packs it), and return the path."""
    kind = Path(path.name.removesuffix(".gz")).suffix
    if kind == ".parquet":
        papq.write_table(pa.Table.from_pylist([*rows]), path)
        return path
    text = io.StringIO()
    if kind in (".csv", ".tsv"):
        writer = csv.writer(text, delimiter="," if kind == ".csv" else "\t", lineterminator="\n")
        writer.writerows([rows[0].keys(), *(row.values() for row in rows)])
    elif kind == ".jsonl":
        text.writelines(f"{json.dumps(row)}\n" for row in rows)
    else:
        json.dump(rows, text)
    content = text.getvalue().encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def write_database(path: Path, rows: Sequence[Mapping[str, Any]], table: str = "hit") -> Path:
    """Write rows to a table of a new database, DuckDB's by its suffix or SQLite's, and return the path."""
    if path.suffix == ".duckdb":
        with duckdb.connect(path) as database:
            database.register("rows_of_table", pa.Table.from_pylist([*rows]))
            database.execute(f"create table {table} as select * from rows_of_table")
        return path
    with contextlib.closing(sqlite3.connect(path)) as opened, opened:
        opened.execute(f"create table {table} ({', '.join(rows[0])})")
        places = ", ".join("?" * len(rows[0]))
        opened.executemany(f"insert into {table} values ({places})", [tuple(row.values()) for row in rows])
    return path


def write_judgments(path: Path, grades: Grades) -> Path:
    """Write the grade of each document by query, and return the path."""
    lines = [f"{query} 0 {doc} {grade}\n" for query, judged in grades.items() for doc, grade in judged.items()]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def write_rankings(folder: Path, rankings: Mapping[str, Ranking]) -> Path:
    """Write a file NAME.run for each system, and return the folder.

    rankings: name -> query -> scores of documents in the order of their ranks, or documents alone, best first.
    """
    for name, ranking in rankings.items():
        lines = [
            f"{query} Q0 {doc} {rank} {docs[doc] if isinstance(docs, Mapping) else 1000 - rank} {name}\n"
            for query, docs in ranking.items()
            for rank, doc in enumerate(docs, start=1)
        ]
        (folder / f"{name}.run").write_text("".join(lines), encoding="utf-8")
    return folder


def write_evaluation(folder: Path, grades: Grades, rankings: Mapping[str, Ranking], **keys: Any) -> Evaluation:
    """Write judgments and rankings to a folder, and return an evaluation of them with further keys."""
    write_judgments(folder / "qrels", grades)
    write_rankings(folder, rankings)
    systems = [{"name": name, "file": f"{name}.run"} for name in rankings]
    content: dict[str, Any] = {"name": "small", "directory": folder, "judgments": {"file": "qrels"}, "systems": systems}
    return Evaluation.model_validate(content | {"statistics": {"resamples": 100}} | keys)
