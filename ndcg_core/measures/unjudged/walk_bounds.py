"""The lowest and the highest value that grades could give, of measures whose places count by what is above them.

A value is taken at sets of grades ("completions") among which an extreme one must be:

- *rr, accuracy*: the first relevant place alone decides, so that one more relevant document is enough: with the one
  that the candidate shows first, another can only help the baseline. n + 1 completions for n unjudged documents.
- *ap, rprec, bpref, err*: no value falls where of two documents the higher one becomes the relevant one in the place
  of the lower. Of the documents that the candidate alone shows, so many relevant ones help it most at the top; of
  those that the baseline alone shows, they help it least at the bottom. What both show can be any: 2^shared
  completions, times how many relevant ones each shows alone. (err takes gains between none and the highest, too; its
  difference is a straight line in the gain of each document, whose ends are the extremes.)
- Others, and bpref where grades below 0 leave documents unjudged: every kind of grade for every document.

Where these are too many, *outer* bounds: so many relevant documents in all, for the candidate at its top, for the
baseline at its bottom, though a document that both show has one grade alone; or else those of every value, 0 and 1.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcg_core.measures.metric import Metric
from ndcg_core.measures.unjudged.many_completions import (
    BEYOND,
    BY_RULE,
    CELLS,
    Grades,
    Side,
    split_queries,
    values_at_ranks,
)
from ndcg_core.measures.unjudged.places import Bounds, FloatArray, IntArray, Judged, Places, no_places

Codes = NDArray[Any]
MOST_TRIED = 600_000  # completions of one query: 19 documents that both systems show, or 12 of three kinds
MOST_CELLS = 100_000_000  # completions x places of all queries
CLOSE = 1e-9  # a value that lies so far outside of every completion is one


class Documents(NamedTuple):
    """The unjudged documents that either system shows: by rising query; first those that both show, then those of the
    candidate alone, then those of the baseline alone, each by rank there.

    place: among those of the query, from 0 on. ranks: (2, n) for candidate and baseline, `BEYOND` where not shown.
    shared, alone, others: (queries,) how many of each kind.
    """

    query: IntArray
    doc: IntArray
    place: IntArray
    ranks: IntArray
    shared: IntArray
    alone: IntArray
    others: IntArray

    @property
    def counts(self) -> IntArray:
        return self.shared + self.alone + self.others

    @property
    def start(self) -> IntArray:
        counts = self.counts
        return np.cumsum(counts) - counts


def number_documents(candidate: Side, baseline: Side, queries: int) -> tuple[Documents, Side, Side]:
    """And both sides with the place among the query's documents as the number of each."""
    unjudged = [np.flatnonzero(side.doc >= 0) for side in (candidate, baseline)]
    query, doc, rank = (
        np.concatenate([of[at] for of, at in zip(each, unjudged, strict=True)])
        for each in zip(
            *((side.places.query, side.doc, side.places.rank) for side in (candidate, baseline)), strict=True
        )
    )
    is_candidate = np.arange(len(query)) < len(unjudged[0])
    _, first, number = np.unique(query * (int(doc.max(initial=0)) + 1) + doc, return_index=True, return_inverse=True)
    ranks = np.full((2, len(first)), BEYOND)
    ranks[np.where(is_candidate, 0, 1), number] = rank
    query, doc = query[first], doc[first]
    kind = np.where(ranks[0] == BEYOND, 2, np.where(ranks[1] == BEYOND, 1, 0))
    order = np.lexsort((ranks.min(axis=0), kind, query))
    counts = np.bincount(query, minlength=queries)
    place = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    placed = np.empty(len(order), dtype=np.int64)
    placed[order] = place
    ends = np.cumsum([len(each) for each in unjudged])
    for side, at, numbers in zip((candidate, baseline), unjudged, np.split(number, ends[:1]), strict=True):
        side.doc[at] = placed[numbers]
    kinds = [np.bincount(query[kind == each], minlength=queries) for each in range(3)]
    return Documents(query[order], doc[order], place, ranks[:, order], *kinds), candidate, baseline


class Sides:
    """Both systems on one metric. baseline: None where the candidate's own values are wanted, not differences."""

    def __init__(self, metric: Metric, candidate: Places, baseline: Places | None, judged: Judged) -> None:
        self.metric, self.grades = metric, Grades(metric, judged)
        self.queries = len(judged.counts)
        self.is_alone = baseline is None
        sides = [self.grades.side(places) for places in (candidate, no_places() if baseline is None else baseline)]
        self.documents, *self.sides = number_documents(sides[0], sides[1], self.queries)

    def values(self, which: int, rows: IntArray, codes: Codes) -> FloatArray:
        """(queries, completions) values of one system; codes: (queries, documents, completions), or (1, …) for all."""
        gained = (self.grades.gains[codes] > 0).sum(axis=1)
        others = self.grades.is_nonrelevant[codes].sum(axis=1)
        lines = np.arange(len(rows))[:, None] if len(codes) > 1 else np.zeros((1, 1), dtype=np.int64)
        return self.grades.values(
            self.sides[which],
            rows,
            lambda place: codes[lines, place],
            self.grades.relevant[rows][:, None] + gained,
            self.grades.nonrelevant[rows][:, None] + others,
        )

    def differences(self, rows: IntArray, codes: Codes) -> FloatArray:
        found = self.values(0, rows, codes)
        return found if self.is_alone else found - self.values(1, rows, codes)

    @property
    def width(self) -> IntArray:
        """(queries,): places of both that are looked at, at least 1."""
        found: IntArray = np.maximum(self.sides[0].length + self.sides[1].length, 1)
        return found


def cascade_bounds(
    metric: Metric, values: FloatArray, candidate: Places, baseline: Places | None, judged: Judged
) -> Bounds:
    """As of `unjudged.bounds.difference_bounds`, for measures that `is_cascade_measure` names."""
    sides = Sides(metric, candidate, baseline, judged)
    found = Bounds(values.copy(), values.copy(), len(sides.documents.query), np.ones(len(values), dtype=bool))
    low, high = np.full(len(values), np.inf), np.full(len(values), -np.inf)
    has_any = sides.documents.counts > 0
    if metric.traits.is_decided_by_first:
        first_place_bounds(sides, low, high)
        found.is_exact[:] = True
    else:
        found.is_exact[has_any] = tried_bounds(sides, np.flatnonzero(has_any), low, high)[has_any]
    is_within = (low <= values + CLOSE) & (values - CLOSE <= high)
    found.is_exact[has_any & ~is_within] = False  # unjudged documents count in another way than those of any grade
    np.minimum(found.low, low, out=found.low, where=has_any)
    np.maximum(found.high, high, out=found.high, where=has_any)
    return found


# ---- where the first relevant place decides


def first_place_bounds(sides: Sides, low: FloatArray, high: FloatArray) -> None:
    """Puts the extremes of every query into low and high."""
    documents, grades = sides.documents, sides.grades
    first = [first_relevant(side, sides.queries) for side in sides.sides]
    start = [values_at_ranks(sides.metric, ranks) for ranks in first]
    known = start[0] - start[1]
    rule = BY_RULE[sides.metric.no_relevant] if sides.is_alone else 0.0
    known = np.where(grades.relevant > 0, known, rule)
    low[:], high[:] = known, known
    if not grades.rising or not len(documents.query):
        return
    one, other = (
        values_at_ranks(sides.metric, np.minimum(ranks, of[documents.query]))
        for ranks, of in zip(documents.ranks, first, strict=True)
    )
    np.minimum.at(low, documents.query, one - other)
    np.maximum.at(high, documents.query, one - other)


def first_relevant(side: Side, queries: int) -> IntArray:
    """The rank of the first one that is judged relevant, of each query; `BEYOND` without one."""
    found = np.full(queries, BEYOND)
    is_judged = side.doc < 0
    np.minimum.at(found, side.places.query[is_judged], side.places.rank[is_judged])
    return found


# ---- completions that are tried


def tried_bounds(sides: Sides, rows: IntArray, low: FloatArray, high: FloatArray) -> NDArray[np.bool_]:
    """Puts the extremes of these queries into low and high; (queries,) whether they are exact."""
    documents, traits = sides.documents, sides.metric.traits
    is_by_rank = traits.is_monotone and not (traits.counts_nonrelevant and sides.grades.is_below.any())
    wanted = (
        count_codes_by_rank(sides.grades, documents)
        if is_by_rank
        else count_codes_by_kind(documents, len(sides.grades.kinds))
    )
    wanted[wanted > MOST_TRIED] = np.inf
    is_exact = select_affordable(2 * wanted * sides.width, rows)
    for group in group_alike(documents, rows[is_exact[rows]]):
        shared, alone, others = (int(each[group[0]]) for each in (documents.shared, documents.alone, documents.others))
        if is_by_rank:
            every = [codes_by_rank(sides.grades, shared, alone, others, sign) for sign in (1, -1)]
        else:
            every = [codes_by_kind(sides.grades, shared + alone + others)]
        for codes in every:
            take_extremes(sides, group, codes, low, high)
    left = rows[~is_exact[rows]]
    counted = np.asarray(2.0 * (documents.counts + 1) * sides.width, dtype=np.float64)
    is_counted = select_affordable(counted, left if is_by_rank else left[:0])
    for row in left[is_counted[left]]:
        low[row], high[row] = bounds_by_count(sides, np.array([row]))
    wide = left[~is_counted[left]]
    low[wide], high[wide] = 0.0 if sides.is_alone else -1.0, 1.0
    return is_exact


def select_affordable(cells: FloatArray, rows: IntArray) -> NDArray[np.bool_]:
    """(queries,): the cheapest of these, as many as `MOST_CELLS` are enough for."""
    order = rows[np.argsort(cells[rows], kind="stable")]
    found = np.zeros(len(cells), dtype=bool)
    found[order[np.cumsum(cells[order]) <= MOST_CELLS]] = True
    return found


def group_alike(documents: Documents, rows: IntArray) -> Iterator[IntArray]:
    """Queries in groups that show as many unjudged documents of each kind."""
    shapes = np.stack([documents.shared[rows], documents.alone[rows], documents.others[rows]], axis=1)
    _, group = np.unique(shapes, axis=0, return_inverse=True)
    order = np.argsort(group.ravel(), kind="stable")
    if len(rows):
        yield from np.split(rows[order], np.flatnonzero(np.diff(group.ravel()[order])) + 1)


def count_codes_by_rank(grades: Grades, documents: Documents) -> FloatArray:
    """(queries,): how many completions `codes_by_rank` gives."""
    is_all_or_none = grades.metric.ideal_traits is None  # as `count_tried_alone` has it
    alone, others = (
        1 + (np.minimum(each, 1) if is_all_or_none else each) for each in (documents.alone, documents.others)
    )
    sets = 2.0 ** np.minimum(documents.shared, 99)
    return np.asarray(sets * alone * others + documents.counts, dtype=np.float64)


def count_codes_by_kind(documents: Documents, kinds: int) -> FloatArray:
    """(queries,): how many completions `codes_by_kind` gives."""
    return np.asarray(float(kinds) ** np.minimum(documents.counts, 99), dtype=np.float64)


def codes_by_rank(grades: Grades, shared: int, alone: int, others: int, sign: int) -> Codes:
    """(1, documents, completions): among them the one with the largest difference, or with sign -1 the lowest."""
    many = shared + alone + others
    if not grades.rising:
        return np.full((1, many, 1), grades.nothing)
    sets = (np.arange(2**shared) >> np.arange(shared)[:, None]) & 1 == 1
    of_alone, of_others = (np.arange(each)[:, None] < count_tried_alone(grades, each) for each in (alone, others))
    if sign > 0:  # of the documents of the candidate those at the top, of the baseline's those at the bottom
        of_others = of_others[::-1]
    else:
        of_alone = of_alone[::-1]
    at = np.indices((sets.shape[1], of_alone.shape[1], of_others.shape[1])).reshape(3, -1)
    raised = np.concatenate([sets[:, at[0]], of_alone[:, at[1]], of_others[:, at[2]]])
    one_at_least = make_codes(
        np.eye(many, dtype=bool), grades.rising[0], grades
    )  # the least where none is another rule's
    return np.concatenate([make_codes(raised, grades.rising[-1], grades), one_at_least], axis=1)[None]


def count_tried_alone(grades: Grades, many: int) -> IntArray:
    """Of so many documents that one system alone shows, how many are tried to be relevant.

    Where nothing is divided by what is relevant, each helps the one that shows it, and touches no other: all or none.
    """
    return np.unique([0, many]) if grades.metric.ideal_traits is None else np.arange(many + 1)


def make_codes(is_raised: NDArray[np.bool_], kind: int, grades: Grades) -> Codes:
    """This kind of grade for some documents, and 0 for the others."""
    found: Codes = np.array([grades.nothing, kind], dtype=np.min_scalar_type(len(grades.levels)))[
        is_raised.astype(np.intp)
    ]
    return found


def codes_by_kind(grades: Grades, many: int) -> Codes:
    """(1, documents, completions): every one."""
    kinds = np.array(grades.kinds, dtype=np.min_scalar_type(len(grades.levels)))
    every = np.arange(len(kinds) ** many) // len(kinds) ** np.arange(many)[:, None] % len(kinds)
    return kinds[every][None]


def take_extremes(sides: Sides, rows: IntArray, codes: Codes, low: FloatArray, high: FloatArray) -> None:
    width = int(sides.width[rows].max())
    step = max(CELLS // max(width, 1), 1)
    for start in range(0, codes.shape[2], step):
        some = codes[:, :, start : start + step]
        for part in split_queries(rows, width * some.shape[2]):
            found = sides.differences(part, some)
            low[part] = np.minimum(low[part], found.min(axis=1))
            high[part] = np.maximum(high[part], found.max(axis=1))


def bounds_by_count(sides: Sides, row: IntArray) -> tuple[float, float]:
    """Outer bounds of one query: of 0, 1, 2 … relevant documents the best for one and the worst for the other."""
    grades, documents = sides.grades, sides.documents
    ranks = documents.ranks[:, documents.query == row[0]]
    if not grades.rising:
        return 0.0, 0.0
    ends = []
    for sign in (1, -1):
        least = []
        for which in (0, 1):
            direction = sign if which == 0 else -sign
            line = np.empty(ranks.shape[1], dtype=np.int64)
            line[np.argsort(direction * ranks[which].astype(np.float64), kind="stable")] = np.arange(len(line))
            least.append(line)
        found = []
        step = max(CELLS // max(int(sides.width[row[0]]), 1), 1)
        for start in range(0, len(least[0]) + 1, step):
            many = np.arange(start, min(start + step, len(least[0]) + 1))
            codes = [make_codes(line[:, None] < many, grades.rising[-1], grades)[None] for line in least]
            one = sides.values(0, row, codes[0])
            found.append(one if sides.is_alone else one - sides.values(1, row, codes[1]))
        ends.append(sign * max((sign * each).max() for each in found))
    return ends[1], ends[0]
