"""Which cases of a test `make check` and `make test` take; others are left to `make test` and `make soak`."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def mostly_soaked(values: Iterable[Any], kept: Collection[Any]) -> list[Any]:
    """The values as parameters of a test; those that are not kept are marked `soak`."""
    return marked(values, kept, pytest.mark.soak)


def mostly_slow(values: Iterable[Any], kept: Collection[Any]) -> list[Any]:
    """The same; those that are not kept are marked `slow`."""
    return marked(values, kept, pytest.mark.slow)


def marked(values: Iterable[Any], kept: Collection[Any], mark: pytest.MarkDecorator) -> list[Any]:
    values = list(values)
    assert all(value in values for value in kept), f"{kept} are not all among {values}"
    return [value if value in kept else pytest.param(value, marks=mark) for value in values]
