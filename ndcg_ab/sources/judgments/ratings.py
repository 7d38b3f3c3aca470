"""Judgments with a time, an id or a count in the place of the grade."""

import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.errors import InputError
from ndcg_ab.sources.base import Pulled
from ndcg_ab.sources.forms.plausible import MOST_GRADE
from ndcg_ab.sources.tables.schema import is_plain_number

MOST_RATINGS = 10  # different ratings that users give, and the highest of them
FIRST_ROWS = 1_000  # usually enough of them to see more documents than that


def refuse_ratings(pulled: Pulled) -> None:
    """Raise InputError if a grade is beyond 1,000, or if documents are a few small numbers with grades like ids."""
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
    place = (table[name][pc.index(table["grade"], worst).as_py()].as_py() for name in ("query_id", "doc_id"))
    raise InputError(
        f"{pulled.place_of(*place)}: {problem}. If these are ratings (user, item, rating, time), items are the"
        " documents and ratings the grades: put the names query_id,doc_id,grade above their columns. If they are"
        f" judgments, {remedy}"
    )


def has_ids_as_grades(table: pa.Table) -> bool:
    """Return whether documents are up to ten numbers from 0 to 10, and grades more numbers, all of them whole."""
    if len(pc.unique(table["doc_id"].slice(0, FIRST_ROWS))) > MOST_RATINGS:
        return False
    documents, grades = pc.unique(table["doc_id"]), pc.unique(table["grade"])
    are_numbers = all(is_plain_number(each) and 0 <= float(each) <= MOST_RATINGS for each in documents.to_pylist())
    are_whole = bool(pc.all(pc.equal(grades, pc.floor(grades))).as_py())
    return are_numbers and are_whole and len(grades) > len(documents)
