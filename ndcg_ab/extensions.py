"""The code of others: what packages add by Python entry points (trackers, checks, sources), and the errors it raises.

A package names its addition in its own pyproject.toml, and it is loaded when a configuration asks for it:

    [project.entry-points."ndcg_ab.trackers"]
    our_dashboard = "our_package.dashboard:Dashboard"
"""

import contextlib
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from ndcg_ab.config.secrets.redaction import discreet_error
from ndcg_ab.errors import LONGEST, InputError, SilentError, TrackingError, format_value, on_one_line, words_of

# Trouble with files does not pass by itself; every other OSError (ConnectionError, TimeoutError, …) may.
FILES = (FileExistsError, FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)
TRACKERS, CHECKS, SOURCES = "ndcg_ab.trackers", "ndcg_ab.checks", "ndcg_ab.sources"  # groups of entry points


def extensions(group: str) -> dict[str, EntryPoint]:
    """Name -> entry point of what installed packages add to a group."""
    return {found.name: found for found in entry_points(group=group)}


def load_named(group: str, name: str, where: str) -> Any:
    """What a configuration names of a group; where: its place in messages.  InputError where it is not installed."""
    added = extensions(group)
    if name not in added:
        known = f" ({', '.join(sorted(added))} are)" if added else ""
        raise InputError(f"{where}{format_value(name)}: is not installed{known}: install the package that adds it")
    return load_extension(added[name])


def load_extension(found: EntryPoint) -> Any:
    """What an entry point names. InputError, with the package's name, where it cannot be imported."""
    package = found.dist.name if found.dist else "a package"
    failure = f"{found.group}: {found.name}: {found.value} of {package} cannot be loaded, mend or uninstall {package}"
    with translate_foreign_errors(failure):
        return found.load()


@contextlib.contextmanager
def translate_foreign_errors(failure: str, kind: Callable[[str], Exception] | None = None) -> Iterator[None]:
    """Raise InputError for whatever code of others raises, or SilentError for an error that may pass by itself.

    failure: how the sentence begins, as ``python = 'engine:search' failed``. kind: the error to raise instead.
    SystemExit, CancelledError, GeneratorExit and every other BaseException are among the errors. A KeyboardInterrupt
    remains one, and so does the exception with which Prefect ends a task that takes too long.
    """
    try:
        yield
    except (InputError, TrackingError, KeyboardInterrupt):
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__module__.partition(".")[0] == "prefect":
            raise
        may_pass = isinstance(error, OSError) and not isinstance(error, FILES)
        said = on_one_line(": ".join(filter(None, [type(error).__name__, words_of(error)])), LONGEST)
        raise (kind or (SilentError if may_pass else InputError))(f"{failure}: {said}") from discreet_error(error)
