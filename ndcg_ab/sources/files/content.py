"""What the content of a source is, told without reading it: whether it is the one that was read before.

Of files every byte is digested, for a date and a size prove nothing; of objects the mark that their store gives each
content (ETag, generation) is believed.  Web servers, databases, search engines and functions tell nothing before they
are asked.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from ndcg_ab.config.model.inputs.sources import FileSource
from ndcg_ab.files import named
from ndcg_ab.sources.files.parts import local_parts, object_names, partition_values
from ndcg_ab.sources.files.stores import ObjectStore, open_store
from ndcg_ab.sources.forms.recognition import format_by_name
from ndcg_ab.sources.tables.schema import Layout

READING = 2  # to be raised with every change of how bytes become rows


@dataclass(frozen=True)
class Content:
    """key: of the content together with all that decides how it is read.  places: where it is, for messages."""

    key: str
    places: tuple[str, ...]


def read_content_key(described: Any, layout: Layout, directory: Path, program: str) -> Content | None:
    """The content of a source now; None where only its answer tells it.

    program: the version that reads it.  Raises InputError and OSError for what is not there or cannot be read.
    """
    if not isinstance(described, FileSource) or described.given is not None:
        return None
    if isinstance(described.file, str):
        found = object_marks(described, directory)
    else:
        found = [
            (part.name, dict(part.values), digest_of_file(part.path))
            for part in local_parts(described, described.file, directory)
        ]
    if found is None:
        return None
    places = tuple(place for place, _, _ in found)
    parts = [[format_by_name(Path(place)), values, mark] for place, values, mark in found]
    kind = [layout.kind, layout.order, layout.words, *([field.name, str(field.type)] for field in layout.fields)]
    how = [READING, program, pa.__version__, kind, described.format, described.columns, described.parts]
    text = json.dumps([how, parts], sort_keys=True)
    return Content(hashlib.sha256(text.encode()).hexdigest()[:32], places)


def digest_of_file(path: Path) -> str:
    """SHA-256 of the bytes: a gigabyte a second."""
    with named(path), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def object_marks(described: FileSource, directory: Path) -> list[tuple[str, dict[str, str | None], str]] | None:
    """Return the address, the partition values and the store's mark of each object; None if one has no mark."""
    store = open_store(described, directory)
    if not isinstance(store, ObjectStore):
        return None
    found = []
    for name in object_names(store, described):
        mark = store.mark(name)
        if mark is None:
            return None
        found.append((store.address_of(name), partition_values(Path(name)), mark))
    return found or None
