"""Tables with a header, of any tool: CSV and its kin, JSON Lines and Parquet, by the names of their columns."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ndcg_ab.sources.forms.form import JUDGMENTS, QUERIES, RANKING, Form, Reading
from ndcg_ab.sources.forms.names import bare_name, field_column, match_columns
from ndcg_ab.sources.forms.plausible import are_grades, numbers
from ndcg_ab.sources.forms.sample import DELIMITERS, Sample

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
        decimals = [value for name in NUMBERS if name in found for value in self.columns[found[name]]]
        is_comma = self.delimiter != "," and numbers(decimals) is None and numbers(decimals, ",") is not None
        renamed = {field: column for field, column in found.items() if field != column}
        return Reading(kind, self.format, renamed, delimiter=self.delimiter, decimal="," if is_comma else ".")


def tables(sample: Sample) -> Iterator[Table]:
    """Yield the table that a file is, in each way in which it may be one."""
    if sample.is_parquet:
        yield Table("parquet", "", dict.fromkeys(sample.parquet_columns, ()))
    elif sample.objects:
        names = dict.fromkeys(name for row in sample.objects for name in row)
        yield Table("jsonl", "", {name: [str(row.get(name, "")) for row in sample.objects] for name in names})
    elif isinstance(sample.document, list):
        rows = [row for row in sample.document if isinstance(row, dict)]
        names = dict.fromkeys(name for row in rows for name in row)
        yield Table("jsonl", "", {name: [str(row.get(name, "")) for row in rows] for name in names})
    elif not sample.is_json:
        for delimiter in DELIMITERS:
            head, *rest = [*sample.cells(delimiter)] or [[]]
            if len(head) > 1 and len(set(head)) == len(head):
                whole = [row for row in rest if len(row) == len(head)]
                yield Table("delimited", delimiter, {name: [row[at] for row in whole] for at, name in enumerate(head)})


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


def sniff_ranking(sample: Sample) -> Reading | None:
    return (
        None
        if sniff_beir(sample)
        else choose(sample, RANKING, lambda table, found: "doc_id" in found and is_ordered(table, found))
    )


def sniff_queries(sample: Sample) -> Reading | None:
    def is_plausible(table: Table, found: Mapping[str, str]) -> bool:
        others = [field for field in ("doc_id", "grade", "score", "rank") if field_column(field, [*table.columns])]
        rest = [name for name in table.columns if name not in found.values()]
        are_values = bool(rest) and all(
            numbers(table.columns[name]) for name in rest if bare_name(name) not in OF_QUERIES
        )
        return ("text" in found and others in ([], ["doc_id"])) or (not others and not are_values)

    return choose(sample, QUERIES, is_plausible)


def choose(sample: Sample, kind: str, is_plausible: Callable[[Table, Mapping[str, str]], bool]) -> Reading | None:
    """Return how a table of this kind is read; None if a column is missing or holds something else."""
    for table in tables(sample):
        named = {field: column for field, column in sample.columns.items() if column in table.columns}
        free = [name for name in table.columns if name not in named.values()]
        found = named | match_columns([field for field in FIELDS[kind] if field not in named], free)
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
RANKING_FORM = Form("table of a ranking", RANKING, "qid,docno,rank,score\nq1,d1,1,2.5\nq1,d2,2,1.5\n", sniff_ranking)
QUERIES_FORM = Form("table of queries", QUERIES, "qid,query\nq1,red shoes\n", sniff_queries)
