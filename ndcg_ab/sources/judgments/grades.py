"""One grade for each document, of the grades that several files and several judges give it."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any, NoReturn

import numpy as np

MOST_EXAMPLES = 5
Array = Any
Refuse = Callable[[int, list[tuple[int, float]], int], NoReturn]
Combine = str | Refuse


def majority_grade(grades: Sequence[float]) -> float:
    """The grade that most judges give; of several such the lowest."""
    counts = Counter(grades)
    most = max(counts.values())
    return min(grade for grade, count in counts.items() if count == most)


COMBINED: dict[str, Callable[[Sequence[float]], float]] = {
    "majority": majority_grade,
    "median": median,
    "mean": lambda grades: fmean(sorted(grades)),
    "highest": max,
    "lowest": min,
}
TOGETHER = "together"  # the judges of all files are beside each other
CHOSEN: dict[str, Callable[[Array, Array], Array]] = {  # of the grade before and that of a later file
    TOGETHER: lambda before, later: later,
    "last": lambda before, later: later,
    "first": lambda before, later: before,
    "highest": np.maximum,
    "lowest": np.minimum,
}


@dataclass(frozen=True, eq=False)
class JudgmentCodes:
    """Judgments as numbers, one row each.

    keys: which document, 0 to count - 1. judge: place in `judges`. files: which file, 0 the first. grades: what each
    says.
    """

    keys: Array
    judge: Array
    files: Array
    grades: Array
    judges: tuple[str, ...]
    count: int

    def grouped(self) -> tuple[Array, Array, Array, Array, Array]:
        """Key, judge, file, lowest and highest grade of what each judge says of a document in a file, in that order."""
        files = int(self.files.max()) + 1
        units = (self.keys.astype(np.int64) * len(self.judges) + self.judge) * files + self.files
        found, inverse = np.unique(units, return_inverse=True)
        lowest, highest = np.full(len(found), math.inf), np.full(len(found), -math.inf)
        np.minimum.at(lowest, inverse, self.grades)
        np.maximum.at(highest, inverse, self.grades)
        rest, file = np.divmod(found, files)
        key, judge = np.divmod(rest, len(self.judges))
        return key, judge, file, lowest, highest

    def contradictions(self) -> list[tuple[int, float, float, int, int]]:
        """Key, lowest and highest grade, judge and file, where one judge says two things in one file."""
        key, judge, file, lowest, highest = self.grouped()
        odd = np.flatnonzero(lowest < highest)
        columns = (key[odd], lowest[odd], highest[odd], judge[odd], file[odd])
        return list(zip(*(column.tolist() for column in columns), strict=True))


@dataclass(frozen=True)
class LaterFile:
    """What a later file did: grades added, changed and left as they were; (key, before, after) of some changed."""

    added: int
    changed: int
    left: int
    examples: tuple[tuple[int, float, float], ...]


@dataclass(frozen=True, eq=False)
class CombinedGrades:
    """grades: of every key. later: one for each file but the first.

    several, disagreed: documents whose grade is made of several judges', and those on which they disagree.
    """

    grades: Array
    later: tuple[LaterFile, ...]
    several: int
    disagreed: int


def combine_judgments(units: JudgmentCodes, precedence: str, combine: Combine) -> CombinedGrades:
    """Return one grade for each document.

    combine: the key of a rule, or what is called with a document, its judges and their grades, and the number of such
    documents, if judges disagree; it raises the error.
    """
    key, judge, file, grade, _ = units.grouped()
    now = np.full(units.count, math.nan)
    later, several, disagreed = [], 0, 0
    for at in range(int(file.max()) + 1):
        rows = latest_rows(key, judge, file, at) if precedence == TOGETHER else np.flatnonzero(file == at)
        found, values, more, odd = combine_judges(key[rows], judge[rows], grade[rows], combine)
        before = now.copy()
        now[found] = np.where(np.isnan(now[found]), values, CHOSEN[precedence](now[found], values))
        several, disagreed = (more, odd) if precedence == TOGETHER else (several + more, disagreed + odd)
        if at:
            later.append(compare_later_file(np.unique(key[file == at]), before, now))
    return CombinedGrades(now, tuple(later), several, disagreed)


def latest_rows(key: Array, judge: Array, file: Array, most: int) -> Array:
    """The rows of each judge's latest judgment of a document in the files up to one; rows are in this order."""
    rows = np.flatnonzero(file <= most)
    pairs = np.stack([key[rows], judge[rows]])
    is_last = np.append(np.any(pairs[:, 1:] != pairs[:, :-1], axis=0), True)
    return rows[is_last]


def deciding_rows(key: Array, file: Array, count: int, *, last: bool) -> Array:
    """The rows of the last (or the first) file that judges each document; count: of documents."""
    signed = file if last else -file
    best = np.full(count, signed.min())
    np.maximum.at(best, key, signed)
    return np.flatnonzero(signed == best[key])


def combine_judges(key: Array, judge: Array, grade: Array, combine: Combine) -> tuple[Array, Array, int, int]:
    """Keys and their grades, and how many of them several judges grade, and grade otherwise; rows by their keys."""
    found, start, counts = np.unique(key, return_index=True, return_counts=True)
    values = grade[start].copy()
    lowest, highest = np.minimum.reduceat(grade, start), np.maximum.reduceat(grade, start)
    odd = np.flatnonzero(lowest < highest)
    for at in odd.tolist():
        rows = slice(start[at], start[at] + counts[at])
        if not isinstance(combine, str):
            combine(int(found[at]), list(zip(judge[rows].tolist(), grade[rows].tolist(), strict=True)), len(odd))
        values[at] = COMBINED[combine](grade[rows].tolist())
    return found, values, int((counts > 1).sum()), len(odd)


def compare_later_file(own: Array, before: Array, now: Array) -> LaterFile:
    """What a file that judges the keys `own` did."""
    is_new = np.isnan(before[own])
    changed = own[~is_new & (before[own] != now[own])]
    examples = tuple((key, float(before[key]), float(now[key])) for key in changed[:MOST_EXAMPLES].tolist())
    return LaterFile(int(is_new.sum()), len(changed), len(own) - int(is_new.sum()) - len(changed), examples)
