"""Per-query values that `ndcg-ab power` plans with: `compare --per-query` and the bundles write them."""

from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from ndcg_ab.errors import InputError
from ndcg_ab.sources.files import format_of, read_file
from ndcg_ab.sources.hints import in_options
from ndcg_ab.sources.schema import Field, Layout, SayColumns, few, shown
from ndcg_core.measures.metric import MetricError
from ndcg_core.measures.notation import parse

LARGEST = 1e100  # no value of a metric is larger, and its square is still a number


class ScoresLayout(Layout):
    """The columns of per-query values; they have no other names."""

    def check_columns(
        self, where: str, found: list[str], columns: dict[str, str], say: SayColumns = in_options
    ) -> dict[str, str]:
        missing = [field.name for field in self.fields if field.required and field.name not in found]
        if missing:
            raise InputError(
                f"{where}: there is no column {missing[0]!r} (columns: {few(found)}); per-query values"
                " have system_id, query_id, metric and value, as `ndcg-ab compare --per-query FILE` writes them"
            )
        return super().check_columns(where, found, columns, say)


LAYOUT = ScoresLayout(
    "value",
    (
        *(Field(name, pa.string()) for name in ("system_id", "query_id", "metric")),
        Field("value", pa.float64()),
        Field("metric_hash", pa.string(), required=False),
    ),
)


class Scores(NamedTuple):
    """Per-query values, (system_id, metric) -> query_id -> value; metrics by their canonical names.

    path: of their file, or the name of the argument that they were given as.
    """

    path: Path
    values: dict[tuple[str, str], dict[str, float]]

    @property
    def systems(self) -> list[str]:
        """In the order of the file."""
        return list(dict.fromkeys(system for system, _ in self.values))

    @property
    def metrics(self) -> list[str]:
        return list(dict.fromkeys(metric for _, metric in self.values))


def read_scores(path: Path) -> Scores:
    """CSV or Parquet by the name; InputError on what is missing, is no number, stands twice or is defined twice."""
    return scores_of(read_file(path, LAYOUT, "parquet" if format_of(path) == "parquet" else "csv", {}), path)


def scores_of(table: pa.Table, path: Path) -> Scores:
    """The values in a table of LAYOUT; InputError as for `read_scores`."""
    columns = [table[field.name].to_pylist() for field in LAYOUT.fields]
    spelt = {text: canonical(text) for text in set(columns[2])}
    values: dict[tuple[str, str], dict[str, float]] = {}
    hashes: dict[str, str | None] = {}
    for row, (system, query, text, value, metric_hash) in enumerate(zip(*columns, strict=True), start=1):
        metric = spelt[text]
        queries = values.setdefault((system, metric), {})
        problem = None
        if query in queries:
            problem = "stands here again; it must stand once"
        elif abs(value) > LARGEST:
            problem = f"is {value:g}; must be from {-LARGEST:g} to {LARGEST:g}"
        elif hashes.setdefault(metric, metric_hash) != metric_hash:
            problem = f"has metric_hash {metric_hash}, rows before it {hashes[metric]}; one definition is needed"
        if problem:
            where = f"{path}, row {row} (without the header)"
            raise InputError(f"{where}: {metric} of system {shown(system)} on query {shown(query)} {problem}")
        queries[query] = value
    return Scores(path, values)


def canonical(text: str) -> str:
    """The metric's canonical name; a file may hold measures that are not ours, and they keep their names."""
    try:
        return parse(text).name
    except MetricError:
        return text
