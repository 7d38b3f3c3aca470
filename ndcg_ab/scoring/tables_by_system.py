"""Tables read once, and looked at system by system: what Python makes of a row is there for one system at a time."""

import contextlib
import gc
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ndcg_ab.engines.base import Engine, Value


def read_by_system(
    engine: Engine, name: str, columns: Sequence[str], where: Mapping[str, Value] | None = None
) -> dict[str, pa.Table]:
    """system_id -> its rows of a table, in any order; systems without rows are not there."""
    table = engine.read(name, ("system_id", *columns), where=where)
    codes, system_ids = number_ids(table["system_id"])
    order = np.argsort(codes, kind="stable")
    codes = codes[order]
    rows = table.select(columns).combine_chunks().take(pa.array(order))
    edges = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist(), len(codes)]
    return {
        system_ids[int(codes[start])]: rows.slice(start, end - start)
        for start, end in pairwise(edges if len(codes) else ())
    }


def rows_of(tables: Mapping[str, pa.Table], system_id: str) -> list[tuple[Any, ...]]:
    """A system's rows as Python's objects."""
    table = tables.get(system_id)
    return [] if table is None else list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def number_ids(ids: pa.ChunkedArray) -> tuple[NDArray[np.int32], list[str]]:
    """A number for every id, and the ids that the numbers stand for."""
    whole = ids.unify_dictionaries().combine_chunks()
    encoded = whole if pa.types.is_dictionary(whole.type) else whole.dictionary_encode()
    return encoded.indices.to_numpy().astype(np.int32), encoded.dictionary.to_pylist()


@contextlib.contextmanager
def paused_garbage_collection() -> Iterator[None]:
    """Stops Python's search for circles of objects meanwhile: there are none, and looking costs more than the work."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
