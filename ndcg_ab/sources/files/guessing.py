"""What a file seems to hold, from its name and its first line: judgments, a ranking or queries, in which columns."""

import csv
import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ndcg_ab.errors import InputError
from ndcg_ab.sources.files.file import format_by_name
from ndcg_ab.sources.files.hints import SYNONYMS, bare_name
from ndcg_ab.sources.files.parts import local_parts
from ndcg_ab.sources.files.records import open_parquet
from ndcg_ab.sources.files.unpacking import open_bytes
from ndcg_ab.sources.tables.schema import names_text

JUDGMENTS, RANKING, QUERIES = "judgments", "ranking", "queries"
NAMES = {**SYNONYMS, "text": ("text", "querytext", "query", "question")}  # field -> other names that files have for it
FIELDS = {  # kind -> the fields that such a file has
    JUDGMENTS: ("query_id", "doc_id", "grade"),
    RANKING: ("query_id", "doc_id", "score", "rank"),
    QUERIES: ("query_id", "text"),
}
BEIR = {"query-id", "corpus-id", "score"}  # judgments, whose grade is called score there
TREC_FIELDS = {4: JUDGMENTS, 6: RANKING}
DELIMITERS = {"\t": "tsv", ",": "csv"}
LONGEST_LINE = 1 << 20


@dataclasses.dataclass(frozen=True)
class Guess:
    """What a file seems to hold.

    kind: judgments, ranking or queries. format: where the name does not tell it. columns: field -> column where names
    differ.
    """

    path: Path
    kind: str
    format: str | None
    columns: dict[str, str]


def guess_content(path: Path, kind: str | None = None) -> Guess:
    """What a file holds; kind: what it is said to be. InputError where its first line tells nothing."""
    found = format_by_name(path)
    if not path.exists():
        raise InputError(f"{path}: there is no such file")
    if path.is_dir():
        raise InputError(f"{path}: is not a file")
    if found == "trec":
        line = first_line(path, is_trec=True)
        if (other := guess_delimited(line)) is None:
            return Guess(path, kind or trec_kind(path, line), None, {})
        found = other
    names = column_names(path, found)
    kind = kind or kind_by_columns(path, names)
    return Guess(path, kind, found if found != format_by_name(path) else None, match_columns(names, kind))


def column_names(path: Path, file_format: str) -> Sequence[str]:
    """The columns of a file that is no TREC: of its head, its schema, or the first object in it."""
    if file_format == "parquet":
        with open_parquet(path) as file:
            found: Sequence[str] = file.schema_arrow.names
            return found
    line = first_line(path)
    return first_object_keys(line) if file_format == "jsonl" else split_cells(line, delimiter_for(file_format))


def local_columns(described: Any, directory: Path) -> Sequence[str]:
    """Return the columns of a table in files of this machine, by the first of its parts; of other places none."""
    place = getattr(described, "file", None)
    if not isinstance(place, Path) or not ((directory / place).exists() or described.parts):
        return ()
    first = local_parts(described, place, directory)[0]
    file_format = described.format or format_by_name(first.path)
    return [*first.values, *(() if file_format == "trec" else column_names(first.path, file_format))]


def first_line(path: Path, *, is_trec: bool = False) -> str:
    """Return the first line that is not empty; is_trec: and no comment, which has not the fields of a row."""
    try:
        with open_bytes(path) as file:
            while line := file.readline(LONGEST_LINE):
                is_comment = is_trec and line.startswith(b"#") and len(line.split()) not in TREC_FIELDS
                if line.strip() and not is_comment:
                    return line.decode("utf-8-sig", errors="replace").strip("\r\n")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {' '.join(str(error).split())}") from None
    raise InputError(f"{path}: the file is empty")


def delimiter_for(file_format: str) -> str:
    return next(delimiter for delimiter, name in DELIMITERS.items() if name == file_format)


def split_cells(line: str, delimiter: str) -> list[str]:
    """The fields of a line; none where it is no line of CSV."""
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []


def guess_delimited(line: str) -> str | None:
    """csv or tsv where a line is a head with names of ours, whatever the file is called."""
    for delimiter, name in DELIMITERS.items():
        cells = split_cells(line, delimiter)
        if len(cells) > 1 and field_column("query_id", cells):
            return name
    return None


def trec_kind(path: Path, line: str) -> str:
    count = len(line.split())
    if count not in TREC_FIELDS:
        raise InputError(
            f"{path}: the first line has {count} fields: judgments have 4, rankings 6; a file with a head of names is"
            " called .csv, .tsv or .jsonl"
        )
    return TREC_FIELDS[count]


def first_object_keys(line: str) -> Sequence[str]:
    """The keys of the first object in a line of JSON."""
    try:
        found: Any = json.loads(line.strip().lstrip("[").rstrip(",]"))
    except (ValueError, RecursionError):
        return ()
    return list(found) if isinstance(found, dict) else ()


def kind_by_columns(path: Path, names: Sequence[str]) -> str:
    has = {field for field in NAMES if field_column(field, names)}
    if {name.lower() for name in names} >= BEIR or {"query_id", "doc_id", "grade"} <= has:
        return JUDGMENTS
    if {"query_id", "doc_id"} <= has and has & {"score", "rank"}:
        return RANKING
    others = [name for name in names if name != field_column("query_id", names)]
    is_text_there = "doc_id" not in has or field_column("text", others) is not None
    if "query_id" in has and is_text_there and not has & {"score", "rank", "grade"}:
        return QUERIES
    raise InputError(
        f"{path}: the columns ({names_text(names)}) are those of neither judgments (query_id, doc_id, grade)"
        " nor a ranking (query_id, doc_id, score or rank) nor queries (query_id, text): give its columns these names"
    )


def match_columns(names: Sequence[str], kind: str) -> dict[str, str]:
    """field -> column, for the fields whose column has another name."""
    found: dict[str, str] = {}
    for field in FIELDS[kind]:
        column = field_column(field, [name for name in names if name not in found.values()])
        if column is None and field == "grade" and "score" in names:
            column = "score"
        if column is not None and column != field:
            found[field] = column
    return found


def field_column(field: str, names: Sequence[str]) -> str | None:
    """The column of a field: of its own name, else of one of its other names."""
    by_bare = {bare_name(name): name for name in reversed(names)}
    return field if field in names else next((by_bare[name] for name in NAMES[field] if name in by_bare), None)
