"""Servers that are away, hang or answer with errors, and a configuration file that names them."""

import contextlib
import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from ndcg_ab.config.model.evaluation import Evaluation
from tests.loopback import Said, serving


@contextlib.contextmanager
def hanging() -> Iterator[int]:
    """The port of a server that takes connections and never answers."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(50)
        yield server.getsockname()[1]


@contextlib.contextmanager
def answering(said: Said) -> Iterator[int]:
    """The port of a server that gives everybody the same answer."""
    with serving(lambda _: said) as server:
        yield urlsplit(server.address).port or 0


def dripping(pause: float = 0.3) -> contextlib.AbstractContextManager[int]:
    """The port of a server whose answers come byte by byte, and do not end."""
    return answering(Said(b"x" * 1000, slowly=pause))


def failing(status: int = 500, words: bytes = b"<html>broken</html>") -> contextlib.AbstractContextManager[int]:
    """The port of a server that answers everything with an error."""
    return answering(Said(words, status))


@contextlib.contextmanager
def closed() -> Iterator[int]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    yield port


OUTAGES: dict[str, Callable[[], contextlib.AbstractContextManager[int]]] = {
    "refused": closed,
    "hanging": hanging,
    "500": failing,
    "words that are no JSON": lambda: failing(200),
}


def configuration(evaluation: Evaluation, folder: Path, **changes: Any) -> Path:
    content = json.loads(evaluation.model_dump_json(exclude={"directory"}, exclude_none=True, exclude_defaults=True))
    path = folder / "inputs" / "config.yaml"
    path.write_text(yaml.safe_dump({**content, **changes}))
    return path
