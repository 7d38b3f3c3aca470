"""Convert grades: numbers for words, checks for timestamps and ids, and one grade per document.

A document may have grades from several files and several judges.
"""

import dataclasses
import math
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, median, multimode
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.config.model.inputs.judgments import JudgmentSource
from ndcg_ab.errors import InputError, format_value
from ndcg_ab.sources.base import Pulled, PullRequest, Source
from ndcg_ab.sources.forms.plausible import MOST_GRADE, is_plain_number
from ndcg_ab.sources.tables.schema import JUDGMENT, Layout

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
        return rows[np.append(differ_from_next(self.key[rows], self.judge[rows]), True)]

    def of_judge(self, name: str) -> pa.Table:
        """Return the judgments of one judge, in the columns of `JUDGMENT`."""
        mine = self.judge == self.judges.index(name)
        table = self.keys.take(pa.array(self.key[mine])).append_column("grade", pa.array(self.grade[mine]))
        return table.cast(JUDGMENT.schema)


def differ_from_next(*columns: Array) -> Array:
    """Return, for every row but the last, whether the next row has another value in any of the columns."""
    return np.any([column[1:] != column[:-1] for column in columns], axis=0)


# The documents that a later file judges, with their grades before the file (nan: none) and after it
LaterGrades = tuple[Array, Array, Array]


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


ESCI = {"E": 3, "S": 2, "C": 1, "I": 0}  # exact, substitute, complement, irrelevant: Amazon's shopping queries
MOST_WORDS = 20  # more different texts are no grades


def with_grade_words(layout: Layout, *entries: JudgmentSource | None) -> Layout:
    """Return the layout with the number for each grade that is a word, such as ``relevant`` -> 1.

    The mapping word -> number is that of the first entry that has one. If no entry has one, the layout is returned
    unchanged.
    """
    mappings = (entry.grades for entry in entries if entry is not None and isinstance(entry.grades, dict))
    return dataclasses.replace(layout, words=tuple(words.items())) if (words := next(mappings, None)) else layout


def as_texts(layout: Layout) -> Layout:
    """Return the layout with grades as texts, for judgments with grades in words."""
    fields = (dataclasses.replace(each, type=pa.string(), is_word=True) for each in layout.fields[2:3])
    return dataclasses.replace(layout, fields=(*layout.fields[:2], *fields, *layout.fields[3:]))


def replace_words(table: pa.Table, layout: Layout, source: Source) -> pa.Table:
    """Return the judgments with grades in words replaced by their numbers.

    A text that is a number stays that number, unless the layout gives a number for it as well. Raises InputError for an
    unknown word, with its location.
    """
    words = dict(layout.words)
    by_number = {float(word): number for word, number in words.items() if is_plain_number(word)}
    encoded = pc.dictionary_encode(table["grade"].cast(pa.string()).combine_chunks())
    numbers = []
    for code, text in enumerate(encoded.dictionary.to_pylist()):
        word = text.strip()
        if word not in words and not is_plain_number(word):
            row = pc.index(encoded.indices, code).as_py()
            where = source.locate(table, layout, *(table[name][row].as_py() for name in ("query_id", "doc_id")))
            raise InputError(
                f"{where}: grade = {format_value(text)}: must be a number or a word that has one"
                f" ({', '.join(words)}): add {format_value(word)} to the grades"
            )
        numbers.append(words[word] if word in words else by_number.get(float(word), float(word)))
    index = table.schema.get_field_index("grade")
    return table.set_column(index, "grade", pa.array(numbers, pa.float64()).take(encoded.indices))


def grade_words_hint(described: Any, source: Source, layout: Layout, pull: PullRequest) -> str:
    """Return the advice on how to give numbers to grades in words; empty if more than MOST_WORDS words occur.

    So many words are hardly grades. The judgments are read once more, with grades as texts.
    """
    texts = pc.unique(source.answer(as_texts(layout), pull).table["grade"].cast(pa.string())).to_pylist()
    words = sorted({text.strip() for text in texts if not is_plain_number(text.strip())})
    if len(words) > MOST_WORDS:
        return ""
    is_esci = {*words} == {*ESCI}
    numbers = {word: str(number) for word, number in ESCI.items()} if is_esci else dict.fromkeys(words, "NUMBER")
    if getattr(described, "in_memory", None) is not None:
        option = f"grades={{{', '.join(f'{word!r}: {number}' for word, number in numbers.items())}}}"
    else:
        option = f"--grades {shlex.quote(','.join(f'{word}={number}' for word, number in numbers.items()))}"
        option += (
            f" (in a configuration grades: {{{', '.join(f'{word}: {number}' for word, number in numbers.items())}}})"
        )
    return f"; these are the labels of ESCI: say {option}" if is_esci else f"; every word needs a number: {option}"


MOST_RATINGS = 10  # different ratings that users give, and the highest of them
FIRST_ROWS = 1_000  # usually enough of them to see more documents than that


def refuse_ratings(pulled: Pulled) -> None:
    """Raise InputError if a grade is beyond ±1,000, or if documents and grades seem to be swapped."""
    table = pulled.table
    worst = max(pc.min_max(table["grade"]).as_py().values(), key=abs)
    if abs(worst) > MOST_GRADE:
        problem = f"grade = {worst:.15g}: must be from -{MOST_GRADE:,} to {MOST_GRADE:,}"
        remedy = "divide every grade by one number"
    elif worst > MOST_RATINGS and has_ids_as_grades(table):
        problem = f"all documents are numbers from 0 to {MOST_RATINGS}, and grades go up to {worst:g}"
        remedy = "put a letter before every document id, in rankings too"
    else:
        return
    worst_pair = (table[name][pc.index(table["grade"], worst).as_py()].as_py() for name in ("query_id", "doc_id"))
    raise InputError(
        f"{pulled.locate(*worst_pair)}: {problem}. If these are ratings (user, item, rating, time), items are the"
        " documents and ratings the grades: put the names query_id,doc_id,grade above their columns. If they are"
        f" judgments, {remedy}"
    )


def has_ids_as_grades(table: pa.Table) -> bool:
    """Return whether document ids and grades seem to be swapped.

    This is so if there are at most ten distinct documents, all of them numbers from 0 to 10, and more distinct grades,
    all of them integers.
    """
    if len(pc.unique(table["doc_id"].slice(0, FIRST_ROWS))) > MOST_RATINGS:
        return False
    documents, grades = pc.unique(table["doc_id"]), pc.unique(table["grade"])
    are_numbers = all(is_plain_number(each) and 0 <= float(each) <= MOST_RATINGS for each in documents.to_pylist())
    are_whole = bool(pc.all(pc.equal(grades, pc.floor(grades))).as_py())
    return are_numbers and are_whole and len(grades) > len(documents)
