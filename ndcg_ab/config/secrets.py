"""Secrets: named in a configuration by reference alone, looked up when they are used, and shown nowhere.

    {env: NAME}      the variable NAME of the environment
    {file: PATH}     what the file holds, without the line end
    {prefect: NAME}  the Prefect block of type Secret that is called NAME

What is kept of an evaluation holds the reference.  Every value that was looked up is remembered by this process, and
`redacted` takes it out of whatever is about to be shown or kept.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ndcg_ab.config.references import is_reference
from ndcg_ab.config.values import filled
from ndcg_ab.errors import InputError

SHORTEST = 4  # letters; a shorter text stands in too many places that hold no secret
HIDDEN = "•••"
_revealed: set[str] = set()


def revealed(content: Any, where: str, directory: Path) -> Any:
    """The same with the values of its references and of `${VARIABLES}`, in lists and mappings, too.

    where: the key, for messages.  directory: what relative paths of secrets start from.  Raises InputError where a
    secret is not there.
    """
    if is_reference(content):
        ((kind, name),) = content.items()
        return remembered(LOOK_UP[kind](str(name), where, directory))
    if isinstance(content, dict):
        return {key: revealed(value, f"{where}.{key}", directory) for key, value in content.items()}
    if isinstance(content, list):
        return [revealed(value, f"{where}[{at}]", directory) for at, value in enumerate(content)]
    return filled(content, where) if isinstance(content, str) else content


def remembered(value: str) -> str:
    """The value, which `redacted` knows from now on."""
    if len(value) >= SHORTEST:
        _revealed.add(value)
    return value


def redacted(text: str) -> str:
    """A text without the secrets that this process has looked up."""
    for secret in longest_first():
        text = text.replace(secret, HIDDEN)
    return text


def longest_first() -> Iterator[str]:
    yield from sorted(_revealed, key=len, reverse=True)


def from_environment(name: str, where: str, directory: Path) -> str:
    value = os.environ.get(name)
    if not value:
        raise InputError(f"{where}: the variable {name} is not set: set it, or name another with {{env: NAME}}")
    return value


def from_file(name: str, where: str, directory: Path) -> str:
    path = directory / Path(name).expanduser()
    try:
        return path.read_text().rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{where}: {path}: the secret cannot be read: {type(error).__name__}") from None


def from_prefect(name: str, where: str, directory: Path) -> str:
    from prefect.blocks.system import Secret

    try:
        block: Any = Secret.load(name)
        return str(block.get())
    except Exception as error:
        raise InputError(f"{where}: Prefect has no secret block {name!r}: {type(error).__name__}") from None


LOOK_UP = {"env": from_environment, "file": from_file, "prefect": from_prefect}
