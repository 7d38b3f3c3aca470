"""Readers of files as tests call them: by the form of a file, or by a format that is told."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ndcg_ab.config.model.inputs.sources import DatabaseSource, FileSource
from ndcg_ab.errors import InputError
from ndcg_ab.sources.base import PullRequest, Source
from ndcg_ab.sources.fast_reader.reduce import reduce_file
from ndcg_ab.sources.files.file import read_file, refuse_unreadable_file
from ndcg_ab.sources.files.records import read_rows
from ndcg_ab.sources.forms.form import Reading
from ndcg_ab.sources.forms.recognition import choose_reading
from ndcg_ab.sources.forms.sample import Sample
from ndcg_ab.sources.registry import make_source
from ndcg_ab.sources.tables.schema import RANKING, Layout


def reading_of(path: Path, kind: str, told: str | None = None, columns: Mapping[str, str] | None = None) -> Reading:
    found = choose_reading(Sample.of_file(path, columns), kind, told)
    return dataclasses.replace(found, columns={**found.columns, **(columns or {})})


def read_table(path: Path, layout: Layout, told: str | None = None, columns: Mapping[str, str] | None = None) -> Any:
    refuse_unreadable_file(path)
    return read_file(path, layout, reading_of(path, layout.kind, told, columns))


def read_carefully(
    path: Path, layout: Layout, told: str | None = None, columns: Mapping[str, str] | None = None
) -> Any:
    return read_rows(path, layout, reading_of(path, layout.kind, told, columns))


def reduce_ranking(
    path: Path, told: str | None = None, columns: Mapping[str, str] | None = None, *more: Any, **named: Any
) -> Any:
    """None where the file cannot be unpacked, which its reader says."""
    try:
        reading = reading_of(path, "ranking", told, columns)
    except InputError:
        return None
    return reduce_file(path, reading, *more, **named)


def read_ranking(path: Path) -> list[dict[str, Any]]:
    """Return the query, document and score of each result of a file, or of the table `hit` of a database."""
    if path.suffix in (".db", ".sqlite", ".duckdb"):
        select = "select query_id, doc_id, score from hit order by rowid"
        described: Any = DatabaseSource.model_validate({"database": str(path), "query": select})
    else:
        described = FileSource.model_validate({"file": path})
    return results_of(make_source(described, path.parent))


def results_of(source: Source) -> list[dict[str, Any]]:
    table = source.answer(RANKING, PullRequest({})).table
    results: list[dict[str, Any]] = table.select(["query_id", "doc_id", "score"]).to_pylist()
    return results
