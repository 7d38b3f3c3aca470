"""Read judgments from one or several files and judges, and combine them into one grade per document.

`pull_judgment_source` reads one source, `gather_judgments` combines several. Columns beyond the grade (judge, source,
file) are in `Pulled.singles`.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean, median, multimode
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.inputs.judgments import JudgmentSource
from ndcg_ab.config.model.inputs.sources import Source as Described
from ndcg_ab.config.model.inputs.sources import SparkSource
from ndcg_ab.config.model.operation import Resources
from ndcg_ab.errors import InputError
from ndcg_ab.sources.base import MOST_EXAMPLES, Pulled, Remark, RemarkCounter, Source, with_remarks
from ndcg_ab.sources.files.parts import local_columns
from ndcg_ab.sources.judgments.grades import with_grade_words
from ndcg_ab.sources.registry import pull_source
from ndcg_ab.sources.tables.document_rules import codes_of
from ndcg_ab.sources.tables.schema import JUDGED, JUDGMENT, SINGLE_JUDGMENT, Layout

KEY = ["query_id", "doc_id"]
KEYS = pa.schema([(name, pa.string()) for name in KEY])
OF_CLICKS = {"impressions", "clicks", "value"}  # columns of the file that `ndcg-ab clicks` writes
NO_NAME = ""  # the judge of judgments that name none
Array = Any
Refuse = Callable[[int, list[tuple[int, float]], int], NoReturn]
Combine = str | Refuse
COMBINED: dict[str, Callable[[Sequence[float]], float]] = {
    "majority": lambda grades: min(multimode(grades)),
    "median": median,
    "mean": lambda grades: fmean(sorted(grades)),
    "highest": max,
    "lowest": min,
}
TOGETHER = "together"  # judges of all files are combined
CHOSEN: dict[str, Callable[[Array, Array], Array]] = {  # of earlier and later grades
    TOGETHER: lambda before, later: later,
    "last": lambda before, later: later,
    "first": lambda before, later: before,
    "highest": np.maximum,
    "lowest": np.minimum,
}


@dataclass(frozen=True, eq=False)
class JudgmentCodes:
    """Judgments as arrays of integer codes, with one element per judgment, sorted by document, judge, file and grade.

    Attributes
    ----------
    keys : pa.Table
        query_id and doc_id of each document, one row per document.
    key : array of int
        Row number of the document in `keys`.
    judge : array of int
        Index of the judge in `judges`.
    file : array of int
        Index of the file.
    grade : array of float
        The grade.
    judges : tuple of str
        The names of the judges, empty for an unnamed judge.
    """

    keys: pa.Table
    key: Array
    judge: Array
    file: Array
    grade: Array
    judges: tuple[str, ...]

    def latest_rows(self, is_used: Array) -> Array:
        """Return, for each document and judge, the index of the last of the judgments at which `is_used` is true."""
        rows = np.flatnonzero(is_used)
        key, judge = self.key[rows], self.judge[rows]
        return rows[np.append((key[1:] != key[:-1]) | (judge[1:] != judge[:-1]), True)]

    def of_judge(self, name: str) -> pa.Table:
        """Return the judgments of one judge, in the columns of `JUDGMENT`."""
        mine = self.judge == self.judges.index(name)
        table = self.keys.take(pa.array(self.key[mine])).append_column("grade", pa.array(self.grade[mine]))
        return table.cast(JUDGMENT.schema)


# The documents that a later file judges, with their grades before the file (nan: none) and after it
LaterGrades = tuple[Array, Array, Array]


def judgments_layout(entry: JudgmentSource, evaluation: Evaluation) -> Layout:
    """Return the columns to read from a source of judgments, with the number for each grade that is a word.

    The mapping word -> number is that of the source or, if it has none, that of the configuration key `judgments`. A
    table in Spark has only query_id, doc_id and grade, and no such words.
    """
    return JUDGMENT if isinstance(entry.source, SparkSource) else with_grade_words(JUDGED, entry, evaluation.judgments)


def layout_of_columns(names: Iterable[str]) -> Layout:
    """Return the layout of a judgment table that has the columns `names`."""
    there = set(names)
    fields = tuple(field for field in JUDGED.fields if field.name in there)
    return JUDGMENT if len(fields) == len(JUDGMENT.fields) else Layout(JUDGED.kind, fields)


def pull_judgment_source(
    described: Described,
    directory: Path,
    texts: Mapping[str, str] | None = None,
    resources: Resources | None = None,
    layout: Layout = JUDGED,
) -> Pulled:
    """Read the judgments of one source.

    The result has the columns judge and source only if they have values. texts: query_id -> text, for sources that need
    them. resources: threads and memory for the source; None: everything. layout: the columns to read.
    """
    pulled = pull_source(described, layout, directory, texts, resources=resources)
    if pulled.layout is JUDGMENT:
        return pulled
    table = pulled.table
    if {*local_columns(described, directory)} >= OF_CLICKS:
        message = f"grades come from clicks, as its columns {', '.join(sorted(OF_CLICKS))} say"
        table = with_remarks(table, [*pulled.remarks, Remark("click_grades", table.num_rows, (), message)])
    layout = layout_of_columns(
        name
        for name in table.column_names
        if name in JUDGMENT.schema.names or pc.any(pc.greater(pc.binary_length(table[name]), 0)).as_py()
    )
    metadata = table.schema.metadata
    chosen = table.select(layout.schema.names).cast(layout.schema).replace_schema_metadata(metadata)
    return Pulled(chosen, layout, pulled.source)


def add_function_grades(parts: Sequence[Pulled], by_function: Pulled | None, evaluation: Evaluation) -> Pulled:
    """Return one table of the files' judgments and of a function's grades for documents that no file judges.

    parts: the judgments of each file. by_function: the grades of the function; None: there is none. Raises InputError
    if there is no grade at all.
    """
    if by_function is None:
        return gather_judgments(parts, evaluation)
    rows = by_function.table.append_column("row", pa.array(range(by_function.table.num_rows), pa.int64()))
    for part in parts:
        judged = part.table.select(KEY).cast(KEYS)
        rows = rows.join(judged, KEY, join_type="left anti")
    rest = by_function.table.take(rows["row"].sort()) if parts else by_function.table
    if not parts and not rest.num_rows:
        raise InputError(f"python = {by_function.origin!r}: it could say the grade of no document that systems return")
    filling = [Pulled(rest, by_function.layout, by_function.source)] if rest.num_rows else []
    return gather_judgments([*parts, *filling], evaluation)


def judgment_source_names(evaluation: Evaluation) -> list[str]:
    """Return a distinct name for each source of judgments: the name of its file, numbered if it is repeated.

    A judge function comes last.
    """
    sources = [*(entry.source for entry in evaluation.judgment_entries), evaluation.judge]
    names = [source.display_name for source in sources if source]
    return [
        name if names.count(name) == 1 else f"{name} {names[:end].count(name)}" for end, name in enumerate(names, 1)
    ]


def gather_judgments(parts: Sequence[Pulled], evaluation: Evaluation) -> Pulled:
    """Return the judgments of several sources as one table with one grade per document.

    A single table without judges is returned unchanged. Raises InputError if a judge gives a document two grades in one
    file, or if judges disagree and the configuration has no rule for it.
    """
    if len(parts) == 1 and parts[0].layout is JUDGMENT:
        return parts[0]
    names = judgment_source_names(evaluation)[: len(parts)]
    precedence, combine = evaluation.judgments_precedence, evaluation.combine
    source = CombinedSources(parts)
    singles = pa.concat_tables(
        [single_judgments(part, name, precedence) for part, name in zip(parts, names, strict=True)]
    )
    repeated = check_repeated(singles, names, source)
    codes = encode_judgments(singles, names)
    rule = combine or partial(refuse_disagreement, codes, source)
    grades, later, several, disagreed = combine_judgments(codes, precedence, rule)
    table = codes.keys.append_column("grade", pa.array(grades, pa.float64())).cast(JUDGMENT.schema)
    remarks = [*(remark for part in parts for remark in part.remarks), *repeated]
    remarks += [*file_remarks(later, names, precedence, codes.keys), *scale_remarks(parts, names)]
    if several:
        message = f"{several:,} documents are judged by several of {len(codes.judges)} judges, who "
        message += f"disagree on {disagreed:,}: {combine} counts" if disagreed else "agree on all of them"
        remarks.append(Remark("several_judges", several, (), message))
    return Pulled(with_remarks(table, remarks), JUDGMENT, source, singles=singles)


class CombinedSources(Source):
    """A source that stands for the several sources whose judgments were combined."""

    def __init__(self, parts: Sequence[Pulled]) -> None:
        self.parts = tuple(parts)
        self.origin = ", ".join(dict.fromkeys(part.origin for part in parts))

    def locate(self, table: pa.Table, layout: Layout, query_id: str, doc_id: str) -> str:
        """Return the locations of a document's judgments in every file that judges it, joined by "and".

        Return the `origin` of this source if no file judges the document. `table` and `layout` are not used.
        """
        locations = [
            part.locate(query_id, doc_id)
            for part in self.parts
            if part.table.filter((pc.field("query_id") == query_id) & (pc.field("doc_id") == doc_id)).num_rows
        ]
        return " and ".join(locations) or self.origin


def single_judgments(part: Pulled, name: str, precedence: str) -> pa.Table:
    """Return one row per judgment of a file, in the columns of `SINGLE_JUDGMENT`.

    name: the name of the file. precedence: with "together", judgments without a judge get the name of the file as
    judge.
    """
    table = part.table
    columns: dict[str, Any] = {each: table[each].cast(pa.string()) for each in ("query_id", "doc_id")}
    columns["grade"] = table["grade"]
    for each in ("judge", "source"):
        texts = table[each] if each in table.column_names else pa.nulls(table.num_rows, pa.string())
        columns[each] = pc.if_else(pc.equal(texts, ""), None, texts)
    if precedence == "together":
        columns["judge"] = pc.coalesce(columns["judge"], pa.scalar(name))
    columns["file"] = pa.repeat(pa.scalar(name), table.num_rows)
    return pa.table(columns, schema=SINGLE_JUDGMENT.schema)


def encode_judgments(singles: pa.Table, names: Sequence[str]) -> JudgmentCodes:
    """Return judgments as integer codes.

    singles: one row per judgment. names: the names of the files, in order.
    """
    queries, documents = (codes_of(singles[name]) for name in ("query_id", "doc_id"))
    pairs = queries * (int(documents.max()) + 1) + documents
    _, first, key = np.unique(pairs, return_index=True, return_inverse=True)
    position = np.argsort(np.argsort(first))
    keys = singles.select(["query_id", "doc_id"]).take(np.sort(first))
    judge_names = pc.fill_null(singles["judge"], NO_NAME)
    judges = pc.unique(judge_names).sort()
    grades = np.asarray(singles["grade"].to_numpy(), dtype=float)
    files = pc.index_in(singles["file"], pa.array(list(names))).to_numpy()
    judge, document = pc.index_in(judge_names, judges).to_numpy(), position[key]
    order = np.lexsort((grades, files, judge, document))
    names_of_judges = tuple(judges.to_pylist())
    return JudgmentCodes(keys, document[order], judge[order], files[order], grades[order], names_of_judges)


def split_by_judge(singles: pa.Table, precedence: str) -> JudgmentCodes:
    """Return at most one judgment per document and judge, as integer codes.

    singles: one row per judgment. precedence: the rule for documents that several files judge. With "together", the
    judgment of a judge is that in the last file in which the judge judges the document. With "last" or "first", it is
    that in the last or first file in which anybody judges the document; judges without one there are left out.
    """
    codes = encode_judgments(singles, pc.unique(singles["file"]).to_pylist())
    is_used = np.ones(len(codes.key), dtype=bool)
    if precedence in ("last", "first"):
        file = codes.file if precedence == "last" else -codes.file
        deciding = np.full(codes.keys.num_rows, file.min())
        np.maximum.at(deciding, codes.key, file)
        is_used = file == deciding[codes.key]
    rows = codes.latest_rows(is_used)
    remaining, judge = np.unique(codes.judge[rows], return_inverse=True)
    judges = tuple(codes.judges[code] for code in remaining.tolist())
    return JudgmentCodes(codes.keys, codes.key[rows], judge, codes.file[rows], codes.grade[rows], judges)


def check_repeated(singles: pa.Table, names: Sequence[str], source: CombinedSources) -> list[Remark]:
    """Return a list with one remark on repeated judgments, or an empty list if there are none.

    A judgment is repeated if its file has another judgment of the document by the same judge with an equal value in the
    column source. Raises InputError if a judge gives a document two grades in one file. names: the names of the files,
    in order. source: finds the locations of examples.
    """
    distinct = pc.CountOptions(mode="all")
    values: list[Any] = [([], "count_all"), ("source", "count_distinct", distinct), ("grade", "min"), ("grade", "max")]
    groups = singles.group_by(["query_id", "doc_id", "judge", "file"], use_threads=False).aggregate(values)
    counts, distinct_counts, low, high = (groups[name] for name in groups.column_names[4:])
    order = [(name, "ascending") for name in ("query_id", "doc_id", "grade_min", "grade_max", "judge")]
    odd = groups.filter(pc.less(low, high)).sort_by(order)
    for row in odd.slice(0, 1).to_pylist():
        part, query_id, doc_id = source.parts[names.index(row["file"])], row["query_id"], row["doc_id"]
        name = row["judge"] if "judge" in part.layout.schema.names else None
        by = f" by judge {name!r}" if name else ""
        rule = "a judge gives a document one grade" if by else "a document has one grade"
        raise InputError(
            f"{part.locate(query_id, doc_id)}: document {doc_id!r} of query {query_id!r} is judged"
            f" {row['grade_min']:g} and {row['grade_max']:g}{by}: {rule} ({odd.num_rows} such)"
        )
    count = pc.sum(pc.subtract(counts, distinct_counts)).as_py()
    twice = groups.filter(pc.greater(counts, distinct_counts)).sort_by(order[:2]).slice(0, MOST_EXAMPLES).to_pylist()
    examples = tuple(source.locate(singles, JUDGMENT, row["query_id"], row["doc_id"]) for row in twice)
    return [Remark("repeated_judgment", count, examples)] if count else []


def refuse_disagreement(
    codes: JudgmentCodes, source: CombinedSources, key: int, grades: list[tuple[int, float]], count: int
) -> NoReturn:
    """Raise the InputError that names two judges who disagree on a document, and the options that decide.

    key: index of the document. grades: (judge, grade) pairs. count: number of documents on which judges disagree.
    """
    query_id, doc_id = (codes.keys[name][key].as_py() for name in ("query_id", "doc_id"))
    (low, lowest), (high, highest) = (choose(grades, key=lambda pair: pair[1]) for choose in (min, max))
    raise InputError(
        f"{source.locate(codes.keys, JUDGMENT, query_id, doc_id)}: document {doc_id!r} of query {query_id!r} is"
        f" judged {lowest:g} by {judge_text(codes.judges[low])} and {highest:g} by {judge_text(codes.judges[high])}"
        f" ({count} such): where judges disagree, say what counts: --combine majority, median, mean, highest or"
        " lowest (in a configuration combine: majority)"
    )


def judge_text(name: str) -> str:
    return f"judge {name!r}" if name else "a judge without a name"


def file_remarks(
    later: Sequence[LaterGrades], names: Sequence[str], precedence: str, keys: pa.Table
) -> Iterator[Remark]:
    """Yield one remark per file of judgments except the first: how many judgments the file added and changed.

    later: for each of these files, the documents that it judges, their grades by the files before it (NaN without any)
    and their grades with it. names: the names of all files. keys: query_id and doc_id of the documents.
    """
    for name, (own, before, after) in zip(names[1:], later, strict=True):
        is_new = np.isnan(before)
        changed = np.flatnonzero(~is_new & (before != after))
        examples = [
            f"query {row['query_id']!r}, document {row['doc_id']!r}: {before[index]:g} is now {after[index]:g}"
            for index in changed[:MOST_EXAMPLES]
            for row in keys.slice(int(own[index]), 1).to_pylist()
        ]
        added = int(is_new.sum())
        message = (
            f"{name}: adds {added:,}, changes {len(changed):,} and leaves {len(own) - added - len(changed):,} of those"
            f" before it (judgments_precedence = {precedence})"
        )
        yield Remark("more_judgments", added + len(changed), tuple(examples), message)


def scale_remarks(parts: Sequence[Pulled], names: Sequence[str]) -> Iterator[Remark]:
    """Yield one remark for each file after the first with grades outside the range of the first file's grades."""
    low, high = pc.min_max(parts[0].table["grade"]).as_py().values()
    for name, part in zip(names[1:], parts[1:], strict=True):
        grades = part.table["grade"]
        outside = part.table.filter(pc.or_(pc.less(grades, low), pc.greater(grades, high)))
        found = RemarkCounter("grade_off_scale")
        found.add_rows(outside, lambda row: f"query {row['query_id']!r}, document {row['doc_id']!r}: {row['grade']:g}")
        text = f"{name}: {outside.num_rows:,} of its grades are outside {low:g} to {high:g}, the grades of {names[0]}"
        yield from found.remarks(text)


# ---- one grade for each document


def combine_judgments(
    codes: JudgmentCodes, precedence: str, combine: Combine
) -> tuple[Array, list[LaterGrades], int, int]:
    """Combine the judgments of all files and judges, and return (grades, later, several, disagreed).

    grades: one for each document. later: for each file after the first, the documents that it judges, their grades
    by the files before it (NaN without any) and their grades with it. several: number of documents with several judges.
    disagreed: number of documents on which judges disagree.

    precedence: the rule for documents that several files judge. combine: the name of the rule for judges who disagree,
    or a function that raises an error. The function is called at the first disagreement, with the document, its (judge,
    grade) pairs and the number of documents on which judges disagree.
    """
    now = np.full(codes.keys.num_rows, math.nan)
    later, several, disagreed = [], 0, 0
    for index in range(int(codes.file.max()) + 1):
        rows = codes.latest_rows(codes.file <= index if precedence == TOGETHER else codes.file == index)
        documents, values, more, odd = combine_judges(codes.key[rows], codes.judge[rows], codes.grade[rows], combine)
        before = now.copy()
        now[documents] = np.where(np.isnan(now[documents]), values, CHOSEN[precedence](now[documents], values))
        several, disagreed = (more, odd) if precedence == TOGETHER else (several + more, disagreed + odd)
        if index:
            keys = np.unique(codes.key[codes.file == index])
            later.append((keys, before[keys], now[keys]))
    return now, later, several, disagreed


def combine_judges(key: Array, judge: Array, grade: Array, combine: Combine) -> tuple[Array, Array, int, int]:
    """Combine the grades that several judges give a document, and return (documents, grades, several, disagreed).

    documents: the distinct codes in `key`. grades: the combined grade of each of these documents. several: number of
    documents with several judges. disagreed: number of documents with unequal grades. key: code of the document of each
    judgment, sorted. combine: the name of a rule, or a function that is called at the first unequal grades and raises
    an error.
    """
    documents, start, counts = np.unique(key, return_index=True, return_counts=True)
    values = grade[start].copy()
    lowest, highest = np.minimum.reduceat(grade, start), np.maximum.reduceat(grade, start)
    odd = np.flatnonzero(lowest < highest)
    for index in odd.tolist():
        rows = slice(start[index], start[index] + counts[index])
        if not isinstance(combine, str):
            combine(int(documents[index]), list(zip(judge[rows].tolist(), grade[rows].tolist(), strict=True)), len(odd))
        values[index] = COMBINED[combine](grade[rows].tolist())
    return documents, values, int((counts > 1).sum()), len(odd)
