"""Read per-query metric values that another tool computed, such as the output of trec_eval or ir_measures."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.config.model.inputs.sources import ScoresSource
from ndcg_ab.errors import InputError, format_value, shorten
from ndcg_ab.extensions import translate_foreign_errors
from ndcg_ab.files import name_path_in_errors
from ndcg_ab.sources.base import Source, join_locations
from ndcg_ab.sources.files.file import read_file, refuse_unreadable_file
from ndcg_ab.sources.files.records import prefix_errors, read_records, records_table
from ndcg_ab.sources.forms.form import SCORES, Reading, Records
from ndcg_ab.sources.forms.nested import SCORES_READING, read_metric_values
from ndcg_ab.sources.forms.plausible import is_plain_number
from ndcg_ab.sources.forms.recognition import plain_reading, recognise
from ndcg_ab.sources.forms.sample import Sample
from ndcg_ab.sources.forms.tables import ALL, FORMATS, LINES, ONE_METRIC, ValueColumns, find_value_columns
from ndcg_ab.sources.tables.in_memory import column_names, python_number, read_in_memory, refuse_duplicate_keys
from ndcg_ab.sources.tables.schema import QUERY_ID, Field, Layout
from ndcg_core.measures.notation import canonical_name

LARGEST = 1e100  # no value of a metric is larger, and its square is still a number


IDS = (Field("system_id"), QUERY_ID, Field("metric", other="measure"))
VALUE, HASH = Field("value", pa.float64()), Field("metric_hash", required=False)
SCORE = Layout("value", (*IDS, VALUE, HASH))
ONE_SYSTEM = Layout("value", (*IDS[1:], VALUE, HASH))
KEY = ["system_id", "metric", "query_id", "is_mean"]
# is_mean: it is the tool's own mean over queries
PULLED = Layout("value", (*SCORE.fields, Field("is_mean", pa.bool_())))
READINGS = {**FORMATS, "pytrec_eval": SCORES_READING}  # that have no columns


class Scores(Source):
    """A source of per-query values, in a file or given as an argument."""

    limits_key = "file"

    def __init__(self, described: ScoresSource, directory: Path) -> None:
        self.described = described
        self.path = described.file if described.file.is_absolute() else directory / described.file
        self.origin = described.in_memory.argument if described.in_memory else str(self.path)
        self.reading: Any = None  # how a file is read

    def pull(self, layout: Layout, queries: Mapping[str, str]) -> pa.Table:
        data = self.described.in_memory
        with translate_foreign_errors(f"{self.origin}: cannot be read") if data else name_path_in_errors(self.path):
            table = self.read_all()
        for row in table.filter(pc.greater(pc.abs(table["value"]), LARGEST)).slice(0, 1).to_pylist():
            system, query = format_value(row["system_id"]), format_value(row["query_id"])
            raise InputError(
                f"{self.origin}: {format_value(row['metric'])} of system {system} on query {query} is"
                f" {row['value']:g}; must be from {-LARGEST:g} to {LARGEST:g}"
            )
        return table

    # ---- files and data in memory

    def read_all(self) -> pa.Table:
        data = self.described.in_memory
        if data is None:
            refuse_unreadable_file(self.path)
            self.reading = self.choose_reading()
        has_records = isinstance(data.data, Mapping) if data else self.reading.records is not None
        return self.from_records() if has_records else self.from_table()

    def read(self, layout: Layout, columns: Mapping[str, str]) -> pa.Table:
        """Return the values in the columns of a layout; columns: field -> column of the input."""
        data = self.described.in_memory
        if data is None:
            return read_file(self.path, layout, dataclasses.replace(self.reading, columns=columns))
        if isinstance(data.data, Mapping):
            refuse_duplicate_keys(data)
            return records_table(self.records_of(data.data), layout)
        return read_in_memory(data, layout, dict(columns))

    def records_of(self, values: Mapping[Any, Any]) -> Records:
        """Yield (location, {field: value}) for each value in {query: {measure: value}}."""
        with prefix_errors(self.origin):
            for where, record in read_metric_values(values):
                yield f"{self.origin}, {where}", record | {"value": python_number(record["value"])}

    def locate_value(self, values: Mapping[str, str]) -> str:
        """Return the location of a value, for messages; values: field -> id."""
        data = self.described.in_memory
        if data is None:
            layout = Layout("value", tuple(field for field in IDS if field.name in values))
            reading = dataclasses.replace(self.reading, columns=self.described.columns)
            return f"{self.path}, {locate_record(read_records(self.path, layout, reading), values)}"
        return locate_record(self.records_of(data.data), values) if isinstance(data.data, Mapping) else self.origin

    def choose_reading(self) -> Reading:
        """Return the `Reading` of the file, by the configured format, else by its content, else by its name."""
        form, sample = self.described.format, Sample.of_file(self.path, self.described.columns)
        if form in READINGS:
            return READINGS[form]
        plain = plain_reading(sample, SCORE.kind, form)
        recognised = None if form else recognise(sample, SCORES)
        last = (sample.lines[0].split() if sample.lines else [""])[-1]  # a header ends in no number
        is_lines = plain.format == "trec" or (form is None and plain.delimiter == "\t" and is_plain_number(last))
        return recognised or (LINES if is_lines else plain)

    # ---- as a table

    def from_table(self) -> pa.Table:
        """Return a table of values in the columns of PULLED, from data with named columns.

        JSON Lines may have rows with means over all queries, which ir_measures writes. Raise InputError if a value is
        repeated, if columns do not fit, or if the system is unknown.
        """
        data = self.described.in_memory
        names = column_names(data) if data else Sample.of_file(self.path).column_names
        columns, system = self.described.columns, self.described.system
        SCORE.refuse_unknown(str(self.described.file), columns)
        value_columns = find_value_columns(names, columns)
        if value_columns is not None and "" in value_columns.values:
            raise InputError(
                f"{self.origin}: column {names.index('') + 1} has no name: name its metric, or take it out"
            )
        if value_columns is not None and value_columns.values:
            keys = [name for name in ("system_id", "query_id") if getattr(value_columns, name)]
            return self.complete(self.from_columns(value_columns), keys)
        layout = SCORE if system is None or SCORE.choose_columns(names, columns)["system_id"] in names else ONE_SYSTEM
        keys = [field.name for field in layout.fields if field.name in KEY]
        has_means = layout is ONE_SYSTEM and self.reading is not None and self.reading.format == "jsonl"
        return self.complete(self.read(layout, columns), keys, has_means=has_means)

    def from_columns(self, columns: ValueColumns) -> pa.Table:
        """Return values in the columns of SCORE, one per row, from data with one column per metric or system.

        columns: which columns hold ids and values. Raise InputError if the system is unknown, or if several systems are
        found where one is configured.
        """
        system = self.described.system
        if system is None and columns.system_id is None and not columns.are_systems:
            self.refuse_without_system()
        if system is not None and columns.are_systems:
            self.refuse_other_systems(columns.values)
        ids = {name: column for name in ("system_id", "query_id") if (column := getattr(columns, name))}
        fields = [Field(name) for name in ids] + [Field(name, pa.float64()) for name in columns.values]
        wide = self.read(Layout("value", tuple(fields)), ids)
        parts = []
        for name in columns.values:
            metric, owner = (ONE_METRIC, name) if columns.are_systems else (name, system)
            systems = wide["system_id"] if columns.system_id else pa.array([owner] * len(wide), pa.string())
            metrics, hashes = pa.array([metric] * len(wide), pa.string()), pa.nulls(len(wide), pa.string())
            parts.append(pa.table([systems, wide["query_id"], metrics, wide[name], hashes], SCORE.schema.names))
        return pa.concat_tables(parts)

    def complete(self, table: pa.Table, keys: Sequence[str], *, has_means: bool = False) -> pa.Table:
        """Convert a table of values from the columns of SCORE to those of PULLED.

        The configured system and canonical names of metrics are filled in, and means are marked. keys: the columns of
        the input that identify a value. has_means: True if rows for the query ``all`` are means. Raise InputError if a
        value is repeated, or if there are several systems where one is configured.
        """
        if "system_id" not in table.column_names:
            owner = pa.scalar(self.described.system, pa.string())
            table = table.append_column("system_id", pa.repeat(owner, table.num_rows))
        spelt = {name: canonical_name(name) for name in pc.unique(table["metric"]).to_pylist()}
        names = pa.array([spelt[name] for name in table["metric"].to_pylist()], pa.string())
        if self.described.system is not None:
            self.refuse_other_systems(pc.unique(table["system_id"]).to_pylist())
        is_mean = pc.equal(table["query_id"], ALL) if has_means else pa.array(np.zeros(table.num_rows, dtype=bool))
        full = table.set_column(table.column_names.index("metric"), "metric", names).append_column("is_mean", is_mean)
        full = full.select(PULLED.schema.names).cast(PULLED.schema)
        counts = full.group_by(KEY).aggregate([([], "count_all")])
        for row in repeated_keys(counts)[:1]:
            written = next(name for name, short in spelt.items() if short == row["metric"])
            raise InputError(
                f"{self.locate_value({name: row[name] for name in keys})}: {format_value(written)} of system"
                f" {format_value(row['system_id'])} on query {format_value(row['query_id'])} is twice: a query has one"
                " value"
            )
        return full

    def refuse_other_systems(self, names: Sequence[str]) -> None:
        if len(names) > 1:
            name = self.described.system
            raise InputError(
                f"{self.origin}: holds the values of {len(names)} systems ({', '.join(map(shorten, names[:3]))}), and"
                f" is given as those of {name} alone: give the file without a name"
            )

    def refuse_without_system(self) -> NoReturn:
        raise InputError(
            f"{self.origin}: does not say whose values these are: name the system, as ndcg-ab compare --scores"
            " NAME=FILE (in a configuration: scores: [{system: NAME, file: FILE}])"
        )

    def from_records(self) -> pa.Table:
        """Return the values of a single system as a table in the columns of PULLED, from data without named columns.

        Raise InputError if no system is configured, if a value is repeated, or if all
        values are means.
        """
        if self.described.system is None:
            self.refuse_without_system()
        table = self.complete(self.read(ONE_SYSTEM, {}), ["query_id", "metric"], has_means=True)
        if pc.all(table["is_mean"]).as_py():
            raise InputError(f"{self.origin}: there is no value of a single query in it: write it with -q")
        return table


def canonical_ids(row: Mapping[str, Any]) -> dict[str, str]:
    """Return the ids of a row as texts, with the metric name in canonical spelling."""
    return {name: canonical_name(str(value)) if name == "metric" else str(value) for name, value in row.items()}


def locate_record(records: Records, values: Mapping[str, str]) -> str:
    """Return the locations of the records that have the given ids, joined; values: field -> id."""
    ids = canonical_ids(values)
    return join_locations(where for where, row in records if canonical_ids({name: row[name] for name in ids}) == ids)


def repeated_keys(counts: pa.Table) -> list[dict[str, Any]]:
    """Return the keys that occur more than once, sorted by KEY.

    counts: one row per key, with the number of rows of the key in the column count_all.
    """
    twice = counts.filter(pc.greater(counts["count_all"], 1)).sort_by([(name, "ascending") for name in KEY])
    return list(twice.to_pylist())
