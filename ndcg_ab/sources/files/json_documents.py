"""JSON read strictly: no key may come twice in an object."""

import json
from collections import Counter
from typing import Any

from ndcg_ab.errors import format_value


class RepeatedKeyError(ValueError):
    """A key that comes twice in one object of JSON."""

    def __init__(self, key: object) -> None:
        super().__init__(f"key {format_value(key)} comes twice in one object: a key must come once")


def load_strictly(text: str | bytes) -> Any:
    """Return the value of a JSON text; raise RepeatedKeyError if a key comes twice in one of its objects."""
    return json.loads(text, object_pairs_hook=make_strict_object)


def make_strict_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise RepeatedKeyError(Counter(key for key, _ in pairs).most_common(1)[0][0])
    return found


DECODER = json.JSONDecoder(object_pairs_hook=make_strict_object)
