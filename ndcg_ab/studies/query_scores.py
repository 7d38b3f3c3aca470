"""Read per-query values, as `compare --per-query` and bundles write them, for `ndcg-ab power`."""

from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.config.model.inputs.sources import ScoresSource
from ndcg_ab.errors import InputError, format_value, shorten
from ndcg_ab.sources import external_scores
from ndcg_ab.sources.external_scores import LARGEST, SCORE
from ndcg_core.measures.external_metric import canonical_name


class Scores(NamedTuple):
    """The values of several systems and metrics by query.

    path: path of the file, or name of the argument. values: (system_id, metric) -> query_id -> value; metrics have
    canonical names.
    """

    path: Path
    values: dict[tuple[str, str], dict[str, float]]

    @property
    def systems(self) -> list[str]:
        """Return the systems in the order of the file."""
        return list(dict.fromkeys(system for system, _ in self.values))

    @property
    def metrics(self) -> list[str]:
        return list(dict.fromkeys(metric for _, metric in self.values))


def read_scores(path: Path) -> Scores:
    """Read a file of per-query values; raise InputError for a missing, repeated or non-numeric value.

    Rows with means are left out.
    """
    table = external_scores.Scores(ScoresSource(file=path), Path()).read_all()
    return parse_scores(table.filter(pc.invert(table["is_mean"])), path)


def parse_scores(table: pa.Table, path: Path) -> Scores:
    """Convert a table with the columns of SCORE to values by system, metric and query.

    path: the file that messages name. Raises InputError for a repeated or too large value, or two definitions of a
    metric.
    """
    columns = [table[field.name].to_pylist() for field in SCORE.fields]
    spelt = {text: canonical_name(text) for text in set(columns[2])}
    values: dict[tuple[str, str], dict[str, float]] = {}
    hashes: dict[str, str | None] = {}
    for row, (system, query, text, value, metric_hash) in enumerate(zip(*columns, strict=True), start=1):
        metric = spelt[text]
        queries = values.setdefault((system, metric), {})
        problem = None
        if query in queries:
            problem = "is here a second time; it must come once"
        elif abs(value) > LARGEST:
            problem = f"is {value:g}; must be from {-LARGEST:g} to {LARGEST:g}"
        elif hashes.setdefault(metric, metric_hash) != metric_hash:
            problem = f"has metric_hash {metric_hash}, rows before it {hashes[metric]}; one definition is needed"
        if problem:
            where = f"{path}, row {row} (without the header)"
            raise InputError(
                f"{where}: {shorten(metric)} of system {format_value(system)} on query {format_value(query)} {problem}"
            )
        queries[query] = value
    return Scores(path, values)
