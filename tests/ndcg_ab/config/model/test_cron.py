"""Which days a cron expression can have: those that one of its months has."""

import pytest

from ndcg_ab.config.model.cron import cron_fault


@pytest.mark.parametrize(
    ("cron", "fits"),
    [
        ("0 2 29 2 *", True),
        ("0 2 30 2 *", False),
        ("0 2 30 2,4 *", True),
        ("0 2 31 4 *", False),
        ("0 2 31 apr-may *", True),
        ("0 2 * * fri#2", True),
        ("0 2 1 * fri#2", False),
        ("0 24 * * *", False),
    ],
)
def test_a_moment_fits(cron: str, fits: bool) -> None:
    assert (cron_fault(cron) is None) == fits
