"""Recognise text without a header: TREC-like fields in fixed order, and lines of queries or of users."""

import csv
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from ndcg_ab.sources.forms.form import JUDGMENTS, QUERIES, RANKING, Form, Reading, Records
from ndcg_ab.sources.forms.plausible import (
    MOST_GRADES,
    are_falling,
    are_grades,
    are_ranks,
    are_times,
    field_column,
    numbers,
    query_column,
    rated_values,
)
from ndcg_ab.sources.forms.sample import DELIMITERS, Sample
from ndcg_ab.sources.forms.tables import have_measure_names

Columns = Mapping[str, Sequence[str]]  # field -> its values


def make_form(
    words: str,
    example: str,
    names: Sequence[str],
    fits: Callable[[Columns], bool],
    doubts: Callable[[Columns], bool] = lambda columns: False,
) -> Form:
    """Return the `Form` of text files with fixed columns and without a header.

    words: the name of the form. example: a small file. names: the fields, one per column, in order; the content is
    judgments if one of them is `grade`, else a ranking. fits: receives field -> values, and returns whether the values
    are plausible. doubts: receives field -> values, and returns whether another kind of content is likelier.
    """
    kind = JUDGMENTS if "grade" in names else RANKING

    def sniff(sample: Sample) -> Reading | None:
        delimiter, rows = sample.rows
        if sample.columns or not rows or len(rows[0]) != len(names) or (len(names) == 3 and have_measure_names(rows)):
            return None
        columns = dict(zip(names, zip(*rows, strict=True), strict=True))
        is_header = sum(field_column(name, rows[0]) is not None for name in ("query_id", "doc_id")) > 1
        if is_header or not fits(columns):
            return None
        file_format = "trec" if delimiter == " " else "delimited"
        return Reading(kind, file_format, {}, tuple(names), delimiter, is_doubtful=doubts(columns))

    return Form(words, kind, example, sniff)


def have_grades(columns: Columns) -> bool:
    """Return whether grades are plausible numbers and document ids are not all equal."""
    doc_ids, grades = columns["doc_id"], columns["grade"]
    may_be_doc_ids = len(set(doc_ids)) > 1 or len(doc_ids) < 3
    return may_be_doc_ids and numbers(rated_values(grades)) is not None and are_grades(grades)


def have_falling_fractions(columns: Columns) -> bool:
    """Return whether grades look like scores: not all integers, and falling from row to row of a query."""
    grades = numbers(columns["grade"])
    are_integers = grades is not None and all(grade.is_integer() for grade in grades)
    return grades is not None and not are_integers and are_falling(columns["query_id"], grades)


def have_ranks(columns: Columns) -> bool:
    """Return whether the column rank counts up from row to row of each query."""
    return are_ranks(columns["query_id"], columns["rank"])


def have_q0(columns: Columns) -> bool:
    """Return whether ranks are plausible and the second column is constant, as ``Q0`` is in TREC rankings."""
    return have_ranks(columns) and len(set(columns["unused_1"])) == 1


def are_ranked_scores(
    query_ids: Sequence[str], doc_ids: Sequence[str], ranks: Sequence[str], scores: Sequence[str]
) -> bool:
    """Return whether columns form a ranking: no document twice in a query, ranks that count up, and falling scores."""
    values = numbers(scores)
    are_ids = len(set(zip(query_ids, doc_ids, strict=True))) == len(doc_ids)
    return are_ids and are_ranks(query_ids, ranks) and values is not None and are_falling(query_ids, values)


def have_scores(columns: Columns) -> bool:
    """Return whether the column score may hold scores: it has a fraction, or the values fall within queries."""
    scores = numbers(columns["score"]) or [0.0]
    return not all(score.is_integer() for score in scores) or are_falling(columns["query_id"], scores)


def may_be_grades(columns: Columns) -> bool:
    """Return whether scores may be grades: all integers, or few distinct values that do not fall."""
    scores = numbers(columns["score"]) or []
    is_falling = are_falling(columns["query_id"], scores) or len(set(scores)) > MOST_GRADES
    return not is_falling or all(score.is_integer() for score in scores)


TREC_FORMS = (
    make_form(
        "TREC judgments",
        "q1 0 d1 1\nq1 0 d2 0\n",
        ("query_id", "unused_1", "doc_id", "grade"),
        have_grades,
        lambda columns: are_ranked_scores(*columns.values()),
    ),
    make_form(
        "TREC ranking",
        "q1 Q0 d1 1 2.5 bm25\nq1 Q0 d2 2 1.5 bm25\n",
        ("query_id", "unused_1", "doc_id", "rank", "score", "tag"),
        lambda columns: numbers(columns["score"]) is not None,
    ),
)


# ---- lines that are read one by one


GRADED = re.compile(r"\s*(?P<grade>\S+)\s+qid:(?P<query_id>\S+)[^#]*#\s*(?:docid\s*=\s*)?(?P<doc_id>\S+)")
RATED = re.compile(r"(?P<query_id>[^:\s]+)::(?P<doc_id>[^:\s]+)::(?P<grade>[\d.]+)::\d{9,10}\s*$")


def sniff_judged(sample: Sample, line: re.Pattern[str]) -> Reading | None:
    """Recognise judgments by a pattern for their lines, and return how they are read.

    Return None unless every line matches the pattern `line`; comments, which begin with #, are ignored.
    """
    lines = [each for each in sample.lines if not each.startswith("#")]
    if not lines or not all(map(line.match, lines)):
        return None
    return Reading(JUDGMENTS, "lines", records=partial(read_judged, line=line))


def read_judged(lines: Iterable[tuple[int, str]], line: re.Pattern[str]) -> Records:
    """Yield (location, {field: value}) for each line that is neither blank nor a comment.

    line: the pattern with the groups query_id, doc_id and grade. A line that does not match yields a record with the
    ids None and the whole line as grade.
    """
    for number, text in lines:
        if text.strip() and not text.startswith("#"):
            match = line.match(text)
            unread = {"query_id": None, "doc_id": None, "grade": text.strip()}
            yield f"line {number}", match.groupdict() if match else unread


def sniff_lists(sample: Sample) -> Reading | None:
    """Recognise a ranking with one line per query (id, list of documents), and return how it is read.

    Return None for another form.
    """
    for delimiter in DELIMITERS:
        head = sample.head(delimiter)
        is_id = len(head) == 2 and query_column(head[:1]) is not None
        if is_id and field_column("documents", head[1:]) is not None:
            lists = [row[1] for row in sample.cells(delimiter) if len(row) == 2][1:]
            # ids are divided by commas, as CSV, JSON and Python write a list
            have_commas = all(word.endswith(",") for cell in lists for word in cell.split()[:-1])
            sign = "," if have_commas and any("," in cell for cell in lists) else None
            records = partial(read_lists, delimiter=delimiter, sign=sign)
            return Reading(RANKING, "lines", delimiter=delimiter, records=records)
    return None


def read_lists(lines: Iterable[tuple[int, str]], delimiter: str, sign: str | None) -> Records:
    """Yield (location, {field: value}) for each document, from lines with a query id and a list of documents.

    The first line is a header. Documents are ranked in the order of the line. sign: the separator of documents; None
    for white space.
    """
    for number, parts in enumerate(csv.reader((line for _, line in lines), delimiter=delimiter), 1):
        if number > 1 and parts:
            query_id, documents = (*parts, "")[:2]
            cell = documents.strip().removeprefix("[").removesuffix("]") if sign else documents
            for rank, doc_id in enumerate(cell.split(sign) if cell.strip() else (), 1):
                doc_id = doc_id.strip(" \"'") if sign else doc_id
                yield f"line {number}", {"query_id": query_id, "doc_id": doc_id, "rank": rank}


def sniff_texts(sample: Sample) -> Reading | None:
    """Recognise queries without a header (id, tab, text), and return how they are read.

    Return None for another form.
    """
    rows = [line.split("\t") for line in sample.lines if not sample.is_json]
    if sample.columns or not rows or any(len(row) != 2 for row in rows):
        return None
    ids, texts = zip(*rows, strict=True)
    are_ids = len(set(ids)) == len(ids) and all(each.split() == [each] for each in ids)
    is_plausible = are_ids and any(" " in text.strip() for text in texts)
    return Reading(QUERIES, "lines", records=read_texts) if is_plausible else None


def read_texts(lines: Iterable[tuple[int, str]]) -> Records:
    """Yield (location, {field: value}) for each query, one on each line that is not blank."""
    for number, line in lines:
        if line.strip():
            query_id, _, text = line.rstrip("\r\n").partition("\t")
            yield f"line {number}", {"query_id": query_id, "text": text}


FORMS = (
    Form("queries without a header (id, text)", QUERIES, "1\tred shoes\n2\train coat\n", sniff_texts),
    Form("ranking with a line for each query", RANKING, "id,predictions\nq1,d1 d2\n", sniff_lists),
    Form(
        "judgments for learning to rank (grade qid:query # document)",
        JUDGMENTS,
        "# qid:1: red shoes\n1\tqid:1\t1:0.5 # d1 a title\n0\tqid:1\t1:0.1 # d2 a title\n",
        partial(sniff_judged, line=GRADED),
    ),
    Form(
        "ratings of users (user::item::rating::time): each user is a query",
        JUDGMENTS,
        "11::242::3::881250949\n12::302::4::891717742\n",
        partial(sniff_judged, line=RATED),
    ),
    make_form(
        "ratings of users (user, item, rating, time): each user is a query",
        "11\t242\t3\t881250949\n12\t302\t4\t891717742\n",
        ("query_id", "doc_id", "grade", "unused_3"),
        lambda columns: have_grades(columns) and are_times(columns["unused_3"]),
    ),
    *TREC_FORMS,
    make_form(
        "TREC ranking without tag",
        "q1 Q0 d1 1 2.5\nq1 Q0 d2 2 1.5\n",
        ("query_id", "unused_1", "doc_id", "rank", "score"),
        lambda columns: have_q0(columns) and len(set(numbers(columns["score"]) or [])) > 1,
    ),
    make_form(
        "TREC ranking without scores",
        "q1 Q0 d1 1 bm25\nq1 Q0 d2 2 bm25\n",
        ("query_id", "unused_1", "doc_id", "rank", "tag"),
        have_q0,
    ),
    make_form(
        "ranking without a header (query, document, rank, score)",
        "q1\td1\t1\t2.5\nq1\td2\t2\t1.25\n",
        ("query_id", "doc_id", "rank", "score"),
        lambda columns: are_ranked_scores(*columns.values()),
    ),
    make_form(
        "ranking without a header (query, document, rank)",
        "q1\td1\t1\nq1\td2\t2\n",
        ("query_id", "doc_id", "rank"),
        have_ranks,
    ),
    make_form(
        "judgments without a header (query, document, grade)",
        "q1,d1,1\nq1,d2,0\n",
        ("query_id", "doc_id", "grade"),
        lambda columns: have_grades(columns) and not are_ranks(columns["query_id"], columns["grade"]),
        have_falling_fractions,
    ),
    make_form(
        "ranking without a header (query, document, score)",
        "q1\td1\t2.5\nq1\td2\t1.25\n",
        ("query_id", "doc_id", "score"),
        lambda columns: numbers(columns["score"]) is not None and have_scores(columns),
        may_be_grades,
    ),
)
