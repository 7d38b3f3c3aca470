"""Read the rows of one system from a table that holds the rankings of several systems."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.config.model.inputs.sources import FileSource
from ndcg_ab.config.options.positional import NamedFile, stem
from ndcg_ab.errors import InputError, format_value
from ndcg_ab.sources.base import Source
from ndcg_ab.sources.files.parts import local_columns
from ndcg_ab.sources.forms.plausible import field_column
from ndcg_ab.sources.tables.in_memory import column_names
from ndcg_ab.sources.tables.on_disk import read_batches
from ndcg_ab.sources.tables.schema import RANKING, Field, Layout, names_text

SYSTEM_ID = Field("system_id", required=False, blank="")
SYSTEM = Layout("system", (SYSTEM_ID,))
WITH_SYSTEM = Layout(RANKING.kind, (*RANKING.fields, SYSTEM_ID))
Make = Callable[[FileSource, Path], Source]  # makes the source of a description


def find_system_column(described: FileSource, directory: Path, make: Make) -> tuple[str | None, list[str]]:
    """Return (column, names) of a ranking: the column that names systems, and the distinct names in it.

    Return (None, []) if there is no such column, or if the ranking cannot be read. make: creates a source from its
    description.
    """
    with contextlib.suppress(InputError, OSError):  # whoever reads the ranking itself says what is wrong
        data = getattr(described.in_memory, "data", None)  # a reader without a length can be read once alone
        in_memory = described.in_memory if hasattr(data, "__len__") else None
        columns = column_names(in_memory) if in_memory else local_columns(described, directory)
        column = field_column("system_id", [name for name in columns if name not in described.columns.values()])
        if column is not None:
            one_column = described.model_copy(update={"columns": {"system_id": column}})
            values = make(one_column, directory).pull(SYSTEM, {})["system_id"].unique()
            return column, values.cast(pa.string()).to_pylist()
    return None, []


def has_several_systems(described: FileSource, directory: Path, name: str | None, make: Make) -> bool:
    """Return whether a ranking has rows of several systems.

    Raises InputError if there are several systems and none is called `name` (None: always), or if only some rows name a
    system. make: creates a source from its description.
    """
    column, systems = find_system_column(described, directory, make)
    if "" in systems and len(systems) > 1:
        rule = "name the system in each row, or in none"
        raise InputError(f"{described.display_name}: its column {format_value(column)} is empty in some rows: {rule}")
    if len(systems) > 1 and name not in systems:
        rule = f"call the system one of them, not {format_value(name)}" if name else "give the rows of each by itself"
        names = f"its column {format_value(column)} names {len(systems)} systems ({names_text(systems)})"
        raise InputError(f"{described.display_name}: {names}, and a ranking is of one system: {rule}")
    return len(systems) > 1


def rows_of_system(table: Any, name: str) -> Iterator[pa.Table]:
    """Yield the rows of one system in batches, in the columns of a ranking."""
    for batch in read_batches(table, WITH_SYSTEM.schema.names):
        yield batch.filter(pc.equal(batch["system_id"], name)).select(RANKING.schema.names)


def split_by_system(systems: Sequence[NamedFile], make: Make) -> Iterator[NamedFile]:
    """Yield the systems; an entry whose file holds several rankings is replaced by one entry per ranking.

    An entry is split only if its name is that of its file, so that the user chose no other name, and if no system in
    the file has this name. Other entries stay unchanged. make: creates a source from its description.
    """
    for each in systems:
        inside = []
        if each.name == stem(each.file) and Path(each.file).is_file():
            inside = find_system_column(FileSource(file=Path(each.file)), Path(), make)[1]
        spread = [each._replace(name=name) for name in inside if name]
        yield from spread if len(spread) > 1 and each.name not in inside else [each]
