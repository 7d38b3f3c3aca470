"""Secrets that are in a configuration in plain text: they are used, and treated as secrets from then on.

Where a key is looked up when it is used, a mark stands for the secret in the evaluation (``•••prefect.api_url•••``), so
that nothing that is made of the evaluation can hold it; this process alone knows what the mark stands for.  Elsewhere
the value stays, and is taken out of what is kept.
"""

import re
from collections.abc import Iterator
from typing import Any

from ndcg_ab.config.model.references import is_looked_up_later, is_reference
from ndcg_ab.config.secrets.redaction import HIDDEN, SHORTEST, remember_secret
from ndcg_ab.config.secrets.secret_shapes import secrets_in
from ndcg_ab.config.walking import Place, map_texts
from ndcg_ab.errors import InputError

MARK = re.compile(f"{HIDDEN}(?P<key>[^•]+){HIDDEN}")
_marked: dict[str, str] = {}


def mark_secrets(content: Any, key: str = "", name: object = "") -> Any:
    """What a configuration says, with a mark for every plain secret; key: where in it; name: the last part of that."""
    if is_reference(content):
        return content
    if isinstance(content, dict):
        return {part: mark_secrets(value, f"{key}.{part}".removeprefix("."), part) for part, value in content.items()}
    if isinstance(content, list):
        return [mark_secrets(value, f"{key}[{at}]", name) for at, value in enumerate(content)]
    if not isinstance(content, str):
        return content
    for secret in dict.fromkeys(secrets_in(name, content)):
        remember_secret(secret)
        if is_looked_up_later(key):
            content = replace_secret(content, secret, secret_mark(secret, key))
    return content


def without_plain_secrets(content: Any) -> Any:
    """What is kept of a configuration: nothing that looks like a secret, wherever it stands."""

    def hide(text: str, place: Place) -> str:
        name = next((part for part in reversed(place) if isinstance(part, str)), "")
        for secret in dict.fromkeys(secrets_in(name, text)):
            text = replace_secret(text, secret, HIDDEN)
        return text

    return map_texts(content, hide)


def replace_secret(content: str, secret: str, instead: str) -> str:
    """With something else for a secret; a very short one is in too many words, and is replaced as a password."""
    if len(secret) < SHORTEST and content != secret:
        return content.replace(f":{secret}@", f":{instead}@")
    return content.replace(secret, instead)


def secret_mark(secret: str, key: str) -> str:
    """What stands for a plain secret; another one at the same key has another number."""
    name = re.sub(r"[^\w.-]+", ".", key).strip(".")  # an address with it stays an address
    number = 1
    while (mark := f"{HIDDEN}{name}{'' if number == 1 else f'.{number}'}{HIDDEN}") in _marked:
        if _marked[mark] == secret:
            return mark
        number += 1
    _marked[mark] = secret
    return mark


def restore_secrets(text: str, where: str) -> str:
    """The text with its secrets; InputError where another process knew them."""

    def meant(found: re.Match[str]) -> str:
        if found[0] not in _marked:
            raise InputError(
                f"{where}: the secret stood in plain text, and is not kept: name it by {{env: NAME}}, {{file: PATH}} or"
                " {prefect: BLOCK} in the configuration"
            )
        return remember_secret(_marked[found[0]])

    return MARK.sub(meant, text)


def find_plain_secrets(content: Any, key: str = "", name: object = "") -> Iterator[str]:
    """The keys of an evaluation as it is dumped at which a secret is in plain text, marked or not."""
    if isinstance(content, dict) and not is_reference(content):
        for part, value in content.items():
            yield from find_plain_secrets(value, f"{key}.{part}".removeprefix("."), part)
    elif isinstance(content, list):
        for at, value in enumerate(content):
            yield from find_plain_secrets(value, f"{key}[{at}]", name)
    elif isinstance(content, str) and (MARK.search(content) or any(secrets_in(name, content))):
        yield key
