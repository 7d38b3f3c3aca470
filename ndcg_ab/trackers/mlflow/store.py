"""Make MLflow's embedded store, a SQLite file, and tag its runs by SQL.

MLflow makes the tables one by one in the final file, which takes seconds. A killed process, or two processes that make
one store at the same time, would leave a file that MLflow cannot use.
"""

import contextlib
import itertools
import sqlite3
from collections.abc import Mapping
from pathlib import Path

from ndcg_ab.config.environment import store_file
from ndcg_ab.errors import InputError
from ndcg_ab.files import replace_atomically, resolve_path, wait_for_lock

PATIENCE = 120.0  # seconds that another process may take to make it
ARTIFACTS = "mlruns"  # the folder of the files of runs, beside the store
_attempts = itertools.count()
FIND_RUN = """
    select run.experiment_id, run.run_uuid
    from runs as run
    join experiments as experiment using (experiment_id)
    where experiment.name = ? and experiment.lifecycle_stage = 'active' and run.lifecycle_stage = 'active'
      and (
        select count(*) from tags
        where tags.run_uuid = run.run_uuid and (key, value) in (values (?, ?), (?, ?), (?, ?))
      ) = 3
"""
LATER_RUNS = """
    select count(*)
    from runs
    join tags using (run_uuid)
    where experiment_id = ? and lifecycle_stage = 'active' and start_time > ? and key = 'kind' and value != 'system'
"""


def make_embedded_store(uri: str) -> None:
    """Make the SQLite store at an address if its file does not exist or is empty.

    Nothing is done for the address of a server. Raise InputError if another process takes too long to make the store.
    """
    path = store_file(uri)
    if path is None or is_nonempty_file(path):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f".{path.name}.lock").open("w") as lock:
        if not wait_for_lock(lock, PATIENCE):
            raise InputError(f"{path}: another process has been making it for {PATIENCE:.0f} s and more")
        if not is_nonempty_file(path):
            with replace_atomically(path) as partial:
                make_empty_store(partial)


def is_nonempty_file(path: Path) -> bool:
    """Return whether there is a file that is not empty."""
    return path.exists() and path.stat().st_size > 0


def make_empty_store(path: Path) -> None:
    """Make an empty store in an empty file, with the tables of the installed MLflow.

    MLflow makes the tables in memory first, which spares a third of the time.
    """
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    artifacts = resolve_path(path.parent / ARTIFACTS).as_uri()
    # MLflow keeps what it has opened by its name: another attempt needs another one
    memory = f"file:ndcg-ab-{next(_attempts)}?mode=memory&cache=shared"
    with (
        contextlib.closing(sqlite3.connect(memory, uri=True)) as tables,
        contextlib.closing(sqlite3.connect(path)) as file,
    ):
        store = SqlAlchemyStore(f"sqlite:///{memory}&uri=true", artifacts)  # type: ignore[no-untyped-call]
        tables.backup(file)
        store.engine.dispose()


def set_store_tags(
    uri: str, experiment: str, run_tags: Mapping[str, str], tags: Mapping[str, str], note: Mapping[str, str], night: int
) -> tuple[str, str] | None:
    """Set tags of a run in an MLflow store with SQL, because importing mlflow takes long.

    Return the id of the experiment and the id of the run. Return None, and change nothing, if MLflow itself must be
    used: the address names no SQLite file, or the file lacks the run or has unexpected tables.

    uri: the address of the store.
    experiment: the name of the experiment.
    run_tags: the three tags that identify the run.
    tags: the tags to set on the run.
    note: the tags to set on the experiment if no run of it is later than `night`.
    night: Unix time in milliseconds.
    """
    path = store_file(uri)
    if path is None or not path.is_file():
        return None
    parameters = [text for tag in run_tags.items() for text in tag]
    try:
        with contextlib.closing(sqlite3.connect(path)) as store, store:
            row = store.execute(FIND_RUN, [experiment, *parameters]).fetchone()
            if row is None:
                return None
            experiment_id, run_id = row
            rows = [(*tag, run_id) for tag in tags.items()]
            store.executemany("replace into tags (key, value, run_uuid) values (?, ?, ?)", rows)
            if store.execute(LATER_RUNS, (experiment_id, night)).fetchone() == (0,):
                rows = [(*tag, experiment_id) for tag in note.items()]
                store.executemany("replace into experiment_tags (key, value, experiment_id) values (?, ?, ?)", rows)
    except sqlite3.Error:
        return None
    return str(experiment_id), str(run_id)
