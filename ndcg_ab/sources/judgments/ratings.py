"""Judgments that are ratings of users in the wrong columns: a time for a grade, or a rating for a document."""

import math
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from ndcg_ab.errors import InputError
from ndcg_ab.sources.base import Pulled
from ndcg_ab.sources.files.file import format_by_name
from ndcg_ab.sources.files.hints import columns_option, filter_command
from ndcg_ab.sources.tables.on_disk import read_batches
from ndcg_ab.sources.tables.schema import is_plain_number

MOST_GRADE = 1_000  # a higher number is a time, an id or a count
MOST_RATINGS = 10  # different ratings that users give, and the highest of them
FIRST_ROWS = 1_000  # usually enough of them to see more documents than that


def refuse_ratings(pulled: Pulled, described: Any) -> None:
    """Raise InputError if a grade is beyond 1,000, or if documents are a few small numbers with grades like ids."""
    bounds = [pc.min_max(batch["grade"]).as_py().values() for batch in read_batches(pulled.table, ["grade"])]
    worst = max((grade for pair in bounds for grade in pair), key=abs)
    if abs(worst) > MOST_GRADE:
        problem = f"grade = {worst:.15g}: must be from -{MOST_GRADE:,} to {MOST_GRADE:,}"
        factor = 10.0 ** math.ceil(math.log10(abs(worst) / MOST_GRADE))
        remedy, script = "divide every grade by one number", f"{{$4 = $4 / {factor:.15g}}} 1"
    elif (documents := few_numbers(pulled)) and worst > MOST_RATINGS and has_ids_as_grades(pulled, len(documents)):
        problem = f"all documents are small numbers ({', '.join(sorted(documents))}), and grades go up to {worst:g}"
        remedy, script = "put a letter before every document id, in rankings too", '{$3 = "d" $3} 1'
    else:
        return
    path = Path(pulled.origin)
    of_ratings = f"name their columns, {columns_option('judgment', {'doc_id': 'ITEM', 'grade': 'RATING'})}"
    if path.is_file() and (getattr(described, "format", None) or format_by_name(path)) == "trec":
        of_ratings = filter_command(path, "awk '{print $1, 0, $2, $3}'")
        remedy += ": " + filter_command(path, f"awk '{script}'")
    raise InputError(
        f"{place_of_grade(pulled, worst)}: {problem}. If these are ratings (user, item, rating, time), items are the"
        f" documents and ratings the grades: {of_ratings}. If they are judgments, {remedy}"
    )


def few_numbers(pulled: Pulled) -> set[str]:
    """Return the document ids if they are up to ten numbers from 0 to 10, else nothing."""
    found: set[str] = set()
    for batch in read_batches(pulled.table, ["doc_id"]):
        for rows in (batch.slice(0, FIRST_ROWS), batch):
            found |= set(pc.unique(rows["doc_id"]).to_pylist())
            if len(found) > MOST_RATINGS or not all(is_plain_number(each) and 0 <= float(each) <= 10 for each in found):
                return set()
    return found


def has_ids_as_grades(pulled: Pulled, documents: int) -> bool:
    """Return whether grades are whole numbers, and more of them differ than there are documents."""
    grades = {
        grade for batch in read_batches(pulled.table, ["grade"]) for grade in pc.unique(batch["grade"]).to_pylist()
    }
    return len(grades) > documents and all(grade == int(grade) for grade in grades)


def place_of_grade(pulled: Pulled, grade: float) -> str:
    """Return the place of the first judgment with a grade, for a message."""
    for batch in read_batches(pulled.table, ["query_id", "doc_id", "grade"]):
        for row in batch.filter(pc.equal(batch["grade"], grade)).slice(0, 1).to_pylist():
            return pulled.place_of(row["query_id"], row["doc_id"])
    return pulled.origin
