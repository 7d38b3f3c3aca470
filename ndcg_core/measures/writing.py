"""Write choices and numbers as in a metric's name, and word the message for an unknown value."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any


def format_number(value: float) -> str:
    """Return the shortest text that reads back as the same number.

    Whole numbers below 10^15 have no decimal point.
    """
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def choice_text(value: Any) -> str:
    """Return the value of a choice as text for a metric's name.

    A gain table becomes ``{1:1, 2:3}``. A text is returned unchanged, and a number as `format_number` writes it.
    """
    if isinstance(value, tuple):
        return "{" + ", ".join(f"{format_number(grade)}:{format_number(gain)}" for grade, gain in value) + "}"
    return value if isinstance(value, str) else format_number(value)


def nearest_hint(name: str, names: Iterable[str], cutoff: float = 0.6) -> str:
    """Return a hint on the most similar name, such as ``; did you mean 'exponential'?``.

    Return "" if no name is similar enough. cutoff: smallest similarity of the names, from 0 to 1.
    """
    near = get_close_matches(name, list(names), n=1, cutoff=cutoff)
    return f"; did you mean {near[0]!r}?" if near else ""


def unknown_value_message(name: str, value: str, allowed: Iterable[str]) -> str:
    """Return a message such as ``gain = 'exponental': must be one of …; did you mean 'exponential'?``."""
    allowed = tuple(allowed)
    hint = nearest_hint(str(value).lower(), allowed, cutoff=0.5)
    rule = f"must be {allowed[0]!r}" if len(allowed) == 1 else "must be one of " + ", ".join(allowed)
    return f"{name} = {value!r}: {rule}{hint}"
