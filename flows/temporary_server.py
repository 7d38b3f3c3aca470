"""Start a temporary Prefect server for a run that has none: a child process without output that ends with its parent.

The server watches its standard input, a pipe from its parent: however the parent ends, the pipe closes. (Prefect's own
temporary server outlives a run that is killed, holds its standard output, is stopped by a Ctrl-C meant for the run, and
reads settings files of the current folder.)
"""

import atexit
import gc
import os
import runpy
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Mapping

from ndcg_ab.config.environment import guard_prefect

from .stopping import CHILDREN

GRACE = 5.0  # seconds that its orderly end may take
APPLICATION = ["--factory", "prefect.server.api.server:create_app", "--lifespan", "on", "--log-level", "critical"]
SETTINGS = {"PREFECT_UI_ENABLED": "0", "PREFECT__SERVER_EPHEMERAL": "1", "PREFECT__SERVER_FINAL": "1"}


class TemporaryServer:
    """A Prefect server in a child process that ends with this process."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        """Start the server at a free port of this machine. settings: Prefect's settings, as environment variables."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/api"
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "ndcg_ab.flows.temporary_server", "--port", str(port)],
            env={**os.environ, **SETTINGS, **settings},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # a Ctrl-C is meant for the run, which ends the server in its own time
        )
        CHILDREN.append(self.process)
        atexit.register(self.stop)

    def wait(self, seconds: float) -> str | None:
        """Wait until the server answers; return None, or the reason why it does not.

        seconds: the longest time to wait.
        """
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.process.poll() is not None:
                return f"the temporary server ended with code {self.process.returncode}"
            try:
                with urllib.request.urlopen(f"{self.url}/health", timeout=GRACE):
                    return None
            except OSError:
                time.sleep(0.1)
        return f"the temporary server does not answer after {seconds:.0f} s"

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def end_with_parent() -> None:
    os.read(0, 1)
    os._exit(0)


if __name__ == "__main__":
    guard_prefect()
    gc.set_threshold(50_000, *gc.get_threshold()[1:])  # its start takes a fifth less
    threading.Thread(target=end_with_parent, daemon=True).start()
    sys.argv = ["uvicorn", *APPLICATION, "--host", "127.0.0.1", *sys.argv[1:]]
    runpy.run_module("uvicorn", run_name="__main__")
