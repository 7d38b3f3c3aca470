"""Settings that Prefect and MLflow read when they are imported; a value set by the user always stands."""

import os
from pathlib import Path

from flows.config import Evaluation

DEFAULTS = {
    # Neither asks the internet for anything.
    "DO_NOT_TRACK": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    # The terminal belongs to the result; flow and task logs still go to the Prefect server.
    "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL",
    "PREFECT_SERVER_LOGGING_LEVEL": "CRITICAL",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
    # A tracking server that is down is noticed in seconds, not after four minutes.
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "20",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "GIT_PYTHON_REFRESH": "quiet",
}


def prepare(evaluation: Evaluation | None = None) -> None:
    """Call before importing prefect or mlflow."""
    for name, value in DEFAULTS.items():
        os.environ.setdefault(name, value)
    if evaluation is not None and evaluation.prefect.api_url:
        os.environ["PREFECT_API_URL"] = evaluation.prefect.api_url


def tracking_uri(evaluation: Evaluation) -> str:
    """Where to log: the configuration, else MLFLOW_TRACKING_URI, else SQLite beside the results."""
    named = evaluation.mlflow.tracking_uri or os.environ.get("MLFLOW_TRACKING_URI")
    return named or f"sqlite:///{evaluation.output_directory / 'mlflow.db'}"


def artifact_directory(uri: str) -> Path | None:
    """Where an embedded SQLite store keeps its files: beside the database; None for a server."""
    return Path(uri.removeprefix("sqlite:///")).parent / "mlruns" if uri.startswith("sqlite:///") else None
