"""Tables in which the rankings of several systems stand below each other."""

import contextlib
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from ndcg_ab.config.model.inputs.sources import FileSource
from ndcg_ab.errors import InputError, format_value
from ndcg_ab.sources.base import Source
from ndcg_ab.sources.files.guessing import local_columns
from ndcg_ab.sources.files.hints import bare_name
from ndcg_ab.sources.tables.in_memory import arrow_table, is_table
from ndcg_ab.sources.tables.schema import Field, Layout, names_text

SYSTEM_NAMES = ("system", "systemid", "systemname", "run", "runid", "runname", "runtag", "tag")
SYSTEM = Layout("system", (Field("system_id", pa.string(), required=False, blank=""),), order=("system_id",))


def refuse_several_systems(described: FileSource, directory: Path, make: Callable[[FileSource, Path], Source]) -> None:
    """Raise InputError if a column of a ranking names several systems; make: the source of a description."""
    found: list[str] = []
    column = None
    with contextlib.suppress(InputError, OSError):  # whoever reads the ranking itself says what is wrong
        data = getattr(described.given, "data", None)  # a reader without a length can be read once alone
        given = described.given if is_table(data) and hasattr(data, "__len__") else None
        columns = arrow_table(given).column_names if given else local_columns(described, directory)
        free = [name for name in columns if name not in described.columns.values()]
        column = next((name for name in free if bare_name(name) in SYSTEM_NAMES), None)
        if column is None:
            return
        alone = described.model_copy(update={"columns": {"system_id": column}})
        alone.hold(described.given)
        values = make(alone, directory).pull(SYSTEM, {})["system_id"].unique()
        found = [value for value in values.cast(pa.string()).to_pylist() if value]
    if len(found) > 1:
        raise InputError(
            f"{described.shown}: its column {format_value(column)} names {len(found)} systems ({names_text(found)}),"
            " and a ranking is of one system: give the rows of each system as a ranking of its own"
        )
