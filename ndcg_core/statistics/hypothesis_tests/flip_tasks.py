"""What several statistics ask of the same flips, which are drawn and added up once for all of them.

Drawing flips and adding up under them takes nearly all of a test's time where there are thousands of queries.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ndcg_core.statistics.hypothesis_tests.flips import (
    COLUMNS,
    ENUMERABLE,
    BitTiles,
    Family,
    FloatArray,
    absolute_sums,
    count_processors,
    group_families,
    join_families,
    make_flips,
    map_blocks,
)


@dataclass(frozen=True, slots=True)
class FlipTask:
    """What is asked of the sums of one family, which has columns.

    take: of |sum| of its columns under some flips, in quanta (columns x flips; it may overwrite them), what is kept.
    join: what is kept of several such, as one.
    """

    family: Family
    take: Callable[[FloatArray], Any]
    join: Callable[[list[Any]], Any]


@dataclass(frozen=True, slots=True)
class FlipStatistic:
    """A statistic of families of columns: its tasks, and what comes of their results, (flips, kept) of each."""

    tasks: Sequence[FlipTask]
    conclude: Callable[[Sequence[tuple[int, Any]]], list[Any]]


def flip_statistics(
    statistics: Sequence[FlipStatistic], *, resamples: int, seed: int, workers: int | None
) -> list[list[Any]]:
    """Every statistic, bit for bit what it is alone."""
    found = run_tasks([task for each in statistics for task in each.tasks], resamples, seed, workers)
    results, start = [], 0
    for each in statistics:
        results.append(each.conclude(found[start : start + len(each.tasks)]))
        start += len(each.tasks)
    return results


def run_tasks(tasks: Sequence[FlipTask], resamples: int, seed: int, workers: int | None) -> list[tuple[int, Any]]:
    """Of every task the number of flips, and what it keeps of them."""
    drawn = [number for number, task in enumerate(tasks) if len(task.family.rows) > ENUMERABLE]
    groups = [[drawn[at] for at in group] for group in group_families([tasks[at].family for at in drawn], COLUMNS)]
    found: dict[int, tuple[int, Any]] = {}
    for group in [*groups, *([number] for number in range(len(tasks)) if number not in drawn)]:
        together = [tasks[number] for number in group]
        joined, parts = join_families([task.family for task in together])
        flips, bits = make_flips(joined, resamples, seed)
        work = partial(_take_of_blocks, joined, list(zip(together, parts, strict=True)), bits, flips)
        of_workers = map_blocks(work, flips, len(joined.rows), workers or count_processors())
        for number, kept in zip(group, zip(*of_workers, strict=True), strict=True):
            found[number] = flips, tasks[number].join(list(kept))
    return [found[number] for number in range(len(tasks))]


def _take_of_blocks(
    joined: Family,
    tasks: Sequence[tuple[FlipTask, slice]],
    bits: Callable[[int], BitTiles],
    flips: int,
    blocks: range,
) -> list[Any]:
    kept: list[list[Any]] = [[] for _ in tasks]
    for sums in absolute_sums(joined, bits, flips, blocks):
        for own, (task, part) in zip(kept, tasks, strict=True):
            own.append(task.take(sums[part]))
    return [task.join(own) for own, (task, _) in zip(kept, tasks, strict=True)]
