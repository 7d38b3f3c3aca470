"""What all the nights say together: a monitor of every comparison, and a ledger of every candidate that ever came.

Both are made again from the history whenever they are asked for, so that nothing is kept that could disagree with it.
Evaluations count in the order in which they were finished, which is that in which somebody looked.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ndcg_ab.engines.duckdb import GrowingDatabase
from ndcg_core.statistics.estimates.mean_difference import minimal_detectable_effect
from ndcg_core.statistics.over_time.monitor import (
    Evidence,
    Judged,
    detectable_at,
    judge_hypotheses,
    monitor_looks,
)
from ndcg_core.statistics.verdicts.verdict import Verdict

Row = dict[str, Any]


@dataclass(frozen=True)
class MonitorLook:
    """One look at a comparison, in the order of looks.

    ordinal, began: of the first evaluation of that content. level: what it may spend of alpha. p_value: what is held
    against it. conclusion: improved or regressed where p_value <= level, else undecided.
    """

    ordinal: int
    began: str
    level: float
    p_value: float
    conclusion: Verdict


@dataclass(frozen=True)
class Monitor:
    """All looks at one candidate on one metric: the chance that any detects a true null is at most alpha.

    looks: how many contents there were, >= 1. latest: the look of the last evaluation. detected: those that detected.
    mde, mde_alone: what the latest look finds with 80 % power, and what its evaluation alone does; None where nothing
        varies. mde is None, too, where the queries are so few that no difference is enough for its level.
    """

    candidate: str
    metric: str
    alpha: float
    looks: int
    latest: MonitorLook
    detected: tuple[MonitorLook, ...]
    mde: float | None
    mde_alone: float | None


@dataclass(frozen=True)
class Entry:
    """One candidate version of the ledger: a ranking that had not been seen on a set of queries before.

    version: the first letters of its digest. metric: the primary metric that speaks most. The rest: as `MonitorLook`.
    """

    ordinal: int
    began: str
    candidate: str
    version: str
    metric: str
    level: float
    p_value: float
    conclusion: Verdict

    @property
    def is_discovery(self) -> bool:
        return self.conclusion.is_detected


@dataclass(frozen=True)
class RepeatedTests:
    """monitors: of the candidates that the last evaluation has, on the primary metrics. ledger: every entry so far.

    alpha: of the last evaluation: of every monitor, and of the share of false discoveries.
    """

    alpha: float
    monitors: tuple[Monitor, ...]
    ledger: tuple[Entry, ...]


def read_repeated_tests(past: GrowingDatabase, until: int | None = None) -> RepeatedTests | None:
    """What the nights up to an ordinal say together; None where nothing was tested."""
    rows: list[Row] = past.read("night_look", order="ordinal, metric, candidate").to_pylist()
    rows = [row for row in rows if until is None or row["ordinal"] <= until]
    if not rows:
        return None
    alpha, last = rows[-1]["alpha"], rows[-1]["ordinal"]
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row["metric"], row["candidate"]), []).append(row)
    monitors = [monitor_comparison(looks, alpha) for looks in found.values() if looks[-1]["ordinal"] == last]
    return RepeatedTests(alpha, tuple(monitors), tuple(ledger_entries(rows, alpha)))


def monitor_comparison(rows: Sequence[Row], alpha: float) -> Monitor:
    """The monitor of one comparison; the same content is the same look."""
    contents = {row["content"]: row for row in reversed(rows)}
    firsts = sorted(contents.values(), key=lambda row: int(row["ordinal"]))
    judged = monitor_looks([evidence(row) for row in firsts], alpha)
    looks = [
        MonitorLook(row["ordinal"], row["began"], *said(row, each)) for row, each in zip(firsts, judged, strict=True)
    ]
    now = rows[-1]
    latest = looks[[row["content"] for row in firsts].index(now["content"])]
    detected = tuple(look for look in looks if look.conclusion.is_detected)
    return Monitor(
        now["candidate"], now["metric"], alpha, len(looks), latest, detected, _detectable(now, latest.level), now["mde"]
    )


def _detectable(row: Row, level: float) -> float | None:
    """What the comparison of a row finds at a level, over its family, with 80 % power; None where nothing varies."""
    alone = row["mde"] if row["mde_alone"] is None else row["mde_alone"]
    if alone is None:
        return None
    deviation = alone / minimal_detectable_effect(row["queries"], 1.0, row["alpha"])
    return detectable_at(level / row["family_size"], row["queries"], deviation, row["largest_loss"])


def ledger_entries(rows: Sequence[Row], alpha: float) -> list[Entry]:
    """The ledger: of every new version the metric with the smallest p, which is adjusted over all of them."""
    new: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        key = (row["query_set"], row["of_candidate"])
        if key not in new or new[key][0]["ordinal"] == row["ordinal"]:
            new.setdefault(key, []).append(row)
    best = [min(found, key=strength) for found in new.values()]
    return [
        Entry(row["ordinal"], row["began"], row["candidate"], row["of_candidate"][:8], row["metric"], *said(row, each))
        for row, each in zip(best, judge_hypotheses([evidence(row) for row in best], alpha), strict=True)
    ]


def strength(row: Row) -> tuple[float, float]:
    return row["p_adjusted"], row["p_t"] if row["p_t"] is not None else 1.0


def evidence(row: Row) -> Evidence:
    return Evidence(row["p_adjusted"], row["p_t"], row["family_size"], row["resamples"], row["bounded_p_value"])


def said(row: Row, judged: Judged) -> tuple[float, float, Verdict]:
    if not judged.is_detected:
        return judged.level, judged.p_value, Verdict.UNDECIDED
    return judged.level, judged.p_value, Verdict.IMPROVED if row["difference"] > 0 else Verdict.REGRESSED


def discoveries(entries: Iterable[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry.is_discovery]
