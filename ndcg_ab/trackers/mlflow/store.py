"""MLflow's embedded store, a SQLite file: made by one process at a time, and whole or not at all.

MLflow makes it table by table in its place, which takes seconds.  Whoever is killed meanwhile, or makes it at the same
time as another, would leave a file that no MLflow can use, and that none would mend.
"""

import contextlib
import itertools
import os
from collections.abc import Iterator
from pathlib import Path

from ndcg_ab.errors import InputError
from ndcg_ab.files import resolved, wait_for_lock

PATIENCE = 120.0  # seconds that another process may take to make it
SQLITE = "sqlite:///"
_attempts = itertools.count()


def make_store(uri: str) -> None:
    """Makes the store of an address where it is not there yet; any other address is left alone."""
    if not uri.startswith(SQLITE) or uri == f"{SQLITE}:memory:":
        return
    path = Path(uri.removeprefix(SQLITE).partition("?")[0])
    if is_there(path):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with lock_store(path):
        if is_there(path):
            return
        for left in path.parent.glob(f".{path.name}.*.partial*"):
            left.unlink()
        # MLflow keeps what it has opened by its name: another attempt needs another one
        partial = path.with_name(f".{path.name}.{os.getpid()}-{next(_attempts)}.partial")
        try:
            make_empty_store(partial)
            partial.rename(path)
        finally:
            for left in path.parent.glob(f"{partial.name}*"):
                left.unlink()


def is_there(path: Path) -> bool:
    """Return whether there is a file that is not empty."""
    return path.exists() and path.stat().st_size > 0


def make_empty_store(path: Path) -> None:
    """An empty store in a new file, with all that MLflow makes in one when it opens it first."""
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    place = resolved(path.parent / "mlruns").as_uri()
    store = SqlAlchemyStore(f"{SQLITE}{path}", place)  # type: ignore[no-untyped-call]
    store.engine.dispose()


@contextlib.contextmanager
def lock_store(path: Path) -> Iterator[None]:
    """Only one process at a time makes a store; waits for another."""
    with path.with_name(f".{path.name}.lock").open("w") as lock:
        if not wait_for_lock(lock, PATIENCE):
            raise InputError(f"{path}: another process has been making it for {PATIENCE:.0f} s and more")
        yield
