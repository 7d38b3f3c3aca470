"""Which cases of a test `make check` and `make test` take; others are left to `make test` and `make soak`."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def require_work(name: str, **counts: int) -> None:
    """Raise RuntimeError if one of the counts of what a module of `make soak` did is 0."""
    if idle := [what for what, count in counts.items() if not count]:
        raise RuntimeError(f"{name}: did nothing: no {', no '.join(idle)}")


def mostly_soaked(values: Iterable[Any], kept: Collection[Any]) -> list[Any]:
    """The values as parameters of a test; those that are not kept are marked `soak`."""
    return mark_cases(values, kept, pytest.mark.soak)


def mostly_slow(values: Iterable[Any], kept: Collection[Any]) -> list[Any]:
    """The same; those that are not kept are marked `slow`."""
    return mark_cases(values, kept, pytest.mark.slow)


def mark_cases(values: Iterable[Any], kept: Collection[Any], mark: pytest.MarkDecorator) -> list[Any]:
    values = list(values)
    assert all(value in values for value in kept), f"{kept} are not all among {values}"
    return [value if value in kept else pytest.param(value, marks=mark) for value in values]
