"""MLflow's embedded store, a SQLite file: made by one process at a time, and whole or not at all.

MLflow makes it table by table in its place, which takes seconds.  Whoever is killed meanwhile, or makes it at the same
time as another, would leave a file that no MLflow can use, and that none would mend.
"""

import contextlib
import itertools
import os
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

from ndcg_ab.errors import InputError
from ndcg_ab.files import resolved, wait_for_lock

PATIENCE = 120.0  # seconds that another process may take to make it
SQLITE = "sqlite:///"
_attempts = itertools.count()
CONTENT = {  # table -> whether it holds what somebody would miss
    "runs": "select 1 from runs limit 1",
    "experiments": "select 1 from experiments where experiment_id <> 0 limit 1",
    "registered_models": "select 1 from registered_models limit 1",
}


def make_store(uri: str) -> None:
    """Makes the store of an address where it is not there yet, or is half made; any other address is left alone."""
    if not uri.startswith(SQLITE) or uri == f"{SQLITE}:memory:":
        return
    path = Path(uri.removeprefix(SQLITE).partition("?")[0])
    if is_complete(path):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with lock_store(path):
        if is_complete(path):
            return
        for left in path.parent.glob(f".{path.name}.*.partial*"):
            left.unlink()
        if path.exists():
            aside = unused_path(path)
            for ending in ("", "-wal", "-shm", "-journal"):
                with contextlib.suppress(FileNotFoundError):
                    path.with_name(path.name + ending).rename(aside.with_name(aside.name + ending))
            print(f"ndcg-ab: {path}: was half made, and holds nothing: set aside as {aside.name}", file=sys.stderr)
        # MLflow keeps what it has opened by its name: another attempt needs another one
        partial = path.with_name(f".{path.name}.{os.getpid()}-{next(_attempts)}.partial")
        try:
            make_empty_store(partial)
            partial.rename(path)
        finally:
            for left in path.parent.glob(f"{partial.name}*"):
                left.unlink()


def is_complete(path: Path) -> bool:
    """Whether MLflow can be left to it: all its tables are there, or it holds something, or is no such file at all."""
    if not path.exists() or path.stat().st_size == 0:
        return False
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=20)) as database:
            tables = {name for (name,) in database.execute("select name from sqlite_master where type = 'table'")}
            if any(name in tables and database.execute(text).fetchall() for name, text in CONTENT.items()):
                return True
            if "alembic_version" not in tables:
                return not tables <= known_tables()  # of something else
            stated = [name for (name,) in database.execute("select version_num from alembic_version")]
    except sqlite3.Error:
        return True  # MLflow says what is wrong with it
    return stated == [latest_revision()] and known_tables() <= tables


def known_tables() -> set[str]:
    import mlflow.store.db.utils  # noqa: F401  (it makes all tables known)
    from mlflow.store.db.base_sql_model import Base

    return {*Base.metadata.tables}


def latest_revision() -> str:
    """The revision that this MLflow's stores have."""
    from mlflow.store.db.utils import _get_latest_schema_revision

    return str(_get_latest_schema_revision())  # type: ignore[no-untyped-call]


def make_empty_store(path: Path) -> None:
    """An empty store in a new file, with all that MLflow makes in one when it opens it first."""
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    place = resolved(path.parent / "mlruns").as_uri()
    store = SqlAlchemyStore(f"{SQLITE}{path}", place)  # type: ignore[no-untyped-call]
    store.engine.dispose()


def unused_path(path: Path) -> Path:
    """``mlflow.db.broken-1``, or the next that is free."""
    number = 1
    while (found := path.with_name(f"{path.name}.broken-{number}")).exists():
        number += 1
    return found


@contextlib.contextmanager
def lock_store(path: Path) -> Iterator[None]:
    """Only one process at a time makes a store; waits for another."""
    with path.with_name(f".{path.name}.lock").open("w") as lock:
        if not wait_for_lock(lock, PATIENCE):
            raise InputError(f"{path}: another process has been making it for {PATIENCE:.0f} s and more")
        yield
