"""Columns of differences for the tests, and what the families make of them."""

import math
from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from ndcg_core.statistics.hypothesis_tests import procedures
from ndcg_core.statistics.verdicts.comparison import Column, Comparison, check_guardrails, compare_family

Numbers = Sequence[float] | NDArray[np.float64]


def column(differences: Numbers, effect: float | None = None, candidate: str = "new", **given: Any) -> Column:
    ids = given.pop("query_ids", None) or tuple(f"q{number:04d}" for number in range(len(differences)))
    return Column("old", candidate, "rr", tuple(ids), differences, smallest_effect=effect, **given)


def by_flips(columns: Sequence[Column], **settings: Any) -> list[Comparison]:
    """`compare_family` without the bootstrap, where every pattern of signs can be counted."""
    with patch.object(procedures, "combine_tests", lambda flipped, drawn: flipped):
        return compare_family(columns, **settings)


def compare(differences: Numbers, effect: float | None = None, **given: Any) -> Comparison:
    """given: what belongs to the column, and the family's settings; by default a query can lose any amount."""
    names = ("weights", "baseline_values", "query_ids", "largest_loss")
    own = {"largest_loss": math.inf} | {name: given.pop(name) for name in names if name in given}
    (found,) = compare_family([column(differences, effect, **own)], **given)
    return found


def guard(differences: Numbers, margin: float, **given: Any) -> Comparison:
    """given: what belongs to the column, and the family's settings."""
    own = {name: given.pop(name) for name in ("weights", "clusters", "largest_loss") if name in given}
    (found,) = check_guardrails([column(differences, margin, **own)], **given)
    return found


def around_mean(mean: float) -> list[float]:
    """26 differences, half of them mean + .1, half mean - .1: their standard error is .1 / sqrt(25) = .02.

    t(.975, 25) = 2.0595, t(.95, 25) = 1.7081, t(.8, 25) = .8562: the 95 % interval is mean -/+ .0412, the 90 % one
    mean -/+ .0342, the MDE .0583.
    """
    return [mean + 0.1, mean - 0.1] * 13


def family(seed: int = 2, queries: int = 40, columns: int = 4, shift: float = 0.02) -> list[Column]:
    """Correlated columns, the first of which has half the queries."""
    rng = np.random.default_rng(seed)
    common = rng.normal(shift, 0.1, size=queries)
    found = [column(common + rng.normal(0, 0.05, queries), candidate=f"c{number}") for number in range(columns)]
    half = column(found[0].differences[::2], candidate="c0", query_ids=found[0].query_ids[::2])
    return [half, *found[1:]]
