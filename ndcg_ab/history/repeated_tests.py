"""Test every comparison over all nights together, with the error controlled over repeated looks.

Every call computes the monitors from the history, so that no stored state can disagree with it. Evaluations count in
the order of finishing, which is the order of the looks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ndcg_ab.engines.duckdb import GrowingDatabase
from ndcg_core.statistics.estimates.mean_difference import deviation_of_interval
from ndcg_core.statistics.over_time import Evidence, detectable_at, monitor_tests
from ndcg_core.statistics.verdicts.verdict import Verdict

Row = dict[str, Any]


@dataclass(frozen=True)
class MonitorLook:
    """One look at a comparison that is tested repeatedly: its test in one evaluation.

    Attributes
    ----------
    ordinal, began : int, str
        Number and nominal time of the evaluation; of the first one if several have equal content.
    level : float
        The part of alpha that this look may spend.
    p_value : float
        The p-value that is compared with the level.
    conclusion : Verdict
        Improved or regressed if p_value <= level, else undecided.
    """

    ordinal: int
    began: str
    level: float
    p_value: float
    conclusion: Verdict


@dataclass(frozen=True)
class Monitor:
    """The repeated tests of one candidate on one metric over all evaluations. Each test is a look.

    If there is no true difference, the probability that any look finds one is at most alpha.

    Attributes
    ----------
    alpha : float
        Bound on the probability of a false detection in any look.
    looks : int
        Number of evaluations with distinct content, >= 1.
    latest : MonitorLook
        The look of the last evaluation.
    detected : tuple of MonitorLook
        The looks that found a difference.
    mde : float or None
        The difference that the latest look detects with 80 % power. None if the per-query differences do not vary, or
        if not even the largest possible loss would be detected.
    mde_alone : float or None
        The difference that the last evaluation would detect if it were the only one; None if the differences do not
        vary.
    has_range : bool
        Whether the range of the metric is known. Without it, skewed differences can break the bound on alpha.
    """

    candidate: str
    metric: str
    alpha: float
    looks: int
    latest: MonitorLook
    detected: tuple[MonitorLook, ...]
    mde: float | None
    mde_alone: float | None
    has_range: bool


@dataclass(frozen=True)
class RepeatedTests:
    """The tests that are repeated over all evaluations.

    Attributes
    ----------
    alpha : float
        Bound of each monitor on the probability of a false detection.
    monitors : tuple of Monitor
        One monitor for each primary metric and each candidate of the last evaluation.
    """

    alpha: float
    monitors: tuple[Monitor, ...]


def read_repeated_tests(past: GrowingDatabase, until: int | None = None) -> RepeatedTests | None:
    """Return the tests that are repeated over all evaluations, or None if no comparison was tested.

    The tests of one candidate on one metric are a `Monitor`. The result has one for each comparison in the last
    evaluation that has tests.
    past: the open history.
    until: the ordinal of the last evaluation to include; None for all evaluations.
    """
    rows: list[Row] = past.read("night_look", order="ordinal, metric, candidate").to_pylist()
    rows = [row for row in rows if until is None or row["ordinal"] <= until]
    if not rows:
        return None
    alpha, last = rows[-1]["alpha"], rows[-1]["ordinal"]
    by_comparison: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        by_comparison.setdefault((row["metric"], row["candidate"]), []).append(row)
    monitors = [monitor_comparison(looks, alpha) for looks in by_comparison.values() if looks[-1]["ordinal"] == last]
    return RepeatedTests(alpha, tuple(monitors))


def monitor_comparison(rows: Sequence[Row], alpha: float) -> Monitor:
    """Return the monitor of one comparison, which tests all looks together at level alpha.

    rows: the comparison in each evaluation, in the order of evaluations. If several rows have equal content, only the
        first counts as a look.
    """
    contents = {row["content"]: row for row in reversed(rows)}
    firsts = sorted(contents.values(), key=lambda row: int(row["ordinal"]))
    columns = ("p_adjusted", "p_t", "family_size", "resamples", "bounded_p_value")
    judged = monitor_tests([Evidence(*(row[name] for name in columns)) for row in firsts], alpha)
    looks = [
        MonitorLook(row["ordinal"], row["began"], *each, conclusion_of(row, *each))
        for row, each in zip(firsts, judged, strict=True)
    ]
    now = rows[-1]
    latest = looks[[row["content"] for row in firsts].index(now["content"])]
    detected = tuple(look for look in looks if look.conclusion.is_detected)
    mde, has_range = _detectable_difference(now, latest.level), now["largest_loss"] is not None
    return Monitor(now["candidate"], now["metric"], alpha, len(looks), latest, detected, mde, now["mde"], has_range)


def _detectable_difference(row: Row, level: float) -> float | None:
    """Return the difference that a stored comparison detects with 80 % power at a level.

    The result is None if the per-query differences do not vary, or if not even the largest possible loss would be
    detected.
    level: the level of the whole family of comparisons; one comparison gets level / family_size.
    """
    if row["mde"] is None:
        return None
    deviation = deviation_of_interval(row["queries"], row["high"] - row["low"], 1 - row["alpha"])
    return detectable_at(level / row["family_size"], row["queries"], deviation, row["largest_loss"])


def conclusion_of(row: Row, level: float, p_value: float) -> Verdict:
    if p_value > level:
        return Verdict.UNDECIDED
    return Verdict.IMPROVED if row["difference"] > 0 else Verdict.REGRESSED
