"""Numbers above 0 that a difference is held against: margins and smallest effects."""

import sys
from typing import Any

from ndcg_ab.config.loading.hints import plain_number
from ndcg_ab.errors import format_value


def read_number(value: Any) -> float | None:
    """A number that a double can hold; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
        return None
    return float(value)


def read_margin(value: Any) -> float:
    """A difference that matters: a number above 0."""
    found = read_number(value)
    if found is None or found <= 0:
        meant = plain_number(str(value)) if isinstance(value, str) or found is not None else None
        raise ValueError(f"{format_value(value)}: must be a number above 0{f'; write {meant}' if meant else ''}")
    return found
