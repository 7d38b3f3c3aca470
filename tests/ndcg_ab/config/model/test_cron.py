"""Which cron expressions are refused when a configuration is read."""

import pytest

from ndcg_ab.config.model.operation import cron_fault


@pytest.mark.parametrize(
    ("cron", "fits"),
    [
        ("0 2 29 2 *", True),
        ("0 2 31 apr-may *", True),
        ("0 2 * * fri#2", True),
        ("*/5 0-4,8 L jan,7 fri-mon", True),
        ("0 24 * * *", False),
        ("0 2 * * foo", False),
        ("0 2 * *", False),
        ("@daily", False),
    ],
)
def test_a_moment_fits(cron: str, fits: bool) -> None:
    assert (cron_fault(cron) is None) == fits
