"""How choices and numbers are written in a metric's name, and how a wrong one is refused."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any


def format_number(value: float) -> str:
    """The shortest text that reads back as the same number, whole ones without a point."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def written(value: Any) -> str:
    """A choice as it is in a name: text as it is, numbers by `format_number`, a gain table as ``{1:1, 2:3}``."""
    if isinstance(value, tuple):
        return "{" + ", ".join(f"{format_number(grade)}:{format_number(gain)}" for grade, gain in value) + "}"
    return value if isinstance(value, str) else format_number(value)


def nearest_hint(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """``; did you mean 'exponential'?``, or nothing where no known name is like it; cutoff: how like, 0 to 1."""
    near = get_close_matches(name, list(known), n=1, cutoff=cutoff)
    return f"; did you mean {near[0]!r}?" if near else ""


def unknown_value_message(what: str, value: str, allowed: Iterable[str]) -> str:
    """``gain = 'exponental': must be one of …; did you mean 'exponential'?``"""
    allowed = tuple(allowed)
    hint = nearest_hint(str(value).lower(), allowed, cutoff=0.5)
    rule = f"must be {allowed[0]!r}" if len(allowed) == 1 else "must be one of " + ", ".join(allowed)
    return f"{what} = {value!r}: {rule}{hint}"
