"""A search engine on loopback that misbehaves as it is told: for tests of what is asked over HTTP."""

import contextlib
import dataclasses
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclasses.dataclass(frozen=True)
class Asked:
    """A request as it came; number: how many came before it, this one included."""

    number: int
    method: str
    path: str
    query: dict[str, list[str]]
    headers: Mapping[str, str]
    body: Any

    @property
    def text(self) -> str:
        """The query's text, wherever the tests put it."""
        return self.query.get("q", [""])[0] or (self.body or {}).get("q", "")


@dataclasses.dataclass(frozen=True)
class Said:
    """An answer. slowly: seconds between its bytes; cut: bytes that are promised and do not come."""

    content: Any = None
    status: int = 200
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    slowly: float = 0.0
    cut: int = 0

    @property
    def bytes(self) -> bytes:
        return self.content if isinstance(self.content, bytes) else json.dumps(self.content).encode()


@dataclasses.dataclass
class Loopback:
    """The server; asked: what was asked of it, in the order in which it came."""

    address: str
    asked: list[Asked] = dataclasses.field(default_factory=list)
    most_at_once: int = 0

    @property
    def texts(self) -> list[str]:
        return [each.text for each in self.asked]


@contextlib.contextmanager
def serving(answer: Callable[[Asked], Said]) -> Iterator[Loopback]:
    """A server that answers so."""
    lock = threading.Lock()
    at_work = 0

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # else an answer waits 40 ms between its head and its body

        def do_GET(self) -> None:
            nonlocal at_work
            length = int(self.headers.get("content-length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            parts = urlsplit(self.path)
            headers = {name.lower(): value for name, value in self.headers.items()}
            with lock:
                at_work += 1
                found.most_at_once = max(found.most_at_once, at_work)
                number = len(found.asked) + 1
                asked = Asked(number, self.command, parts.path, parse_qs(parts.query), headers, body)
                found.asked.append(asked)
            try:
                with contextlib.suppress(OSError):  # the client may have had enough
                    self.say(answer(asked))
            finally:
                with lock:
                    at_work -= 1

        do_POST = do_PUT = do_PATCH = do_GET  # noqa: N815

        def say(self, said: Said) -> None:
            self.send_response(said.status)
            for name, value in said.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(said.bytes) + said.cut))
            self.end_headers()
            if not said.slowly:
                self.wfile.write(said.bytes)
            else:
                for byte in said.bytes:
                    self.wfile.write(bytes([byte]))
                    time.sleep(said.slowly)
            self.close_connection = bool(said.cut)

        def log_message(self, format: str, *words: object) -> None:  # noqa: A002
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    found = Loopback(f"http://127.0.0.1:{server.server_address[1]}/search")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
