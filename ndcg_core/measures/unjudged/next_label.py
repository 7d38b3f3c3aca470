"""The effect that the grade of one more document has on a difference, all else as it is judged.

With grade g of a document the difference D of its query becomes D(g). With the chance p(g) of each grade the effect is
the root mean square change sqrt(sum over g of p(g) (D(g) - D)^2): large if the grade is uncertain and likely to count.
(B. Carterette, J. Allan and R. Sitaraman, SIGIR 2006, choose the documents of additive measures by their weight.)
"""

from typing import NamedTuple

import numpy as np

from ndcg_core.measures.unjudged.expected_values import ShownPair
from ndcg_core.measures.unjudged.grade_chances import GradeChances
from ndcg_core.measures.unjudged.place_values import counts_results, gains_of
from ndcg_core.measures.unjudged.places import BoolArray, FloatArray, IntArray, split_by

MOST_GRADES = 20  # that are tried for each document: of more, each stands for its neighbours


class GradeEffects(NamedTuple):
    """What each grade of each of n unjudged documents would make of the difference of its query.

    chances: (n, g) of the grades, which sum to 1. differences: (n, g) of the query. is_scored: (n, g) whether the query
    has anything relevant then. Documents are in the order of `ShownPair.unjudged`.
    """

    chances: FloatArray
    differences: FloatArray
    is_scored: BoolArray


def find_grade_effects(pair: ShownPair) -> GradeEffects:
    """Return what each grade of each shown unjudged document would make of the difference of its query.

    Raises ValueError if the metric has no expected value (`lacks_expected_value`).
    """
    grades, chances = _merge_grades(pair.chances)
    query = pair.unjudged.query
    kept = [np.flatnonzero(places.is_judged | counts_results(pair.metric)) for places in pair.systems]
    found = np.zeros((len(query), len(grades)))
    for documents in split_by(np.arange(len(query)) - np.searchsorted(query, query)):  # at most one of each query
        for column, grade in enumerate(grades.tolist()):
            found[documents, column] = _judge(pair, documents, grade, kept).measure()[query[documents]]
    is_scored = (pair.relevant[query] > 0)[:, None] | (gains_of(pair.metric, grades) > 0)
    return GradeEffects(chances[pair.unjudged.band], found, is_scored)


def _merge_grades(chances: GradeChances) -> tuple[FloatArray, FloatArray]:
    """Return at most `MOST_GRADES` grades, and (bands, g) chances of each with its neighbours."""
    groups = np.array_split(np.arange(len(chances.grades)), min(MOST_GRADES, len(chances.grades)))
    merged = np.stack([chances.chances[:, group].sum(axis=1) for group in groups], axis=1)
    return chances.grades[[int(group[len(group) // 2]) for group in groups]], merged


def _judge(pair: ShownPair, documents: IntArray, grade: float, kept: list[IntArray]) -> ShownPair:
    """Return the queries of some unjudged documents, with these judged. kept: rows of the results that count."""
    is_wanted = np.zeros(pair.judged.queries, dtype=bool)
    query = pair.unjudged.query[documents]
    is_wanted[query] = True
    systems = []
    for places, rows, some in zip(pair.systems, pair.unjudged.rows, kept, strict=True):
        own = rows[documents]
        own = own[own >= 0]
        at = np.union1d(some[is_wanted[places.query[some]]], own)
        taken = places.take(at)
        taken.grade[np.searchsorted(at, own)] = grade
        systems.append(taken)
    judged, some = pair.judged, np.flatnonzero(is_wanted[pair.judged.query])
    more = judged._replace(
        query=np.concatenate([judged.query[some], query]),
        grade=np.concatenate([judged.grade[some], np.full(len(query), grade)]),
        documents=np.concatenate([judged.documents[some], np.ones(len(query), dtype=np.int64)]),
    )
    return ShownPair(pair.metric, more, systems[0], systems[1])
