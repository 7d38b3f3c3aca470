"""The effect that the grade of one more document has on a difference, all else as it is judged.

With grade g of a document the difference D of its query becomes D(g). With the chance p(g) of each grade the effect is
the root mean square change sqrt(sum over g of p(g) (D(g) - D)^2): large if the grade is uncertain and likely to count.
(B. Carterette, J. Allan and R. Sitaraman, SIGIR 2006, choose the documents of additive measures by their weight.)
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcg_core.measures.unjudged.expected_values import ShownPair, counts_results
from ndcg_core.measures.unjudged.grade_chances import GradeChances
from ndcg_core.measures.unjudged.place_sums import gains_of
from ndcg_core.measures.unjudged.places import FloatArray, IntArray, Judged, Places

MOST_GRADES = 20  # that are tried for each document: of more, each stands for its neighbours
ROWS = 2_000_000  # results that are measured together


class GradeEffects(NamedTuple):
    """The differences of a query with each grade of one of its unjudged documents.

    query, doc: (n,). chances: (n, g) of the grades, which sum to 1. differences: (n, g) of the query. is_scored: (n, g)
    whether the query has anything relevant then.
    """

    query: IntArray
    doc: IntArray
    chances: FloatArray
    differences: FloatArray
    is_scored: NDArray[np.bool_]


def find_grade_effects(pair: ShownPair) -> GradeEffects:
    """Return what each grade of each shown unjudged document would make of the difference of its query.

    Raises ValueError if the metric has no expected value (`lacks_expected_value`).
    """
    grades, of_band = _merge_grades(pair.chances)
    lone = np.flatnonzero(pair.partners[1] < 0)
    rows = (
        np.concatenate([pair.unjudged[0], np.full(len(lone), -1)]),
        np.concatenate([pair.partners[0], pair.unjudged[1][lone]]),
    )
    shown = rows[0] >= 0
    query, doc = (
        np.where(shown, _at(getattr(pair.candidate, name), rows[0]), _at(getattr(pair.baseline, name), rows[1]))
        for name in ("query", "doc")
    )
    band = np.concatenate([pair.bands[0], pair.bands[1][lone]])
    found = np.zeros((len(query), len(grades)))
    for part in _split(pair, query, len(grades)):
        found[part] = _measure(pair, query[part], (rows[0][part], rows[1][part]), grades)
    is_scored = (pair.judged.count_documents(pair.judged_gains > 0)[query] > 0)[:, None] | (
        gains_of(pair.metric, grades) > 0
    )
    return GradeEffects(query, doc, of_band[band], found, is_scored)


def root_mean_square(changes: FloatArray, chances: FloatArray) -> FloatArray:
    """Return (n,) root mean square changes, from (n, g) changes and the chances of the grades."""
    found: FloatArray = np.sqrt((chances * np.square(changes)).sum(axis=1))
    return found


def _merge_grades(chances: GradeChances) -> tuple[FloatArray, FloatArray]:
    """Return at most `MOST_GRADES` grades, and (bands, g) chances of each with its neighbours."""
    groups = np.array_split(np.arange(len(chances.grades)), min(MOST_GRADES, len(chances.grades)))
    merged = np.stack([chances.chances[:, group].sum(axis=1) for group in groups], axis=1)
    return chances.grades[[int(group[len(group) // 2]) for group in groups]], merged


def _at(values: IntArray, rows: IntArray) -> IntArray:
    """Return the values of rows, 0 for the row -1."""
    return np.concatenate([values, [0]])[rows]


def _split(pair: ShownPair, query: IntArray, grades: int) -> Iterator[slice]:
    """Yield parts of the documents, of which each makes at most `ROWS` results, or is one document."""
    sizes = np.bincount(pair.candidate.query, minlength=pair.judged.queries)
    sizes = (sizes + np.bincount(pair.baseline.query, minlength=pair.judged.queries) + 2)[query] * grades
    ends = np.searchsorted(np.cumsum(sizes), np.arange(ROWS, sizes.sum() + ROWS, ROWS), side="right")
    start = 0
    for end in [*ends.tolist(), len(query)]:
        if end > start or (end == start < len(query)):
            stop = max(int(end), start + 1)
            yield slice(start, stop)
            start = stop


def _measure(pair: ShownPair, query: IntArray, rows: tuple[IntArray, IntArray], grades: FloatArray) -> FloatArray:
    """Return (documents, grades) differences: each pair of them is a query of its own, judged as far as it is."""
    copies = len(query) * len(grades)
    of_copy, grade = np.repeat(query, len(grades)), np.tile(grades, len(query))
    sides = [
        _copy_places(pair, places, of_copy, np.repeat(own, len(grades)), grade)
        for places, own in zip((pair.candidate, pair.baseline), rows, strict=True)
    ]
    copy, at = _copy_rows(pair.judged.query, of_copy, pair.judged.queries)
    judged = Judged(
        np.concatenate([copy, np.arange(copies)]),
        np.concatenate([pair.judged.grade[at], grade]),
        np.concatenate([pair.judged.documents[at], np.ones(copies, dtype=np.int64)]),
        copies,
        pair.judged.grades,
    )
    return ShownPair(pair.metric, judged, sides[0], sides[1]).measure().reshape(len(query), len(grades))


def _copy_places(pair: ShownPair, places: Places, of_copy: IntArray, own: IntArray, grade: FloatArray) -> Places:
    """Return for each copy of a query its results that count, with `grade` that of the row `own`."""
    counts = np.ones(len(places.rank), dtype=bool)
    if not counts_results(pair.metric):
        counts = places.is_judged
        if not pair.metric.traits.counts_nonrelevant:
            counts = counts & (gains_of(pair.metric, np.nan_to_num(places.grade)) > 0)
    kept = np.flatnonzero(counts)
    copy, at = _copy_rows(places.query[kept], of_copy, pair.judged.queries)
    is_other = kept[at] != own[copy]
    copy, at = copy[is_other], kept[at][is_other]
    there = np.flatnonzero(own >= 0)
    found = places.take(np.concatenate([at, own[there]]))
    found = found._replace(query=np.concatenate([copy, there]), grade=np.concatenate([places.grade[at], grade[there]]))
    return found.take(np.lexsort((found.rank, found.query)))


def _copy_rows(query: IntArray, of_copy: IntArray, queries: int) -> tuple[IntArray, IntArray]:
    """Return for each copy of a query all rows of this query: the copy's number and the row's; query: rising."""
    starts = np.searchsorted(query, np.arange(queries + 1))
    lengths = np.diff(starts)[of_copy]
    copy = np.repeat(np.arange(len(of_copy)), lengths)
    steps = np.arange(len(copy)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return copy, starts[of_copy][copy] + steps
