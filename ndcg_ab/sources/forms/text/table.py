"""Tables with a header, of any tool: CSV and its kin, objects of JSON and Parquet, by the names of their columns."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from ndcg_ab.sources.forms.form import JUDGMENTS, QUERIES, RANKING, Form, Reading, Records
from ndcg_ab.sources.forms.json.nested import find_documents, is_list, is_object, most, read_objects
from ndcg_ab.sources.forms.json.user_events import are_events
from ndcg_ab.sources.forms.names import bare_name, field_column, match_columns, query_column
from ndcg_ab.sources.forms.plausible import are_grades, numbers, rated
from ndcg_ab.sources.forms.sample import DELIMITERS, Sample, as_texts

FIELDS = {
    JUDGMENTS: ("query_id", "doc_id", "grade"),
    RANKING: ("query_id", "doc_id", "score", "rank"),
    QUERIES: ("query_id", "text"),
}
NUMBERS = ("grade", "score", "rank")
OF_QUERIES = ("weight", "cluster", "probability", "disagreement")  # columns of numbers that queries have


class Table(NamedTuple):
    """The columns of a table with the values of its first rows, and how it is written."""

    format: str
    delimiter: str
    columns: Mapping[str, Sequence[str]]

    def reading(self, kind: str, found: Mapping[str, str]) -> Reading:
        """Return how its rows are read; found: field -> column."""
        decimals = rated(value for name in NUMBERS if name in found for value in self.columns[found[name]])
        is_comma = self.delimiter != "," and numbers(decimals) is None and numbers(decimals, ",") is not None
        renamed = {field: column for field, column in found.items() if field != column}
        records = partial(read_rows, renamed=renamed) if self.format == "json" else None
        return Reading(kind, self.format, renamed, (), self.delimiter, "," if is_comma else ".", records)


def tables(sample: Sample) -> Iterator[Table]:
    """Yield the table that a file is, in each way in which it may be one."""
    if sample.is_parquet:
        yield Table("parquet", "", sample.parquet_columns)
    elif sample.is_json:
        listed = rows_of(sample.value) if len(sample.objects) < 2 else []
        rows = [row for row in listed or sample.objects if is_object(row)]
        if rows and not are_events(rows) and not any(map(find_documents, rows)):
            yield Table("json" if listed and is_object(sample.value) else "jsonl", "", columns_of(rows))
    else:
        for delimiter in DELIMITERS:
            head, *rest = [*sample.cells(delimiter)] or [[]]
            if len(head) > 1 and len(set(head)) == len(head):
                whole = [row for row in rest if len(row) == len(head)]
                yield Table("delimited", delimiter, {name: [row[at] for row in whole] for at, name in enumerate(head)})


def rows_of(document: Any) -> Sequence[Any]:
    """Return the list of objects that a JSON document is, or that it holds beside single values under one name."""
    if is_object(document):
        held = [value for value in document.values() if is_object(value) or is_list(value)]
        document = held[0] if len(held) == 1 else None
    return document if is_list(document) and most(document, is_object) else []


def columns_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the values of each column as texts; columns that hold objects or lists are left out."""
    names = dict.fromkeys(name for row in rows for name in row)
    values = {str(name): [row.get(name) for row in rows] for name in names}
    return {
        name: as_texts(found)
        for name, found in values.items()
        if not any(is_object(value) or is_list(value) for value in found)
    }


def read_rows(document: Any, renamed: Mapping[str, str]) -> Records:
    """Yield the record of each object of a list; renamed: field -> key."""
    fields = {column: field for field, column in renamed.items()}
    for place, row in read_objects(rows_of(document), "the list"):
        named = {key: value for key, value in row.items() if key not in renamed}
        yield place.removeprefix("the list, "), {fields.get(key, key): value for key, value in named.items()}


def sniff_judgments(sample: Sample) -> Reading | None:
    return choose(sample, JUDGMENTS, lambda table, found: {"doc_id", "grade"} <= {*found} and grades_are(table, found))


def sniff_beir(sample: Sample) -> Reading | None:
    """The grade of BEIR's judgments is called score."""
    for table in tables(sample):
        by_bare = {bare_name(name): name for name in table.columns}
        if {*by_bare} == {"queryid", "corpusid", "score"}:
            found = {"query_id": by_bare["queryid"], "doc_id": by_bare["corpusid"], "grade": by_bare["score"]}
            return table.reading(JUDGMENTS, found) if grades_are(table, found) else None
    return None


def sniff_scored_judgments(sample: Sample) -> Reading | None:
    """The grade of ranx's judgments is called score, as the score of its rankings is: whole numbers may be grades."""
    for table in tables(sample):
        found = match_columns(("query_id", "doc_id", "score"), [*table.columns])
        if not sample.columns and len(found) == len(table.columns) == 3:
            found["grade"] = found.pop("score")
            grades = numbers(table.columns[found["grade"]])
            if grades and grades_are(table, found) and all(grade.is_integer() for grade in grades):
                return dataclasses.replace(table.reading(JUDGMENTS, found), is_doubtful=True)
    return None


def sniff_ranking(sample: Sample) -> Reading | None:
    return (
        None
        if sniff_beir(sample)
        else choose(sample, RANKING, lambda table, found: "doc_id" in found and is_ordered(table, found))
    )


def sniff_queries(sample: Sample) -> Reading | None:
    def is_plausible(table: Table, found: Mapping[str, str]) -> bool:
        others = [field for field in ("doc_id", "grade", "score", "rank") if field_column(field, [*table.columns])]
        if "actionname" in map(bare_name, table.columns):  # events of users
            return False
        rest = [name for name in table.columns if name not in found.values() and bare_name(name) not in OF_QUERIES]
        are_values = bool(rest) and all(numbers(table.columns[name]) for name in rest)
        return ("text" in found and others in ([], ["doc_id"])) or (not others and not are_values)

    return choose(sample, QUERIES, is_plausible)


def choose(sample: Sample, kind: str, is_plausible: Callable[[Table, Mapping[str, str]], bool]) -> Reading | None:
    """Return how a table of this kind is read; None if a column is missing or holds something else."""
    for table in tables(sample):
        named = {field: column for field, column in sample.columns.items() if column in table.columns}
        free = [name for name in table.columns if name not in named.values()]
        found = named | match_columns([field for field in FIELDS[kind] if field not in named], free)
        if kind == QUERIES and "query_id" not in found and (column := query_column(free)):
            found["query_id"] = column
        if "query_id" in found and is_plausible(table, found):
            return table.reading(kind, found)
    return None


def grades_are(table: Table, found: Mapping[str, str]) -> bool:
    values = table.columns[found["grade"]]
    return not values or are_grades(values) or are_grades(values, ",")


def is_ordered(table: Table, found: Mapping[str, str]) -> bool:
    """Return whether a table without grades has scores or ranks."""
    is_graded = field_column("grade", [name for name in table.columns if name not in found.values()]) is not None
    return bool({"score", "rank"} & {*found}) and not is_graded


BEIR_FORM = Form("BEIR judgments", JUDGMENTS, "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\n", sniff_beir)
JUDGMENTS_FORM = Form("table of judgments", JUDGMENTS, "qid,docno,label\nq1,d1,1\nq1,d2,0\n", sniff_judgments)
SCORED_FORM = Form(
    "table of judgments whose grade is called score",
    JUDGMENTS,
    "q_id,doc_id,score\nq1,d1,1\nq1,d2,1\n",
    sniff_scored_judgments,
)
RANKING_FORM = Form("table of a ranking", RANKING, "qid,docno,rank,score\nq1,d1,1,2.5\nq1,d2,2,1.5\n", sniff_ranking)
QUERIES_FORM = Form("table of queries", QUERIES, "qid,query\nq1,red shoes\n", sniff_queries)
PLAIN_FORMS = (JUDGMENTS_FORM, RANKING_FORM, QUERIES_FORM)
