"""Families whose flips are drawn once for all of them: every number is that of each family by itself."""

import numpy as np
import pytest

from ndcg_core.statistics.hypothesis_tests import flip_tasks, flips, sign_flip, simultaneous
from ndcg_core.statistics.verdicts.comparison import Column, compare_families, compare_family

SETTINGS = {"resamples": 600, "seed": 3}


def tables() -> list[np.ndarray]:
    """Many queries and few, ties, nothing at all, columns that differ on other rows than the family beside them."""
    rng = np.random.default_rng(8)
    found = [np.round(rng.normal(0.1, 1.0, (queries, columns)), 2) for queries, columns in ((40, 3), (60, 2), (9, 2))]
    sparse = np.round(rng.normal(0.3, 1.0, (60, 2)), 1)
    sparse[::2] = 0.0
    sparse[20:, 1] = 0.0
    return [*found, sparse, np.zeros((30, 2)), np.zeros((0, 0)), found[0][:, :1]]


@pytest.mark.parametrize("most", [1, 4, 512])
def test_together_and_alone(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flip_tasks, "COLUMNS", most)
    assert sign_flip.sign_flips(tables(), **SETTINGS) == [sign_flip.sign_flip(table, **SETTINGS) for table in tables()]
    shares = [None, np.linspace(0.5, 1.5, 60)[:, np.newaxis] * [1.0, 1.0], *[None] * 5]
    levels = (0.9, 0.8)
    found = simultaneous.simultaneous_quantiles(tables(), levels=levels, shares=shares, **SETTINGS)
    assert found == [
        tuple(simultaneous.simultaneous_quantile(table, level=level, shares=share, **SETTINGS) for level in levels)
        for table, share in zip(tables(), shares, strict=True)
    ]
    assert len(set(found)) > 4
    assert all(wide > narrow or wide == 0 for wide, narrow in found)


def test_a_family_is_adjusted_by_its_own_columns() -> None:
    first, second, *_ = tables()
    alone = sign_flip.sign_flips([first[:, :2], second], **SETTINGS)[0]
    joined = sign_flip.sign_flip(np.hstack([first[:, :2], second[:40]]), **SETTINGS)
    assert alone.p_adjusted[0] < joined.p_adjusted[0], "more columns, larger p"


def test_flips_are_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []
    real = flips.drawn_bits
    monkeypatch.setattr(flips, "drawn_bits", lambda seed, rows, block: drawn.append(block) or real(seed, rows, block))
    sign_flip.sign_flips(tables()[:2], **SETTINGS)
    assert sorted(drawn) == [0, 1, 2]
    simultaneous.simultaneous_quantiles(tables()[:2], levels=(0.9, 0.8), shares=[None, None], **SETTINGS)
    assert sorted(drawn) == [0, 0, 1, 1, 2, 2], "once for both levels"


def test_two_statistics_share_their_flips(monkeypatch: pytest.MonkeyPatch) -> None:
    levels, shares = (0.9, 0.8), [None] * len(tables())
    alone = [
        sign_flip.sign_flips(tables(), **SETTINGS),
        simultaneous.simultaneous_quantiles(tables(), levels=levels, shares=shares, **SETTINGS),
    ]
    drawn = []
    real = flips.drawn_bits
    monkeypatch.setattr(flips, "drawn_bits", lambda seed, rows, block: drawn.append(block) or real(seed, rows, block))
    both = [
        sign_flip.sign_flip_statistic(tables(), SETTINGS["resamples"]),
        simultaneous.quantile_statistic(tables(), levels, shares, *SETTINGS.values(), 1),
    ]
    assert flip_tasks.flip_statistics(both, workers=1, **SETTINGS) == alone
    assert sorted(drawn) == [0, 1, 2]


def test_comparisons_of_families_are_those_of_each() -> None:
    ids = tuple(f"q{number:02}" for number in range(60))
    families = {
        f"family {number}": [
            Column("old", f"new {at}", "ndcg@10", ids[: len(table)], values) for at, values in enumerate(table.T)
        ]
        for number, table in enumerate(tables())
    }
    together = compare_families(families, **SETTINGS)
    assert together == [compare_family(columns, family=name, **SETTINGS) for name, columns in families.items()]
    assert {row.family_size for rows in together for row in rows} >= {2, 3}
