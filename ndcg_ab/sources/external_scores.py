"""Values per query that another tool computed: tables of four columns, and what trec_eval and others write."""

import dataclasses
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.config.loading.hints import is_number
from ndcg_ab.config.model.inputs.external_scores import ScoresSource
from ndcg_ab.errors import InputError, format_value
from ndcg_ab.extensions import translate_foreign_errors
from ndcg_ab.files import named
from ndcg_ab.sources.base import Source, places_text
from ndcg_ab.sources.files.file import read_file, refuse_no_file
from ndcg_ab.sources.files.hints import columns_option
from ndcg_ab.sources.files.json_documents import load_strictly
from ndcg_ab.sources.files.records import open_parquet, read_records, text_lines
from ndcg_ab.sources.files.unpacking import open_bytes
from ndcg_ab.sources.forms.recognition import find_reading, format_by_name
from ndcg_ab.sources.tables.in_memory import arrow_table, read_table
from ndcg_ab.sources.tables.schema import Field, Layout, SayColumns, names_text, read_value
from ndcg_core.measures.external_metric import canonical_name

LARGEST = 1e100  # no value of a metric is larger, and its square is still a number
ALL = "all"  # what trec_eval and ir_measures call the mean over all queries


class ScoresLayout(Layout):
    """The columns of per-query values; they have no other names."""

    def check_columns(
        self, where: str, found: list[str], columns: dict[str, str], say: SayColumns = columns_option
    ) -> dict[str, str]:
        wanted = {field.name: columns.get(field.name, field.name) for field in self.fields if field.required}
        missing = [column for column in wanted.values() if column not in found]
        if missing:
            raise InputError(
                f"{where}: there is no column {missing[0]!r} (columns: {names_text(found)}); per-query values"
                f" have {', '.join([*wanted][:-1])} and {[*wanted][-1]}, as `ndcg-ab compare --per-query FILE` writes"
                " them"
            )
        return super().check_columns(where, found, columns, say)


IDS = tuple(Field(name, pa.string()) for name in ("system_id", "query_id", "metric"))
VALUE, HASH = Field("value", pa.float64()), Field("metric_hash", pa.string(), required=False)
SCORE = ScoresLayout("value", (*IDS, VALUE, HASH))
OF_ONE_SYSTEM = ScoresLayout("value", (*IDS[1:], VALUE, HASH))
KEY = ["system_id", "metric", "query_id", "is_mean"]
# is_mean: it is the tool's own mean over queries
PULLED = Layout("value", (*SCORE.fields, Field("is_mean", pa.bool_())), order=tuple(KEY))
Row = tuple[str, str, str, float]  # where it is, query, metric, value

TREC_EVAL = re.compile(
    r"(gm_)?(map|bpref|ndcg|ndcg_rel|infap|11pt_avg|utility|Rprec|Rprec_mult|Rndcg|recip_rank|success|binG|G|P|recall"
    r"|relative_P|iprec_at_recall|ndcg_cut|map_cut|set_\w+|num_\w+|rel\w*|ret\w*|runid|relstring|yaap)([_.]\S*)?",
)
IR_MEASURES = re.compile(
    r"(AP|nDCG|P|R|RR|MRR|MAP|ERR|RBP|BPM|INST|INSQ|SDCG|Rprec|Bpref|Judged|Success|Accuracy|SetP|SetR|SetF|SetRelP"
    r"|SetAP|IPrec|infAP|NumQ|NumRel|NumRet|NERR\d*|alpha_DCG|alpha_nDCG|AP_IA|ERR_IA|nERR_IA|NRBP|nNRBP|P_IA"
    r"|StRecall|Compat)(\(.*\))?(@\S+)?",
)
NO_NUMBERS = re.compile(r"runid|relstring\S*")  # lines of trec_eval that hold a text


class Scores(Source):
    """One file of scores, or scores given as an argument."""

    door = "file"

    def __init__(self, described: ScoresSource, directory: Path) -> None:
        self.described = described
        self.path = described.file if described.file.is_absolute() else directory / described.file
        self.origin = described.given.name if described.given else str(self.path)

    def pull(self, layout: Layout, queries: Mapping[str, str]) -> pa.Table:
        table = self.in_memory() if self.described.given else self.from_file()
        refuse_large(table, self.origin)
        return table

    # ---- what it is

    def from_file(self) -> pa.Table:
        refuse_no_file(self.path)
        with named(self.path):
            return self.read()

    def read(self) -> pa.Table:
        file_format = self.described.format or guess_format(self.path)
        if file_format in ("trec_eval", "ir_measures", "text"):
            return self.of_rows(text_rows(self.path, None if file_format == "text" else file_format))
        if file_format == "pytrec_eval":
            return self.of_rows(rows_by_query(read_json(self.path), str(self.path)))
        layout, columns = self.layout(column_names(self.path, file_format))
        layout.refuse_unknown(str(self.described.file), columns)
        reading = dataclasses.replace(find_reading(self.path, layout.kind, file_format, columns), columns=columns)
        table = read_file(self.path, layout, reading)

        def places(keys: tuple[str, ...]) -> str:
            names = [field.name for field in layout.fields if field.name in KEY]
            found = [
                line
                for line, record in read_records(self.path, layout, reading)
                if tuple(str(record.get(name)) for name in names) == keys
            ]
            return f"{self.path}, {places_text(found, 'row' if file_format == 'parquet' else 'line')}"

        return self.completed(table, layout, places, has_means=file_format == "jsonl" and layout is OF_ONE_SYSTEM)

    def in_memory(self) -> pa.Table:
        given = self.described.given
        assert given is not None
        with translate_foreign_errors(f"{given.name}: cannot be read"):
            if isinstance(given.data, Mapping):
                return self.of_rows(rows_by_query(given.data, given.name))
            layout, columns = self.layout(arrow_table(given).column_names)
            return self.completed(read_table(given, layout, columns), layout, lambda keys: given.name)

    def layout(self, found: Sequence[str]) -> tuple[Layout, dict[str, str]]:
        """The columns, and the table's names for them.

        Where the source says whose the values are, no column has to; ir_measures calls a metric a measure.
        """
        columns = dict(self.described.columns)
        if "metric" not in found and "measure" in found:
            columns.setdefault("metric", "measure")
        names_itself = columns.get("system_id", "system_id") in found
        return SCORE if self.described.system is None or names_itself else OF_ONE_SYSTEM, columns

    # ---- as a table

    def completed(
        self, table: pa.Table, layout: Layout, places: Callable[[tuple[str, ...]], str], *, has_means: bool = False
    ) -> pa.Table:
        """A table of the layout as one of PULLED; refuses what is twice."""
        spelt = {name: canonical_name(name) for name in pc.unique(table["metric"]).to_pylist()}
        names = pa.array([spelt[name] for name in table["metric"].to_pylist()], pa.string())
        if layout is OF_ONE_SYSTEM:
            table = table.add_column(0, "system_id", pa.array([self.described.system] * table.num_rows, pa.string()))
        elif self.described.system is not None:
            self.refuse_other_systems(pc.unique(table["system_id"]).to_pylist())
        is_mean = pc.equal(table["query_id"], ALL) if has_means else pa.array(np.zeros(table.num_rows, dtype=bool))
        whole = table.set_column(table.column_names.index("metric"), "metric", names).append_column("is_mean", is_mean)
        whole = whole.select(PULLED.schema.names).cast(PULLED.schema)
        counted = whole.group_by(KEY).aggregate([([], "count_all")])
        for row in repeated_keys(counted):
            written = next(name for name, short in spelt.items() if short == row["metric"])
            keys = (row["system_id"], row["query_id"], written)
            refuse_twice(places(keys[1:] if layout is OF_ONE_SYSTEM else keys), *keys)
        return whole

    def refuse_other_systems(self, found: list[str]) -> None:
        if len(found) > 1:
            name = self.described.system
            raise InputError(
                f"{self.origin}: holds the values of {len(found)} systems ({', '.join(found[:3])}), and is given as"
                f" those of {name} alone: give the file without a name"
            )

    def of_rows(self, rows: Iterable[Row]) -> pa.Table:
        """The rows of the one system that the file is of."""
        system = self.described.system
        if system is None:
            raise InputError(
                f"{self.origin}: does not say whose values these are: name the system, as --scores NAME=FILE"
                " (in a configuration: scores: [{system: NAME, file: FILE}])"
            )
        places: dict[tuple[str, str], str] = {}
        found: dict[str, list[Any]] = {name: [] for name in PULLED.schema.names}
        for where, query, written, value in rows:
            metric = canonical_name(written)
            if (query, metric) in places:
                refuse_twice(f"{places[query, metric]} and {where}", system, query, metric)
            places[query, metric] = where
            for name, cell in zip(found, (system, query, metric, value, None, query == ALL), strict=True):
                found[name].append(cell)
        if all(found["is_mean"]):
            raise InputError(f"{self.origin}: there is no value of a single query in it: write it with -q")
        return pa.table(found, schema=PULLED.schema)


def repeated_keys(counted: pa.Table) -> list[dict[str, Any]]:
    """The keys that stand more than once, in order."""
    rows: list[dict[str, Any]] = counted.filter(pc.greater(counted["count_all"], 1)).to_pylist()
    return sorted(rows, key=lambda row: tuple(row[key] for key in KEY))


def refuse_twice(where: str, system: str, query: str, metric: str) -> None:
    raise InputError(
        f"{where}: {format_value(metric)} of system {format_value(system)} on query {format_value(query)} is"
        " twice: a query has"
        " one value"
    )


def refuse_large(table: pa.Table, origin: str) -> None:
    for row in table.filter(pc.greater(pc.abs(table["value"]), LARGEST)).slice(0, 1).to_pylist():
        raise InputError(
            f"{origin}: {format_value(row['metric'])} of system {format_value(row['system_id'])} on query"
            f" {format_value(row['query_id'])} is"
            f" {row['value']:g}; must be from {-LARGEST:g} to {LARGEST:g}"
        )


# ---- formats


def guess_format(path: Path) -> str:
    """By the file's name, and where that is not enough by its first line."""
    known = format_by_name(path)
    if known == "jsonl":
        return "pytrec_eval" if is_by_query(path) else known
    if known in ("csv", "parquet"):
        return known
    with open_bytes(path) as file:
        fields = file.readline(1 << 16).decode("utf-8", "replace").split()
    return known if known == "tsv" and not is_number(fields[-1] if fields else "") else "text"


def is_by_query(path: Path) -> bool:
    """Whether a file is one JSON object of objects: {query: {measure: value}}."""
    try:
        with open_bytes(path) as file:
            content = json.loads(file.read())
    except ValueError:
        return False
    return isinstance(content, dict) and bool(content) and all(isinstance(each, dict) for each in content.values())


def column_names(path: Path, file_format: str) -> list[str]:
    """The names in a table's head; none where it cannot be read, which its reader says."""
    try:
        if file_format == "parquet":
            return list(open_parquet(path).schema_arrow.names)
        with open_bytes(path) as file:
            line = file.readline(1 << 20).decode("utf-8-sig", "replace")
        if file_format == "jsonl":
            return list(json.loads(line))
    except (InputError, OSError, ValueError, TypeError, pa.ArrowException):
        return []
    return [name.strip().strip('"') for name in line.split("," if file_format == "csv" else "\t")]


def read_json(path: Path) -> Any:
    try:
        with open_bytes(path) as file:
            content = load_strictly(file.read())
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is not JSON: {error}") from None
    if not isinstance(content, dict):
        raise InputError(f"{path}: must be one JSON object, {{query: {{measure: value}}}}, as pytrec_eval gives")
    return content


def rows_by_query(content: Mapping[Any, Any], origin: str) -> Iterator[Row]:
    """The rows of {query: {measure: value}}."""
    for query, measures in content.items():
        where = f"{origin}, query {format_value(str(query))}"
        if not isinstance(measures, Mapping):
            raise InputError(f"{where} = {format_value(measures)}: must map every measure to its value")
        for measure, value in measures.items():
            number = value.item() if isinstance(value, np.generic) else value
            if isinstance(number, bool):
                raise InputError(f"{where}, {measure}: value = {number!r}: must be a number")
            yield where, str(query), str(measure), float(read_value(VALUE, number, f"{where}, {measure}"))


def text_rows(path: Path, file_format: str | None) -> Iterator[Row]:
    """The lines of trec_eval -q (measure, query, value) or ir_measures -q (query, measure, value)."""
    lines = [(number, split_fields(line)) for number, line in text_lines(path) if line.strip()]
    for number, fields in lines:
        if len(fields) != 3:
            means = "; a mean over all queries has two: write the file with -q" if len(fields) == 2 else ""
            raise InputError(
                f"{path}, line {number}: has {len(fields)} fields: a line of scores has three, measure, query and value"
                f" (trec_eval -q) or query, measure and value (ir_measures -q){means}"
            )
    order = file_format or guess_writer(path, [fields for _, fields in lines])
    for number, (first, second, text) in lines:
        measure, query = (first, second) if order == "trec_eval" else (second, first)
        where = f"{path}, line {number}"
        if order == "trec_eval" and NO_NUMBERS.fullmatch(measure):
            continue
        for field, name in ((IDS[1], query), (IDS[2], measure)):
            read_value(field, name, where)
        yield where, query, measure, float(read_value(VALUE, text, where))


def split_fields(line: str) -> list[str]:
    return [field.strip() for field in line.strip("\r\n").split("\t")] if "\t" in line else line.split()


def guess_writer(path: Path, lines: list[list[str]]) -> str:
    """Which of the two tools wrote the lines: by their means over all queries, else by the names of the measures."""
    firsts, seconds = ({fields[place] for fields in lines} for place in (0, 1))
    if (ALL in firsts) != (ALL in seconds):
        return "ir_measures" if ALL in firsts else "trec_eval"
    is_trec_eval = all(TREC_EVAL.fullmatch(name) for name in firsts)
    is_ir_measures = all(IR_MEASURES.fullmatch(name) for name in seconds)
    if is_trec_eval == is_ir_measures:
        raise InputError(
            f"{path}: it cannot be told which column holds the measures: say the format, trec_eval (measure, query,"
            " value) or ir_measures (query, measure, value)"
        )
    return "trec_eval" if is_trec_eval else "ir_measures"
