"""JSON that is one document: a list of records, or query_id -> doc_id -> number, as pytrec_eval and ranx keep it."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ndcg_ab.errors import InputError, format_value
from ndcg_ab.sources.tables.schema import Layout

IN_DOCUMENTS = {"judgment": "grade", "ranking": "score"}  # what a document's key leads to


class RepeatedKeyError(ValueError):
    """A key that comes twice in one object of JSON."""

    def __init__(self, key: object) -> None:
        super().__init__(f"key {format_value(key)} comes twice in one object: a key must come once")


def load_strictly(text: str | bytes) -> Any:
    """Return the value of a JSON text; raise RepeatedKeyError if a key comes twice in one of its objects."""
    return json.loads(text, object_pairs_hook=make_strict_object)


def make_strict_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise RepeatedKeyError(Counter(key for key, _ in pairs).most_common(1)[0][0])
    return found


DECODER = json.JSONDecoder(object_pairs_hook=make_strict_object)
BETWEEN = re.compile(r"[ \t\r\n,:]*")
Placed = Iterator[tuple[int, dict[str, Any]]]  # a line, or a place in the text, and the record that starts there


def is_document(line: str, layout: Layout) -> bool:
    """Whether a file whose first line this is holds one document, not one record on each line."""
    start = line.strip()
    if start.startswith("["):
        return True
    try:
        value = json.loads(start)
    except json.JSONDecodeError as error:
        return start.startswith("{") and error.pos >= len(start)  # the object goes on in the next line
    except (ValueError, RecursionError):
        return False
    nested = isinstance(value, dict) and len(value) > 0 and all(isinstance(each, dict) for each in value.values())
    return nested and layout.kind in IN_DOCUMENTS


def document_records(path: Path, text: str, layout: Layout, columns: Mapping[str, str]) -> Placed:
    """(line, record) of every entry; InputError names the line of what is no JSON, or no record."""
    try:
        load_strictly(text)
    except json.JSONDecodeError as error:
        where = f"{path}, line {error.lineno}"
        raise InputError(f"{where}: is not JSON ({error.msg} at character {error.colno})") from None
    except (ValueError, RecursionError) as error:  # a whole number of thousands of digits, and similar
        raise InputError(f"{path}: cannot be read as JSON: {error}") from None
    line, known = 1, 0
    for place, record in placed_records(path, text, layout, columns):
        line, known = line + text.count("\n", known, place), place
        yield line, record


def placed_records(path: Path, text: str, layout: Layout, columns: Mapping[str, str]) -> Placed:
    start = len(text) - len(text.lstrip())
    for key, place, value in read_members(text, start):
        where = f"{path}, line {1 + text.count(chr(10), 0, place)}" if not isinstance(value, dict) else str(path)
        if text[start] == "[":
            if not isinstance(value, dict):
                raise InputError(f"{where}: {format_value(value)}: every entry of the list must be a JSON object")
            yield place, value
        elif not isinstance(value, dict) or layout.kind not in IN_DOCUMENTS:
            ways = "every line must be one JSON object, or the file a list of them"
            if layout.kind in IN_DOCUMENTS:
                ways += f", or one object as {{query_id: {{doc_id: {IN_DOCUMENTS[layout.kind]}}}}}"
            raise InputError(
                f"{where}: {format_value(key)} leads to {format_value(value)}: {list_hint(value, layout) or ways}"
            )
        elif columns:
            raise InputError(f"{where}: columns cannot be mapped in JSON that leads from query_id to doc_id")
        else:
            for doc_id, inner, number in read_members(text, place):
                yield inner, {"query_id": key, "doc_id": doc_id, IN_DOCUMENTS[layout.kind]: number}


def refuse_lists(where: str, row: Mapping[str, Any], layout: Layout) -> None:
    """A record of nothing but lists is none: query_id -> list, or a list of records under a name."""
    key, value = next(iter(row.items()), ("", None))
    if all(isinstance(each, list) for each in row.values()) and (hint := list_hint(value, layout)):
        raise InputError(f"{where}: {format_value(key)} leads to {format_value(value)}: {hint}")


def list_hint(value: Any, layout: Layout) -> str:
    """How a list instead of documents and numbers is written; empty for what is none."""
    if not isinstance(value, list) or layout.kind not in IN_DOCUMENTS:
        return ""
    if value and isinstance(value[0], dict):
        return "take the list out of the object: the file holds the list alone, or one object of it on every line"
    return f"write every query as {{query_id: {{doc_id: {IN_DOCUMENTS[layout.kind]}}}}}"


def read_members(text: str, place: int) -> Iterator[tuple[str | None, int, Any]]:
    """(key, place of the value, value) of a list or an object that starts at `place` of what is known to be JSON."""
    closing = {"[": "]", "{": "}"}[text[place]]
    key = None
    place = next_sign(text, place + 1)
    while text[place] != closing:
        if closing == "}":
            key, place = DECODER.raw_decode(text, place)
            place = next_sign(text, place)
        value, end = DECODER.raw_decode(text, place)
        yield key, place, value
        place = next_sign(text, end)


def next_sign(text: str, place: int) -> int:
    """The next place that is neither white space nor a sign between values."""
    found = BETWEEN.match(text, place)
    return found.end() if found else place
