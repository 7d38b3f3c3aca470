"""Set the environment variables that Prefect and MLflow read when they are imported, without changing the user's."""

import contextlib
import functools
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.operation import server_address_fault, tracker_address_fault
from ndcg_ab.config.secrets.lookup import (
    remember_address,
    remember_environment,
    remember_secret,
    reveal_address,
    split_address,
    without_password,
)
from ndcg_ab.errors import InputError, format_value

DEFAULTS = {
    # Neither asks the internet for anything.
    "DO_NOT_TRACK": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    # The terminal belongs to the result; flow and task logs still go to the Prefect server.
    "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL",
    "PREFECT_INTERNAL_LOGGING_LEVEL": "CRITICAL",
    "PREFECT_SERVER_LOGGING_LEVEL": "CRITICAL",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
    # A Prefect server that dies or hangs meanwhile: the run goes on without it within a minute.  A flow ends with
    # two requests that fail, each of which is given up after 10 + 2 + 10 s.
    "PREFECT_CLIENT_MAX_RETRIES": "1",
    "PREFECT_API_REQUEST_TIMEOUT": "10",
    # A tracking server that is down is noticed in seconds, one that takes requests and never answers in half a minute:
    # every attempt waits for the whole timeout (3 x 20 s were 69 s, MLflow's own 8 x 120 s a quarter of an hour).
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "13",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    # Its links lead to pages without metrics; ours are printed once.
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "GIT_PYTHON_REFRESH": "quiet",
}

LOCAL_FILES = {  # settings files of the current folder -> what is in one that a client of Prefect would read
    ".env": r"(?im)^\s*(export\s+)?prefect_",
    "prefect.toml": r"\S",
    "pyproject.toml": r"\btool\W{1,4}prefect\b(?!\W{1,3}server\b)",
}
_credentials: dict[str, str] = {}  # Prefect's addresses of this process, and who speaks there

UPLOAD_TIMEOUT = "60"  # seconds without a sign of life: the answer to an upload comes when the file is stored


@contextlib.contextmanager
def extend_upload_timeout() -> Iterator[None]:
    """Make the request timeout of MLflow longer within the context, for uploads of files.

    A timeout that the user has set is not changed.
    """
    name = "MLFLOW_HTTP_REQUEST_TIMEOUT"
    configured = os.environ.get(name)
    if configured == DEFAULTS[name]:
        os.environ[name] = UPLOAD_TIMEOUT
    try:
        yield
    finally:
        if configured is not None:
            os.environ[name] = configured


def prepare_environment(evaluation: Evaluation | None = None) -> None:
    """Set the environment variables of Prefect and MLflow; call this before importing either of them.

    evaluation: the configuration, whose Prefect address is set as well; None: only defaults are set. Raises InputError
    if an address in the configuration is invalid.
    """
    for name, value in DEFAULTS.items():
        os.environ.setdefault(name, value)
    if not os.environ.get("PREFECT_API_URL"):
        os.environ.pop("PREFECT_API_URL", None)  # set and empty means none, as for MLFLOW_TRACKING_URI
    if evaluation is not None and (
        url := reveal_address(evaluation.prefect.api_url, f"{evaluation.name}: prefect.api_url", evaluation.directory)
    ):
        if fault := server_address_fault(url):
            raise InputError(f"{evaluation.name}: prefect.api_url = {format_value(without_password(url))}: {fault}")
        os.environ["PREFECT_API_URL"] = url
    elif evaluation is not None and (files := find_local_settings()):
        guard_prefect()
        print(
            f"ndcg-ab: Prefect's settings in {', '.join(files)} (current folder) are not followed: set them in the"
            " environment, or name the server with prefect.api_url",
            file=sys.stderr,
        )
    if evaluation is not None and evaluation.mlflow.tracking_uri is None and not os.environ.get("MLFLOW_TRACKING_URI"):
        local_store_address(evaluation)
    remember_environment()
    # Prefect logs its address, and names it in errors: user and password go where it looks for them.
    url, credentials = split_address(os.environ.get("PREFECT_API_URL", ""))
    if credentials:
        os.environ["PREFECT_API_URL"], os.environ["PREFECT_API_AUTH_STRING"] = url, remember_secret(credentials)
        _credentials[url] = credentials
    elif url not in _credentials and os.environ.get("PREFECT_API_AUTH_STRING") in _credentials.values():
        del os.environ["PREFECT_API_AUTH_STRING"]


def find_local_settings() -> list[str]:
    """Return the names of the files in the current folder with settings that Prefect would read."""
    files = {name: Path(name) for name in LOCAL_FILES if Path(name).is_file() and os.access(name, os.R_OK)}
    return [name for name, file in files.items() if re.search(LOCAL_FILES[name], file.read_text(errors="replace"))]


@functools.cache
def guard_prefect() -> None:
    """Prevent Prefect from reading settings files in the current folder; call this before importing Prefect."""
    from pydantic_settings.sources import ConfigFileSourceMixin, DotEnvSettingsSource

    def guard(read: Any) -> Any:
        return lambda source, *more, **options: (
            {} if source.settings_cls.__module__.startswith("prefect.") else read(source, *more, **options)
        )

    os.environ["PREFECT_PROFILES_PATH"] = str(profiles_path())  # else the files may name another one
    for kind, method in (ConfigFileSourceMixin, "_read_files"), (DotEnvSettingsSource, "_read_env_files"):
        setattr(kind, method, guard(getattr(kind, method)))


def profiles_path() -> Path:
    """Return the path of Prefect's profiles file: PREFECT_PROFILES_PATH, or profiles.toml in Prefect's folder."""
    home = Path(os.environ.get("PREFECT_HOME") or "~/.prefect").expanduser()
    return Path(os.environ.get("PREFECT_PROFILES_PATH") or home / "profiles.toml")


def tracking_uri(evaluation: Evaluation) -> str:
    """Return the MLflow address: the configured one, MLFLOW_TRACKING_URI, or a SQLite file in the output directory.

    Raises InputError for an invalid address.
    """
    key_name = f"{evaluation.name}: mlflow.tracking_uri"
    configured = reveal_address(evaluation.mlflow.tracking_uri, key_name, evaluation.directory)
    address = configured or os.environ.get("MLFLOW_TRACKING_URI")
    if not address:
        return local_store_address(evaluation)
    remember_address(address)
    if fault := tracker_address_fault(address):
        where = key_name if configured else "MLFLOW_TRACKING_URI"
        raise InputError(f"{where} = {format_value(without_password(address))}: {fault}")
    return address


def local_store_address(evaluation: Evaluation) -> str:
    """Return the address of MLflow's SQLite store in the output directory.

    Raises InputError if the path contains a `?`.
    """
    path = evaluation.output_directory / "mlflow.db"
    if "?" in str(path):
        raise InputError(
            f"output = {str(evaluation.output)!r}: holds a '?', behind which options begin in the address of MLflow's"
            " store there: name another folder, or a server with mlflow.tracking_uri"
        )
    return f"sqlite:///{path}"


def store_file(uri: str) -> Path | None:
    """Return the SQLite file of MLflow's store at an address, or None for a server or a store in memory."""
    path = uri.removeprefix("sqlite:///").partition("?")[0]
    return Path(path) if uri.startswith("sqlite:///") and path != ":memory:" else None
