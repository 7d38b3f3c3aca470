"""Recognise tables with a header by the names of their columns, and tables or lines of metric values by query.

Tables are CSV and similar text, JSON objects, and Parquet. Metric values are lines of trec_eval -q and ir_measures -q,
or a table with one row per value, or with one column per metric or system.
"""

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from ndcg_ab.errors import InputError
from ndcg_ab.sources.files.streams import split_fields
from ndcg_ab.sources.forms.form import JUDGMENTS, QUERIES, RANKING, SCORES, Form, Reading, Records
from ndcg_ab.sources.forms.nested import find_documents, is_list, is_object, majority_fits, read_objects
from ndcg_ab.sources.forms.plausible import (
    IR_MEASURES,
    TREC_EVAL,
    are_grades,
    are_measures,
    bare_name,
    field_column,
    match_columns,
    numbers,
    rated_values,
)
from ndcg_ab.sources.forms.sample import DELIMITERS, Sample, as_texts
from ndcg_ab.sources.forms.user_events import are_events
from ndcg_ab.sources.tables import schema
from ndcg_ab.sources.tables.schema import QUERY_ID, Field, Layout

LAYOUTS = {JUDGMENTS: schema.JUDGMENT, RANKING: schema.RANKING, QUERIES: Layout("query", (QUERY_ID, Field("text")))}
NUMBERS = ("grade", "score", "rank")
OF_QUERIES = ("weight", "cluster", "probability", "disagreement")  # columns of numbers that queries have


class Table(NamedTuple):
    """The first rows of a file, parsed as a table.

    format: the format of the file. delimiter: the sign between fields of text. columns: column -> its first values.
    """

    format: str
    delimiter: str
    columns: Mapping[str, Sequence[str]]

    def reading(self, kind: str, columns: Mapping[str, str]) -> Reading:
        """Return the `Reading` that says how the rows of the table are read; columns: field -> column."""
        decimals = rated_values(value for name in NUMBERS if name in columns for value in self.columns[columns[name]])
        is_comma = self.delimiter != "," and numbers(decimals) is None and numbers(decimals, ",") is not None
        renamed = {field: column for field, column in columns.items() if field != column}
        records = partial(read_rows, renamed=renamed) if self.format == "json" else None
        return Reading(kind, self.format, renamed, (), self.delimiter, "," if is_comma else ".", records)


def find_tables(sample: Sample) -> Iterator[Table]:
    """Yield a table for each way in which the beginning of a file can be parsed as a table."""
    if sample.is_parquet:
        yield Table("parquet", "", sample.parquet_columns)
    elif sample.is_json:
        listed = find_object_list(sample.value) if len(sample.objects) < 2 else []
        rows = [row for row in listed or sample.objects if is_object(row)]
        if rows and not are_events(rows) and not any(map(find_documents, rows)):
            yield Table("json" if listed and is_object(sample.value) else "jsonl", "", columns_of(rows))
    else:
        for delimiter in DELIMITERS:
            head, *rest = [*sample.cells(delimiter)] or [[]]
            if len(head) > 1 and len(set(head)) == len(head):
                cells = [row for row in rest if len(row) == len(head)]
                yield Table("delimited", delimiter, {name: [row[at] for row in cells] for at, name in enumerate(head)})


def find_object_list(document: Any) -> Sequence[Any]:
    """Return the list of objects in a JSON document, or an empty list without one.

    The list is the document itself, or the only nested value in it.
    """
    if is_object(document):
        values = [value for value in document.values() if is_object(value) or is_list(value)]
        document = values[0] if len(values) == 1 else None
    return document if is_list(document) and majority_fits(document, is_object) else []


def columns_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the mapping column -> values as texts, without columns that hold objects or lists."""
    names = dict.fromkeys(name for row in rows for name in row)
    values = {str(name): [row.get(name) for row in rows] for name in names}
    return {
        name: as_texts(found)
        for name, found in values.items()
        if not any(is_object(value) or is_list(value) for value in found)
    }


def read_rows(document: Any, renamed: Mapping[str, str]) -> Records:
    """Yield (location, {field: value}) for each object of a list in a document.

    renamed: field -> the key that holds it. If an object also has a key that is called like such a field, that key is
    left out. All other keys become fields of their own names.
    """
    fields = {column: field for field, column in renamed.items()}
    for location, row in read_objects(find_object_list(document), "the list"):
        unchanged = {key: value for key, value in row.items() if key not in renamed}
        yield location.removeprefix("the list, "), {fields.get(key, key): value for key, value in unchanged.items()}


def sniff_judgments(sample: Sample) -> Reading | None:
    return read_as_kind(sample, JUDGMENTS, lambda table, names: "doc_id" in names and has_grades(table, names))


def sniff_beir(sample: Sample) -> Reading | None:
    """Recognise judgments with BEIR's columns query-id, corpus-id and score (the grade), and return how they are read.

    Return None for another form.
    """
    for table in find_tables(sample):
        by_bare = {bare_name(name): name for name in table.columns}
        if {*by_bare} == {"queryid", "corpusid", "score"}:
            columns = {"query_id": by_bare["queryid"], "doc_id": by_bare["corpusid"], "grade": by_bare["score"]}
            return table.reading(JUDGMENTS, columns) if has_grades(table, columns) else None
    return None


def sniff_scored_judgments(sample: Sample) -> Reading | None:
    """Recognise judgments as ranx writes them, with the grades in a column called score, and return how they are read.

    Return None for another form. The result is always marked as doubtful, since rankings have a column of this name,
    too.
    """
    for table in find_tables(sample):
        columns = match_columns(("query_id", "doc_id", "score"), [*table.columns])
        if not sample.columns and len(columns) == len(table.columns) == 3:
            columns["grade"] = columns.pop("score")
            grades = numbers(table.columns[columns["grade"]])
            if grades and has_grades(table, columns) and all(grade.is_integer() for grade in grades):
                return dataclasses.replace(table.reading(JUDGMENTS, columns), is_doubtful=True)
    return None


def sniff_ranking(sample: Sample) -> Reading | None:
    if sniff_beir(sample):
        return None
    return read_as_kind(sample, RANKING, lambda table, names: "doc_id" in names and has_scores_or_ranks(table, names))


def sniff_queries(sample: Sample) -> Reading | None:
    def is_plausible(table: Table, columns: Mapping[str, str]) -> bool:
        others = [field for field in ("doc_id", "grade", "score", "rank") if field_column(field, [*table.columns])]
        if "actionname" in map(bare_name, table.columns):  # events of users
            return False
        rest = [name for name in table.columns if name not in columns.values() and bare_name(name) not in OF_QUERIES]
        are_values = bool(rest) and all(numbers(table.columns[name]) for name in rest)
        return ("text" in columns and others in ([], ["doc_id"])) or (not others and not are_values)

    return read_as_kind(sample, QUERIES, is_plausible)


def read_as_kind(sample: Sample, kind: str, is_plausible: Callable[[Table, Mapping[str, str]], bool]) -> Reading | None:
    """Return how to parse a file as a table of one kind of content, such as judgments; None if that is impossible.

    The ways to parse the file are tried in order, until one gives a table with query ids and plausible values.
    is_plausible: receives a table and the mapping field -> column.
    """
    for table in find_tables(sample):
        chosen = LAYOUTS[kind].choose_columns([*table.columns], sample.columns)
        columns = {field: column for field, column in chosen.items() if column in table.columns}
        if "query_id" in columns and is_plausible(table, columns):
            return table.reading(kind, columns)
    return None


def has_grades(table: Table, columns: Mapping[str, str]) -> bool:
    """Return whether the grade column of a table has plausible grades; columns: field -> column."""
    values = table.columns[columns["grade"]] if "grade" in columns else None
    return values is not None and (not values or are_grades(values) or are_grades(values, ","))


def has_scores_or_ranks(table: Table, columns: Mapping[str, str]) -> bool:
    """Return whether a table has scores or ranks and no grades; columns: field -> column."""
    is_graded = field_column("grade", [name for name in table.columns if name not in columns.values()]) is not None
    return bool({"score", "rank"} & {*columns}) and not is_graded


# ---- values of metrics by query


ALL = "all"  # the mean over all queries
WRITERS = ("trec_eval", "ir_measures")
METRIC = ("metric", "measure")
TEXTS = ("text", "query", "querytext")  # columns of the text of a query
ONE_METRIC = "value"  # what a metric is called if columns are systems


class ValueColumns(NamedTuple):
    """The columns of a table of metric values.

    Attributes
    ----------
    query_id : str
        The column of query ids.
    system_id : str or None
        The column of system ids; None if each value column is a system, or all values are of one system.
    values : tuple of str
        The value columns, one for each metric or system; empty if each row names its metric.
    """

    query_id: str
    system_id: str | None
    values: tuple[str, ...]

    @property
    def are_systems(self) -> bool:
        """Whether each value column belongs to a system: there are several, and their names are no measures."""
        return self.system_id is None and len(self.values) > 1 and not are_measures(self.values)


def sniff_lines(sample: Sample) -> Reading | None:
    rows = [] if sample.is_json or sample.columns else [split_values(line) for line in sample.lines]
    if not rows or any(len(row) != 3 for row in rows) or guess_writer(rows) is None:
        return None
    if numbers([row[2] for row in rows if not NO_NUMBERS.fullmatch(row[0])]) is None:
        return None
    return dataclasses.replace(LINES, is_doubtful=not have_measure_names(rows))


def have_measure_names(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first fields of all lines, or the second fields of all lines, are names of measures."""
    return are_measures(row[0].strip() for row in rows) or are_measures(row[1].strip() for row in rows)


def split_values(line: str) -> list[str]:
    """Return the fields of a line, split at tabs if there are any, else at white space."""
    return [field.strip() for field in line.strip("\r\n").split("\t")] if "\t" in line else split_fields(line)


def guess_writer(rows: Sequence[Sequence[str]]) -> str | None:
    """Return the tool that printed lines of metric values, trec_eval or ir_measures, or None if that cannot be decided.

    rows: the fields of each line. Lines with means over all queries have the word ``all`` instead of a query id, in the
    second field if trec_eval printed them, in the first if ir_measures did. Without such lines, or if both fields have
    the word, the spelling of the measures decides.
    """
    firsts, seconds = ({row[index] for row in rows} for index in (0, 1))
    if (ALL in firsts) != (ALL in seconds):
        return "ir_measures" if ALL in firsts else "trec_eval"
    is_trec_eval = all(TREC_EVAL.fullmatch(name) for name in firsts)
    is_ir_measures = all(IR_MEASURES.fullmatch(name) for name in seconds)
    if is_trec_eval == is_ir_measures:
        return None
    return "trec_eval" if is_trec_eval else "ir_measures"


def read_metric_lines(lines: Iterable[tuple[int, str]], writer: str | None = None) -> Records:
    """Yield (location, {field: value}) for each line of metric values.

    writer: the tool that printed the lines; None: the tool is guessed. Raises InputError if a line does not have three
    fields, or if the tool cannot be guessed. Lines of trec_eval that hold a text instead of a number are left out.
    """
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
    for table in find_tables(sample):
        value_columns = find_value_columns(list(table.columns), sample.columns)
        if value_columns is not None and (sample.is_parquet or are_values(table.columns, value_columns)):
            is_of_queries = sample.is_parquet or any(bare_name(name) in TEXTS for name in table.columns)
            return Reading(SCORES, table.format, delimiter=table.delimiter, is_doubtful=is_of_queries)
    return None


def find_value_columns(names: Sequence[str], columns: Mapping[str, str]) -> ValueColumns | None:
    """Return the columns of a table of metric values, or None if the table holds no metric values.

    names: the columns of the table. columns: field -> column, as an option or a configuration names them.
    """
    query_id = columns.get("query_id") or field_column("query_id", names)
    if query_id is None or query_id not in names or (field_column("doc_id", names) and not columns):
        return None
    system_id = columns.get("system_id") or field_column("system_id", names)
    used = {query_id, system_id, *columns.values()}
    metric = columns.get("metric") or next((name for name in METRIC if name in names), None)
    if metric in names:
        return ValueColumns(query_id, system_id, ())
    others = (*used, *(name for name in names if bare_name(name) in (*OF_QUERIES, *TEXTS)))
    values = tuple(
        name for name in names if name == columns.get("value") or ("value" not in columns and name not in others)
    )
    return ValueColumns(query_id, system_id, values) if values else None


def are_values(columns: Mapping[str, Sequence[str]], value_columns: ValueColumns) -> bool:
    """Return whether all value columns hold numbers; columns: column -> first values."""
    values = value_columns.values or ("value",)
    return all(numbers(columns.get(name, ())) is not None for name in values)


LINES = Reading(SCORES, "lines", records=read_metric_lines)
FORMATS = {writer: Reading(SCORES, "lines", records=partial(read_metric_lines, writer=writer)) for writer in WRITERS}
NO_NUMBERS = re.compile(r"runid|relstring\S*")  # what trec_eval prints with a text


SCORED_FORM = Form(
    "table of judgments whose grade is called score",
    JUDGMENTS,
    "q_id,doc_id,score\nq1,d1,1\nq1,d2,1\n",
    sniff_scored_judgments,
)
PLAIN_FORMS = (
    Form("table of judgments", JUDGMENTS, "qid,docno,label\nq1,d1,1\nq1,d2,0\n", sniff_judgments),
    Form("table of a ranking", RANKING, "qid,docno,rank,score\nq1,d1,1,2.5\nq1,d2,2,1.5\n", sniff_ranking),
    Form("table of queries", QUERIES, "qid,query\nq1,red shoes\n", sniff_queries),
)
FORMS = (
    Form("BEIR judgments", JUDGMENTS, "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\n", sniff_beir),
    *PLAIN_FORMS,
    SCORED_FORM,
    Form("table of values by query", SCORES, "query_id,old,new\nq1,0.5,0.25\nq2,1,0.75\n", sniff_table),
    Form(
        "values by query of trec_eval or ir_measures",
        SCORES,
        "ndcg_cut_10 \tq1\t0.5000\nndcg_cut_10 \tall\t0.5000\n",
        sniff_lines,
    ),
)
