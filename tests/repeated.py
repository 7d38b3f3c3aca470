"""Which cases of a test `make test` takes; those that repeat them for confidence are left to `make soak`."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def mostly_soaked(values: Iterable[Any], kept: Collection[Any]) -> list[Any]:
    """The values as parameters of a test; those that are not kept are marked `soak`."""
    values = list(values)
    assert all(value in values for value in kept), f"{kept} are not all among {values}"
    return [value if value in kept else pytest.param(value, marks=pytest.mark.soak) for value in values]
