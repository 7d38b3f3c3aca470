"""Whether values are plausible as grades, ranks, scores and ids: no form is recognised by a name alone."""

from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise

from ndcg_ab.sources.tables.schema import NO_GRADE, is_plain_number

MOST_GRADE = 1_000  # a higher number is a time, an id or a count
MOST_GRADES = 20  # different grades in a hundred lines
FIRST_TIME, LAST_TIME = 100_000_000, 10_000_000_000_000  # seconds since 1970: 1973; milliseconds: 2286


def numbers(values: Iterable[str], decimal: str = ".") -> list[float] | None:
    """Return the values as numbers; None if one is none."""
    texts = [value.strip().replace(decimal, ".") for value in values]
    return [float(text) for text in texts] if texts and all(map(is_plain_number, texts)) else None


def rated(values: Iterable[str]) -> list[str]:
    """Return the values that are neither empty nor a word for none."""
    return [value for value in values if value.strip() and value.strip() not in NO_GRADE]


def are_grades(values: Sequence[str], decimal: str = ".") -> bool:
    """Return whether values are few different numbers of grades, or words; empty ones are no judgment."""
    given = rated(values)
    found = numbers(given, decimal)
    if found is None:
        return bool(given) and len(set(given)) <= MOST_GRADES and not any(" " in value.strip() for value in given)
    return len(set(found)) <= MOST_GRADES and max(map(abs, found)) <= MOST_GRADE


def are_ranks(query_ids: Sequence[str], values: Sequence[str]) -> bool:
    """Return whether values count from 0 or 1 within each query, and reach the second place in one."""
    found = numbers(values)
    if found is None:
        return False
    queries = [
        [rank for _, rank in rows] for _, rows in groupby(zip(query_ids, found, strict=True), lambda row: row[0])
    ]
    return max(map(len, queries)) > 1 and all(
        ranks[0] in (0, 1) and all(after == before + 1 for before, after in pairwise(ranks)) for ranks in queries
    )


def are_times(values: Sequence[str]) -> bool:
    """Return whether values are seconds or milliseconds since 1970."""
    found = numbers(values)
    return found is not None and min(found) >= FIRST_TIME and max(found) <= LAST_TIME


def vary(values: Sequence[str]) -> bool:
    """Return whether values are not all the same, as ids of documents are not; a single one may be."""
    return len(set(values)) > 1 or len(values) < 3


def fall(query_ids: Sequence[str], values: Sequence[float]) -> bool:
    """Return whether values never rise within a query, and are not all the same in each."""
    pairs = [
        (before, after) for before, after in pairwise(zip(query_ids, values, strict=True)) if before[0] == after[0]
    ]
    return all(after[1] <= before[1] for before, after in pairs) and any(
        after[1] < before[1] for before, after in pairs
    )
