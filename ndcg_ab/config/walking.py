"""Find and change texts in nested lists and mappings, such as a configuration, with their key paths."""

import re
from collections.abc import Callable, Iterator
from typing import Any

KeyPath = tuple[int | str, ...]
"""The path to a value in a configuration, such as ("systems", 1, "file")."""


def dotted_key(key_path: KeyPath) -> str:
    """Return a key path as a dotted key: systems[1].file for ("systems", 1, "file")."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in key_path)
    return text.removeprefix(".")


def general_key(key: str) -> str:
    """Return a dotted key without list indices: ``systems[].file`` for ``systems[1].file``."""
    return re.sub(r"\[\d+\]", "[]", key)


def walk_texts(content: Any, key_path: KeyPath = ()) -> Iterator[tuple[KeyPath, str]]:
    """Yield (key path, text) for every text in nested lists and mappings.

    Keys of mappings are not yielded.
    key_path: the path of the content itself.
    """
    if isinstance(content, str):
        yield key_path, content
    elif isinstance(content, dict | list):
        for key, value in content.items() if isinstance(content, dict) else enumerate(content):
            yield from walk_texts(value, (*key_path, key))


def map_texts(content: Any, change: Callable[[str, KeyPath], Any], key_path: KeyPath = ()) -> Any:
    """Return nested content with each text replaced by `change(text, key path of the text)`.

    The keys of mappings stay. Tuples become lists.
    key_path: the path of the content itself.
    """
    if isinstance(content, dict):
        return {key: map_texts(value, change, (*key_path, key)) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [map_texts(value, change, (*key_path, index)) for index, value in enumerate(content)]
    return change(content, key_path) if isinstance(content, str) else content
