"""The errors whose message is all that a user needs to see, and the one about libraries that are not installed."""

from importlib.util import find_spec


class InputError(Exception):
    """Usage, configuration or data that cannot be used: what, where, which value, which rule. Exit code 2."""


class SilentError(InputError):
    """A place that data come from did not answer; it may later. Exit code 2."""


class SqlError(RuntimeError):
    """A SQL file failed, or the database could not be opened; the message says which. Exit code 1."""


class TrackingError(Exception):
    """MLflow could not be reached or refused; the bundle can be published later. Exit code 75."""


class RefusedError(TrackingError):
    """MLflow answered, and does not take the bundle: trying again will not help. Exit code 75."""


class ParityError(Exception):
    """The SQL and the Python core disagree: the numbers must not be believed. Exit code 1."""


LIBRARIES = {  # what requirements-slim.txt leaves out: import name -> what people call it
    "prefect": "Prefect",
    "mlflow": "MLflow",
    "altair": "Altair",
    "vl_convert": "vl-convert",
    "matplotlib": "Matplotlib",
    "adbc_driver_manager": "adbc-driver-manager",
    "adbc_driver_sqlite": "adbc-driver-sqlite",
}
EXTRAS = {"adbc_driver_manager": "databases", "adbc_driver_sqlite": "databases"}  # what brings those that are optional
TRACKING, PAGE, PICTURE = ("prefect", "mlflow"), ("altair", "vl_convert"), ("matplotlib",)


def needs(what: str, *libraries: str) -> None:
    """Raises InputError where one of LIBRARIES is not installed; what: what cannot be done without."""
    missing = [LIBRARIES[name] for name in libraries if find_spec(name) is None]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        extras = sorted({EXTRAS[name] for name in libraries if find_spec(name) is None and name in EXTRAS})
        package = f"'ndcg-ab[{','.join(extras)}]'" if extras else "ndcg-ab"
        raise InputError(f"{what} needs {' and '.join(missing)}, which {verb} not installed: pip install {package}")
