r"""Make text from data safe to print: characters that move the cursor, reverse or hide text are escaped.

An id such as ``a\x1b[2Jb`` clears the screen of a terminal that prints it, and a bidirectional override shows
``exe.txt`` for ``txt.exe``. `visible` shows such characters as Python escapes. Files for machines keep them.
"""

import dataclasses
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any

# Control characters but line end and tab; soft hyphen; Arabic and Mongolian marks; zero-width characters, marks of
# direction, separators of lines and paragraphs; lone surrogates; the byte order mark; interlinear marks; tags.
HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ud800-\udfff\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e007f"
)
JOINERS = "\u200c\u200d"  # they belong to Persian, Indic and emoji texts, where such characters are on both sides
WRITTEN_OUT = re.compile(f"[{HIDDEN}]|(?<![^\x00-\u02ff])[{JOINERS}]|[{JOINERS}](?![^\x00-\u02ff])")
FORMULA = ("=", "+", "-", "@")  # what a cell begins with that a spreadsheet computes
COLOURED = re.compile(r"(\x1b\[[0-9;]*m)")  # which our tables and the libraries' help have on a terminal
LEAST_WIDTH, MOST_WIDTH = 20, 10_000  # columns that lines are broken for, whatever the terminal has


def printable_width(columns: int) -> int:
    """Return the width in columns at which lines are broken: `columns`, but at least 20 and at most 10,000."""
    return max(LEAST_WIDTH, min(columns, MOST_WIDTH))


def visible(text: str) -> str:
    r"""Return the text with control characters such as `\x1b` and `\u202e` escaped."""
    return WRITTEN_OUT.sub(lambda match: ascii(match[0])[1:-1], text)


def find_formulas(texts: Iterable[object]) -> list[str]:
    """Return the texts that a spreadsheet would run as formulas.

    Such a text begins with =, +, - or @ and is not a number. Values of other types are skipped.
    """
    return [text for text in texts if isinstance(text, str) and text[:1] in FORMULA and not is_number(text)]


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def visible_but_colours(text: str) -> str:
    """Return terminal output with control characters escaped, except the sequences that set colours."""
    if "\x1b" not in text:
        return visible(text)
    return "".join(part if at % 2 else visible(part) for at, part in enumerate(COLOURED.split(text)))


def visible_json(text: str) -> str:
    """Return a JSON text with control characters escaped. The text still encodes the same values."""
    return WRITTEN_OUT.sub(lambda match: json.dumps(match[0])[1:-1], text)


def visible_record(value: Any) -> Any:
    """Return a copy of nested records, lists, mappings and paths in which every text has control characters escaped.

    Parts without control characters are not copied.
    """
    kind = type(value)
    if kind is str:
        return visible(value) if WRITTEN_OUT.search(value) else value
    if value is None or kind is float or kind is int or kind is bool:  # most of what is in a record
        return value
    if isinstance(value, PurePath):
        text = visible_record(str(value))
        return value if text == str(value) else kind(text)
    if isinstance(value, tuple | list):
        items = [visible_record(item) for item in value]
        if all(new is old for new, old in zip(items, value, strict=True)):
            return value
        return kind(*items) if hasattr(value, "_fields") else kind(items)
    if isinstance(value, Mapping):
        pairs = {visible_record(key): visible_record(item) for key, item in value.items()}
        unchanged = all(key in value and item is value[key] for key, item in pairs.items())
        return value if unchanged else pairs
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        changed = {name: new for name, old in fields.items() if (new := visible_record(old)) is not old}
        return dataclasses.replace(value, **changed) if changed else value
    return value
