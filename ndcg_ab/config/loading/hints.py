"""Parse numbers in a configuration, and write hints on what to give instead of a refused value."""

import re
import sys
from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches
from pathlib import Path
from typing import Any

from ndcg_ab.visible import is_number

SEEN = 1000  # bytes that tell binary data from text
LIKE = 0.6  # least similarity of two file names for a hint


def read_number(value: Any) -> float | None:
    """Return a number as a float, or None for anything else and for numbers too large for a double."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
        return None
    return float(value)


def guess_positive_number(text: str) -> str | None:
    """Return the positive number that a text means: 0.01 for ``1%``, ``0,01``, ``.01 %`` and ``-0.01``; else None."""
    digits = text.strip().lstrip("+-").replace(",", ".")
    share = digits.endswith("%")
    digits = digits.removesuffix("%").strip()
    if not is_number(digits) or not 0 < float(digits) < float("inf"):
        return None
    return f"{float(digits) / 100 if share else float(digits):.12g}"


def guess_alpha(alpha: float) -> str | None:
    """Return, as text, the alpha that a confidence level or percentage means: 0.05 for 0.95, 95 and 5; else None."""
    share = alpha / 100 if 1 <= alpha <= 100 else alpha
    share = min(share, 1 - share)
    return f"{share:.12g}" if 0 < share < 0.5 else None


def closest_hint(value: Any, allowed: Iterable[str]) -> str:
    """Return a hint such as ``; did you mean 'old'?``, or an empty text if no allowed name is similar."""
    names = {name.lower(): name for name in allowed}
    text = str(value).lower()
    near = get_close_matches(text, names, n=1, cutoff=0.5) or [name for name in names if text.startswith(name)]
    return f"; did you mean {names[near[0]]!r}?" if near else ""


def value_hint(key: str, kind: str, value: Any, expected: str = "") -> str:
    """Return a hint on what to write instead of a value that breaks a rule, or an empty text.

    key: the dotted key. kind: pydantic's type of the error. expected: pydantic's text of the allowed values.
    """
    if key == "statistics.alpha" and isinstance(value, int | float) and (proposal := guess_alpha(value)):
        return f"; did you mean {proposal}?" if kind in ("less_than", "less_than_equal") else ""
    if kind == "literal_error":
        return closest_hint(value, [name for name in expected.split("'") if name.strip(" ,") not in ("", "or")])
    if key == "gate.judged" and kind == "less_than_equal":
        proposal = guess_positive_number(f"{value}%")
        return f"; did you mean {proposal}?" if proposal and float(proposal) <= 1 else ""
    if kind.startswith("float") and isinstance(value, str):
        proposal = guess_positive_number(value)
        if proposal and key == "statistics.alpha":
            proposal = guess_alpha(float(proposal))
        return f"; did you mean {proposal}?" if proposal else ""
    if key == "systems" and isinstance(value, dict) and value:
        return "; write each as {name: " + str(next(iter(value))) + ", file: FILE}"
    if isinstance(value, str) and kind == "list_type":
        return f"; write [{value}]"
    if kind == "string_type" and isinstance(value, list):
        return ", not in a list"
    return ""


def similar_file_hint(path: Path) -> str:
    """Return a hint on a missing file, such as ``; did you mean old.run?``, or an empty text.

    The hint may also say that the folder is missing, or how to write a date or variable in the path. File names must be
    similar without their suffixes, since many files have equal suffixes.
    """
    try:
        names = [each.name for each in path.parent.iterdir() if each.is_file()]
    except OSError:
        return f"; there is no folder {path.parent} either{template_hint(str(path))}"
    stem = path.name.partition(".")[0].lower()
    known = {name if path.suffix else name.partition(".")[0].lower(): name for name in sorted(names, reverse=True)}
    near = [
        known[each]
        for each in get_close_matches(path.name, known, n=5, cutoff=LIKE)
        if SequenceMatcher(None, stem, each.partition(".")[0].lower()).ratio() >= LIKE
    ]
    return f"; did you mean {path.parent / near[0]}?" if near else template_hint(str(path))


def template_hint(path: str) -> str:
    """Return a hint on the date or variable that a path seems to contain, or an empty text.

    The hint says how a configuration file writes a date or a variable.
    """
    if variable := re.search(r"\$([A-Za-z_]\w*)", path):
        return f"; a configuration has a variable of the environment as ${{{variable[1]}}}"
    if date := re.search(r"\{date(:[^{}]*)?\}", path):
        return f"; {date[0]} is the date in a configuration alone"
    if braces := re.search(r"\{[^{}]*\}", path):
        return f"; {braces[0]} means nothing here: a configuration writes the date as {{date}}, a variable as ${{NAME}}"
    return ""


def utf8_command(start: bytes) -> str:
    """Return advice on a file that is not UTF-8: a command that converts it, or what to do if it is binary.

    start: the first bytes of the file.
    """
    if sum(byte < 9 or 13 < byte < 32 for byte in start[:SEEN] if byte) > len(start[:SEEN]) / 50:
        return "it holds binary data: name the text that it was made of, or export it as CSV"
    wide = start[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in start[:4]
    unicode = "UTF-32" if b"\0\0" in start[:4] else "UTF-16"
    what, encoding = (f"it is {unicode}", unicode) if wide else ("if it is Latin-1", "LATIN1")
    return f"convert the file to UTF-8; {what}: iconv -f {encoding} -t UTF-8 FILE > NEW"
