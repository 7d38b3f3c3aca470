"""Servers that are away, hang or answer with errors, and a configuration file that names them."""

import contextlib
import http.server
import json
import socket
import threading
import time
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
def dripping(pause: float = 0.3) -> Iterator[int]:
    """The port of a server whose answers come byte by byte, and do not end."""

    class Dripping(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            with contextlib.suppress(OSError):
                for byte in b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 1000:
                    self.wfile.write(bytes([byte]))
                    time.sleep(pause)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Dripping)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.socket.close()


@contextlib.contextmanager
def failing(status: int = 500, words: bytes = b"<html>broken</html>") -> Iterator[int]:
    """The port of a server that answers everything with an error."""
    with serving(lambda _: Said(words, status)) as server:
        yield urlsplit(server.address).port or 0


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
