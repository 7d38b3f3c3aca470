"""Which cases of a test `make check` and `make test` take, others being left to `make soak`; options of its modules."""

import argparse
import random
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import pytest


def read_options(about: str | None, words: Sequence[str] | None, **defaults: Any) -> argparse.Namespace:
    """Return the options of a module of `make soak`, each of the kind of its default, among them a seed.

    about: the documentation of the module. words: in the place of the command line's. defaults: option -> its value
    unless one is given; of the seed a random one.
    """
    parser = argparse.ArgumentParser(description=(about or "").split("\n")[0])
    for name, default in {"seed": random.SystemRandom().randrange(1 << 30), **defaults}.items():
        parser.add_argument(f"--{name}", type=type(default), default=default)
    return parser.parse_args(words)


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
