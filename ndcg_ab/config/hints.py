"""What to write in the place of a value that was refused."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def plain_number(text: str) -> str | None:
    """The number above 0 that was meant: 0.01 for ``1%``, ``0,01``, ``.01 %`` and ``-0.01``; None where none was."""
    bare = text.strip().lstrip("+-").replace(",", ".")
    share = bare.endswith("%")
    bare = bare.removesuffix("%").strip()
    if not is_number(bare) or not 0 < float(bare) < float("inf"):
        return None
    return f"{float(bare) / 100 if share else float(bare):.12g}"


def threshold(alpha: float) -> str | None:
    """The alpha that a confidence or a percentage stands for: 0.05 for 0.95, 95 and 5; None where there is none."""
    share = alpha / 100 if 1 <= alpha <= 100 else alpha
    share = min(share, 1 - share)
    return f"{share:.12g}" if 0 < share < 0.5 else None


def closest(value: Any, known: Iterable[str]) -> str:
    """``; did you mean 'old'?``, or nothing where no known one is like it."""
    names = {name.lower(): name for name in known}
    text = str(value).lower()
    near = get_close_matches(text, names, n=1, cutoff=0.5) or [name for name in names if text.startswith(name)]
    return f"; did you mean {names[near[0]]!r}?" if near else ""


def value_hint(key: str, kind: str, value: Any, expected: str = "") -> str:
    """What to write instead, for a key of a configuration whose value breaks a rule.

    key: dotted, without places in lists. kind: the rule's name, as pydantic has it. expected: the values allowed.
    """
    if key == "statistics.alpha" and isinstance(value, int | float) and (meant := threshold(value)):
        return f"; did you mean {meant}?" if kind in ("less_than", "less_than_equal") else ""
    if kind == "literal_error":
        return closest(value, [name for name in expected.split("'") if name.strip(" ,") not in ("", "or")])
    if key == "systems" and isinstance(value, dict) and value:
        return "; write each as {name: " + str(next(iter(value))) + ", file: FILE}"
    if isinstance(value, str) and (kind == "list_type" or key in ("metrics", "secondary_metrics")):
        return f"; write [{value}]"
    if kind == "string_type" and isinstance(value, list):
        return ", not in a list"
    return ""
