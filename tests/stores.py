"""An empty MLflow store, made once for all processes of a test run: making one takes seconds."""

import atexit
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

FOLDER = "NDCG_AB_TEST_STORES"  # in the environment, so that every process of the run knows it


def folder() -> Path:
    """Where this run keeps it; gone at its end."""
    if FOLDER not in os.environ:
        os.environ[FOLDER] = tempfile.mkdtemp(prefix="ndcg-ab-stores-")
        atexit.register(shutil.rmtree, os.environ[FOLDER], ignore_errors=True)
    return Path(os.environ[FOLDER])


def empty_mlflow() -> Path:
    """An MLflow database without runs; who asks for it while another process makes it, waits."""
    path = folder() / "mlflow.db"
    with (folder() / "lock").open("w") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)
        if not path.exists():
            import mlflow

            half = folder() / "half.db"
            mlflow.MlflowClient(tracking_uri=f"sqlite:///{half}").get_experiment_by_name("none")
            shutil.copy(half, path.with_suffix(".copy"))
            path.with_suffix(".copy").rename(path)
    return path


def with_store(folder: Path) -> Path:
    """Puts an empty MLflow store where an evaluation looks for it."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(empty_mlflow(), folder / "mlflow.db")
    return folder
