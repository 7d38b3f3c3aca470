"""What several tests begin with, made once for all processes of a run: nights; and empty stores of MLflow and Prefect.

Empty stores are the same for all runs, and their libraries take twelve seconds to make them: they are kept with the
environment, as `make .venv/ready` leaves them by `python -m tests.stores`, under the versions that made them.
"""

import atexit
import contextlib
import fcntl
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

FOLDER = "NDCG_AB_TEST_STORES"  # in the environment, so that every process of the run knows it
PREFECT_DB = "prefect.db"
MAKE_PREFECT = (
    "import asyncio\nfrom prefect.server.database import provide_database_interface\n"
    "asyncio.run(provide_database_interface().create_db())\n"
)


def folder() -> Path:
    """Where this run keeps them; gone at its end."""
    if FOLDER not in os.environ:
        os.environ[FOLDER] = tempfile.mkdtemp(prefix="ndcg-ab-stores-")
        atexit.register(shutil.rmtree, os.environ[FOLDER], ignore_errors=True)
    return Path(os.environ[FOLDER])


def make_once(name: str, make: Callable[[Path], None]) -> Path:
    """A file or folder that `make` makes; who asks for it while another process makes it, waits."""
    return made_in(folder(), name, make)


def made_in(place: Path, name: str, make: Callable[[Path], None]) -> Path:
    path = place / name
    with (place / f"{name}.lock").open("w") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)
        if not path.exists():
            with tempfile.TemporaryDirectory(prefix="half-", dir=place) as half:
                make(Path(half) / name)
                (Path(half) / name).rename(path)
    return path


def cached_file(name: str, library: str, make: Callable[[Path], None]) -> Path:
    """A file that is the same for every run with a version of a library; kept with the environment, if it can be."""
    place = Path(sys.prefix) / "ndcg-ab-test-stores"
    try:
        place.mkdir(exist_ok=True)
    except OSError:
        place = folder()
    return made_in(place, f"{library}-{version(library)}-{name}", make)


def in_one_file(database: Path, path: Path) -> None:
    """A copy of a SQLite database, whatever files its journal is in."""
    with contextlib.closing(sqlite3.connect(database)) as opened:
        opened.execute("vacuum into ?", (str(path),))


def make_mlflow(path: Path) -> None:
    import mlflow

    mlflow.MlflowClient(tracking_uri=f"sqlite:///{path}.first").get_experiment_by_name("none")
    in_one_file(Path(f"{path}.first"), path)


def make_prefect(path: Path) -> None:
    """In a process of its own: Prefect reads its settings once."""
    home = Path(f"{path}.home")
    environment = os.environ | {"PREFECT_HOME": str(home)}
    subprocess.run([sys.executable, "-c", MAKE_PREFECT], env=environment, check=True, capture_output=True)
    in_one_file(home / PREFECT_DB, path)


def empty_mlflow() -> Path:
    """An MLflow database without runs."""
    return cached_file("mlflow.db", "mlflow", make_mlflow)


def empty_prefect() -> Path:
    """The database of a Prefect server without runs."""
    return cached_file(PREFECT_DB, "prefect", make_prefect)


def with_store(folder: Path) -> Path:
    """Puts an empty MLflow store where an evaluation looks for it."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(empty_mlflow(), folder / "mlflow.db")
    return folder


def with_prefect(home: Path) -> Path:
    """Puts an empty database where a Prefect server with this ``PREFECT_HOME`` looks for it."""
    home.mkdir(parents=True, exist_ok=True)
    shutil.copy(empty_prefect(), home / PREFECT_DB)
    return home


if __name__ == "__main__":
    empty_mlflow()
    empty_prefect()
