"""List the files that a `file:` key stands for: one file, the parts of one table, or copies of remote objects.

A folder of Parquet files is one table. For folders of other files, and for patterns that match several files, the
configuration must say `parts: true`, because files of two nights look alike.

A key of the content is computed without parsing it: from a digest of every byte of local files, and from the version
mark (ETag, generation) of objects in stores. Web servers, databases, search engines and functions have no such key.
"""

import contextlib
import dataclasses
import hashlib
import json
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from ndcg_ab.config.loading.templates import SHOWN, WILD, matching_files
from ndcg_ab.config.model.inputs.connections import safe_address
from ndcg_ab.config.model.inputs.sources import FORMATS, FileSource
from ndcg_ab.errors import InputError
from ndcg_ab.files import name_path_in_errors
from ndcg_ab.sources.files.stores import ObjectStore, Store, open_store, storage_kind
from ndcg_ab.sources.files.unpacking import folder_hint
from ndcg_ab.sources.forms.recognition import format_by_name
from ndcg_ab.sources.forms.sample import Sample
from ndcg_ab.sources.tables.schema import Layout
from ndcg_ab.temporary import ALONE, temporary_folder

MOST_PARTS = 100_000  # files of one table; looking through a whole disk takes minutes
NO_PARTITION = "__HIVE_DEFAULT_PARTITION__"


@dataclasses.dataclass(frozen=True)
class Part:
    """One local file to read, which may be the downloaded copy of an object.

    Attributes
    ----------
    path : Path
        Path of the file or copy.
    name : str
        Path or address of the original, for messages.
    values : mapping of str to (str or None)
        Column -> value, from the names of folders such as day=2026-11-20. None is a missing value.
    """

    path: Path
    name: str
    values: Mapping[str, str | None] = dataclasses.field(default_factory=dict)


@contextlib.contextmanager
def list_parts(described: FileSource, directory: Path) -> Iterator[list[Part]]:
    """Yield the list of files to read; downloaded copies are in a temporary folder that is removed afterwards.

    Raises InputError if there are no files in a folder or for a pattern, or if several files are not parts of one
    table.
    """
    if not isinstance(described.file, str):
        yield local_parts(described, described.file, directory)
        return
    store = open_store(described, directory)
    with temporary_folder() as folder:
        parts = []
        for index, name in enumerate(object_names(store, described)):
            path = folder / f"object{index}" / (Path(name).name or "object")
            path.parent.mkdir(mode=ALONE)
            store.fetch(name, path)
            parts.append(Part(path, store.address_of(name), partition_values(Path(name))))
        yield parts


def local_parts(described: FileSource, file: Path, directory: Path) -> list[Part]:
    path = file if file.is_absolute() else directory / file
    if path.is_dir():
        # hidden files, and marks such as _SUCCESS, are none
        names = [each.relative_to(path) for each in sorted(files_below(path))]
        if not names:
            raise InputError(f"{path}: is not a file, and there is none in the folder")
        if not described.parts and not are_parquet(described, names):
            advice = f"; or, if all of them are parts of one table, NAME={path} (in a configuration parts: true)"
            raise InputError(f"{path}: is not a file{folder_hint(path)}{advice}")
        return [Part(path / each, str(path / each), partition_values(each)) for each in names]
    if described.parts and WILD.search(str(file)) and not path.exists():
        paths = matching_files(file, directory)
        if not paths:
            raise InputError(f"{path}: no file matches it")
        return [Part(directory / each, str(directory / each), partition_values(each)) for each in paths]
    return [Part(path, str(path))]


def local_columns(described: Any, directory: Path) -> Sequence[str]:
    """Return the column names of a table in local files, read from the first file.

    Columns from the names of folders, such as day=2026-11-20, come first. The result is empty if the source is not
    local or the file does not exist.
    """
    file = getattr(described, "file", None)
    if not isinstance(file, Path) or not ((directory / file).exists() or described.parts):
        return ()
    first = local_parts(described, file, directory)[0]
    return [*first.values, *Sample.of_file(first.path).column_names]


def files_below(path: Path) -> list[Path]:
    """Return the files in and below a folder, without hidden ones.

    Raise InputError if there are too many for one table.
    """
    paths: list[Path] = []
    for folder, below, files in os.walk(path):
        below[:] = [name for name in below if is_data(Path(name))]
        paths += [Path(folder, name) for name in files if is_data(Path(name)) and Path(folder, name).is_file()]
        if len(paths) > MOST_PARTS:
            raise InputError(f"{path}: is a folder of more than {MOST_PARTS:,} files: name the one that is meant")
    return paths


def is_data(name: Path) -> bool:
    """Return whether a path leads to data, and not to a hidden file or a marker such as _SUCCESS.

    No part of the path of data begins with ``.`` or ``_``.
    """
    return not any(part.startswith((".", "_")) for part in name.parts)


def partition_values(name: Path) -> dict[str, str | None]:
    """Return column -> value from the folder names of a path: {"day": "2026-11-20"} for day=2026-11-20/part-0.parquet.

    The value is None for the name that Hive gives to a missing value.
    """
    pairs = (part.partition("=") for part in name.parts[:-1] if re.match(r"[^=]+=", part))
    return {unquote(key): None if value == NO_PARTITION else unquote(value) for key, _, value in pairs}


def object_names(store: Store, described: FileSource) -> list[str]:
    """Return the paths of the objects in a store that an address, a folder or a pattern stands for.

    Raises InputError if there is no such object, or if there are several that are not parts of one table.
    """
    is_pattern = WILD.search(store.path) is not None
    if not isinstance(store, ObjectStore) or (not is_pattern and store.has(store.path)):
        return [store.path]
    if is_pattern:
        fixed = re.split(r"[*?\[]", store.path)[0].rpartition("/")[0]
        names = [name for name in store.below(fixed) if Path(name).match(store.path)]
    else:
        below = store.below(store.path)
        names = [name for name in below if is_data(Path(name.removeprefix(store.path).lstrip("/")))]
    if not names:
        rule = "no object matches it" if is_pattern else "there is no such object: see the bucket and the path"
        raise InputError(f"{store.shown}: {rule}")
    if len(names) > 1 and not described.parts and (is_pattern or not are_parquet(described, names)):
        examples = ", ".join(name.rpartition("/")[2] for name in names[:SHOWN]) + (", …" if len(names) > SHOWN else "")
        rule = "one is needed: name it, or say parts: true if they are parts of one table"
        raise InputError(f"{store.shown}: {len(names)} objects match it ({examples}); {rule}")
    return names


def are_parquet(described: FileSource, names: Iterable[str | Path]) -> bool:
    """Return whether files are read as Parquet, by the configured format or by their names."""
    return described.format == "parquet" or all(FORMATS.get(Path(name).suffix.lower()) == "parquet" for name in names)


@contextlib.contextmanager
def name_part_in_errors(part: Part) -> Iterator[None]:
    """Replace the path of a downloaded copy by the address of the original in each InputError raised in the block."""
    try:
        yield
    except InputError as error:
        if str(part.path) == part.name:
            raise
        address, copy_path = safe_address(part.name), re.escape(shlex.quote(str(part.path)))
        fetch = f"curl -Lo COPY {shlex.quote(address)} && " if storage_kind(address) == "web server" else "of a copy: "
        message = re.sub(
            rf"\b([gb]?un[lxz]\w+(?: -c <| -p)?) {copy_path}", lambda match: f"{fetch}{match[1]} COPY", str(error)
        )
        raise type(error)(message.replace(str(part.path), address)) from None


READING = 4  # to be raised with every change of how bytes become rows


@dataclass(frozen=True)
class Content:
    """A digest that identifies the content of a source and how it is read.

    Attributes
    ----------
    key : str
        The digest, 32 hex digits.
    locations : tuple of str
        The paths or addresses of the files.
    """

    key: str
    locations: tuple[str, ...]


def read_content_key(described: Any, layout: Layout, directory: Path, program: str) -> Content | None:
    """Return a digest of a source's current content and of how it is read, or None if none can be computed.

    The content is identified by all bytes of local files, or by the version marks (etag, generation) of stored objects.
    None is returned for objects without a mark, web servers, data in memory and sources that are not files. program:
    the version of the program. Raises InputError and OSError for files that are missing or cannot be read.
    """
    if not isinstance(described, FileSource) or described.in_memory is not None:
        return None
    if isinstance(described.file, str):
        store = open_store(described, directory)
        names = object_names(store, described)
        found = [(store.address_of(name), partition_values(Path(name)), store.version_mark(name)) for name in names]
    else:
        files = local_parts(described, described.file, directory)
        found = [(part.name, dict(part.values), digest_of_file(part.path)) for part in files]
    if not all(mark for _, _, mark in found):
        return None
    parts = [(format_by_name(Path(location)), values, mark) for location, values, mark in found]
    kind = [layout.kind, layout.words, *([field.name, str(field.type)] for field in layout.fields)]
    how = [READING, program, pa.__version__, kind, described.format, described.columns, described.parts]
    text = json.dumps([how, parts], sort_keys=True)
    return Content(hashlib.sha256(text.encode()).hexdigest()[:32], tuple(location for location, _, _ in found))


def digest_of_file(path: Path) -> str:
    """Return the SHA-256 of the bytes of a file, as hex digits."""
    with name_path_in_errors(path), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
