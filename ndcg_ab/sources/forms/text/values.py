"""Values of metrics by query: lines of trec_eval -q and ir_measures -q, and tables.

A table has a row for each value, or a column for each metric or system.
"""

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from ndcg_ab.errors import InputError
from ndcg_ab.sources.files.streams import split_fields
from ndcg_ab.sources.forms.form import SCORES, Form, Reading, Records
from ndcg_ab.sources.forms.names import bare_name, field_column
from ndcg_ab.sources.forms.plausible import numbers
from ndcg_ab.sources.forms.sample import Sample
from ndcg_ab.sources.forms.text.table import OF_QUERIES, tables

ALL = "all"  # the mean over all queries
WRITERS = ("trec_eval", "ir_measures")
METRIC = ("metric", "measure")
TEXTS = ("text", "query", "querytext")  # columns of the text of a query
ONE_METRIC = "value"  # what a metric is called if columns are systems


class ValueColumns(NamedTuple):
    """The columns of a table of values.

    query_id, system_id: the columns of ids; no system_id if columns are systems, or all values are of one system.
    values: the columns of values, one for each metric or system; none if each row names its metric.
    """

    query_id: str
    system_id: str | None
    values: tuple[str, ...]

    @property
    def are_systems(self) -> bool:
        """Whether each column is of a system: there are several, and they are not called as measures."""
        return self.system_id is None and len(self.values) > 1 and not are_measures(self.values)


def sniff_lines(sample: Sample) -> Reading | None:
    rows = [] if sample.is_json or sample.columns else [split_values(line) for line in sample.lines]
    if not rows or any(len(row) != 3 for row in rows) or guess_writer(rows) is None:
        return None
    values = [row[2] for row in rows if not NO_NUMBERS.fullmatch(row[0])]
    if numbers(values) is None:
        return None
    return dataclasses.replace(LINES, is_doubtful=not are_named(rows))


def are_named(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether one of the first two fields of every line is the name of a measure."""
    return are_measures(row[0].strip() for row in rows) or are_measures(row[1].strip() for row in rows)


def split_values(line: str) -> list[str]:
    """Return the fields of a line, between tabs where it has one, whose fields may be padded with blanks."""
    return [field.strip() for field in line.strip("\r\n").split("\t")] if "\t" in line else split_fields(line)


def guess_writer(rows: Sequence[Sequence[str]]) -> str | None:
    """Return which tool printed lines, by their means over all queries, else by the names of the measures."""
    firsts, seconds = ({row[place] for row in rows} for place in (0, 1))
    if (ALL in firsts) != (ALL in seconds):
        return "ir_measures" if ALL in firsts else "trec_eval"
    is_trec_eval = all(TREC_EVAL.fullmatch(name) for name in firsts)
    is_ir_measures = all(IR_MEASURES.fullmatch(name) for name in seconds)
    if is_trec_eval == is_ir_measures:
        return None
    return "trec_eval" if is_trec_eval else "ir_measures"


def read_lines(lines: Iterable[tuple[int, str]], writer: str | None = None) -> Records:
    """Yield the record of each line; writer: the tool that printed them, if it is known."""
    rows = [(number, split_values(line)) for number, line in lines if line.strip()]
    for number, fields in rows:
        if len(fields) != 3:
            means = "; a mean over all queries has two: write the file with -q" if len(fields) == 2 else ""
            raise InputError(
                f"line {number}: has {len(fields)} fields: a line of scores has three, measure, query and value"
                f" (trec_eval -q) or query, measure and value (ir_measures -q){means}"
            )
    writer = writer or guess_writer([fields for _, fields in rows])
    if writer is None:
        raise InputError(
            "it cannot be told which column holds the measures: say the format, trec_eval (measure, query, value) or"
            " ir_measures (query, measure, value)"
        )
    for number, (first, second, value) in rows:
        measure, query_id = (first, second) if writer == "trec_eval" else (second, first)
        if writer != "trec_eval" or not NO_NUMBERS.fullmatch(measure):
            yield f"line {number}", {"query_id": query_id, "metric": measure, "value": value}


def sniff_table(sample: Sample) -> Reading | None:
    for table in tables(sample):
        found = find_value_columns(list(table.columns), sample.columns)
        if found is not None and (sample.is_parquet or are_values(table.columns, found)):
            is_of_queries = sample.is_parquet or any(bare_name(name) in TEXTS for name in table.columns)
            return Reading(SCORES, table.format, delimiter=table.delimiter, is_doubtful=is_of_queries)
    return None


def find_value_columns(names: Sequence[str], columns: Mapping[str, str]) -> ValueColumns | None:
    """Return the columns of a table of values, or None if it is none; columns: field -> column, as they are named."""
    query_id = columns.get("query_id") or field_column("query_id", names)
    if query_id is None or query_id not in names or (field_column("doc_id", names) and not columns):
        return None
    system_id = columns.get("system_id") or field_column("system_id", names)
    named = {query_id, system_id, *columns.values()}
    metric = columns.get("metric") or next((name for name in METRIC if name in names), None)
    if metric in names:
        return ValueColumns(query_id, system_id, ())
    others = (*named, *(name for name in names if bare_name(name) in (*OF_QUERIES, *TEXTS)))
    values = tuple(
        name for name in names if name == columns.get("value") or ("value" not in columns and name not in others)
    )
    return ValueColumns(query_id, system_id, values) if values else None


def are_values(columns: Mapping[str, Sequence[str]], found: ValueColumns) -> bool:
    """Return whether the columns of values hold numbers."""
    values = found.values or ("value",)
    return all(numbers(columns.get(name, ())) is not None for name in values)


LINES = Reading(SCORES, "lines", records=read_lines)
FORMATS = {writer: Reading(SCORES, "lines", records=partial(read_lines, writer=writer)) for writer in WRITERS}
LINES_FORM = Form(
    "values by query of trec_eval or ir_measures",
    SCORES,
    "ndcg_cut_10 \tq1\t0.5000\nndcg_cut_10 \tall\t0.5000\n",
    sniff_lines,
)
TABLE_FORM = Form("table of values by query", SCORES, "query_id,old,new\nq1,0.5,0.25\nq2,1,0.75\n", sniff_table)


TREC_EVAL = re.compile(
    r"(gm_)?(map|bpref|ndcg|ndcg_rel|infap|11pt_avg|utility|Rprec|Rprec_mult|Rndcg|recip_rank|success|binG|G|P|recall"
    r"|relative_P|iprec_at_recall|ndcg_cut|map_cut|set_\w+|num_\w+|rel\w*|ret\w*|runid|relstring|yaap)([_.]\S*)?",
)
IR_MEASURES = re.compile(
    r"(AP|nDCG|P|R|RR|MRR|MAP|ERR|RBP|BPM|INST|INSQ|SDCG|Rprec|Bpref|Judged|Success|Accuracy|SetP|SetR|SetF|SetRelP"
    r"|SetAP|IPrec|infAP|NumQ|NumRel|NumRet|NERR\d*|alpha_DCG|alpha_nDCG|AP_IA|ERR_IA|nERR_IA|NRBP|nNRBP|P_IA"
    r"|StRecall|Compat)(\(.*\))?(@\S+)?",
)
NO_NUMBERS = re.compile(r"runid|relstring\S*")  # what trec_eval prints with a text
OTHER_MEASURES = re.compile(r"(ndcg|dcg|map|mrr|rr|precision|recall|hit_rate|hits|f1)(@\d+)?", re.IGNORECASE)  # ranx


def are_measures(names: Iterable[str]) -> bool:
    """Return whether names are those that trec_eval, ir_measures or ranx have for measures."""
    given = [*names]
    patterns = (TREC_EVAL, IR_MEASURES, OTHER_MEASURES)
    return bool(given) and all(any(pattern.fullmatch(name) for pattern in patterns) for name in given)
