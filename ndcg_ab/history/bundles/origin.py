"""How an evaluation came about: who ran it, whether a deployment did, how long it took."""

import contextlib
import getpass
import os
import time
from pathlib import Path

FLOW_RUN = "PREFECT__FLOW_RUN_ID"  # in the environment of what a deployment of Prefect's starts


def user_name() -> str | None:
    """None where the machine knows none, as in some containers."""
    with contextlib.suppress(OSError, KeyError):
        return getpass.getuser()
    return None


def is_scheduled() -> bool:
    return bool(os.environ.get(FLOW_RUN))


def seconds_since(lock: Path) -> float | None:
    """How long ago the work in a folder began: its lock was made then."""
    with contextlib.suppress(OSError):
        return round(max(0.0, time.time() - lock.stat().st_mtime), 3)
    return None
