"""The small data as they are given from Python, and the same in files."""

from collections.abc import Callable, Mapping
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa

from tests.paths import DATA

JUDGMENTS = str(DATA / "judgments.qrels")
SYSTEMS = {name: str(DATA / f"{name}.run") for name in ("old", "new")}
QUERIES = str(DATA / "queries.tsv")


def judgment_frame() -> pd.DataFrame:
    names = ["query_id", "unused", "doc_id", "grade"]
    return pd.read_csv(JUDGMENTS, sep=r"\s+", names=names, dtype={"query_id": str, "doc_id": str})


def ranking_frame(name: str) -> pd.DataFrame:
    names = ["query_id", "Q0", "doc_id", "rank", "score", "tag"]
    return pd.read_csv(SYSTEMS[name], sep=r"\s+", names=names, dtype={"query_id": str, "doc_id": str})


def query_frame() -> pd.DataFrame:
    return pd.read_csv(QUERIES, sep="\t", dtype=str, keep_default_na=False).astype({"weight": float})


def dictionaries(frame: pd.DataFrame, value: str) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for row in frame.itertuples():
        found.setdefault(row.query_id, {})[row.doc_id] = getattr(row, value)
    return found


def relation(frame: pd.DataFrame) -> Any:
    return duckdb.connect().from_arrow(pa.table(frame))


TABLES: Mapping[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "pandas with an index": lambda frame: frame.set_index("query_id"),
    "pandas with categories": lambda frame: frame.astype({"query_id": "category"}),
    "polars": lambda frame: pl.from_pandas(frame),
    "pyarrow": pa.table,
    "pyarrow in batches": lambda frame: pa.table(frame).to_batches(max_chunksize=7)[0].from_pandas(frame),
    "pyarrow reader": lambda frame: pa.table(frame).to_reader(max_chunksize=7),
    "DuckDB": relation,
}
