"""Load extensions (trackers, checks, sources) that packages add by Python entry points, and translate their errors.

A package names its extension in its own pyproject.toml, and the extension is imported if a configuration names it:

    [project.entry-points."ndcg_ab.trackers"]
    our_dashboard = "our_package.dashboard:Dashboard"
"""

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import TYPE_CHECKING, Any

from ndcg_ab.config.secrets.redaction import redacted_error
from ndcg_ab.errors import LONGEST, InputError, TrackingError, UnavailableError, format_value, message_of, on_one_line

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

# Trouble with files does not pass by itself; every other OSError (ConnectionError, TimeoutError, …) may.
FILES = (FileExistsError, FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)
TRACKERS, CHECKS, SOURCES = "ndcg_ab.trackers", "ndcg_ab.checks", "ndcg_ab.sources"  # groups of entry points


def extensions(group: str) -> "dict[str, EntryPoint]":
    """Return {name of the extension: entry point} for a group, from all installed packages."""
    from importlib.metadata import entry_points

    return {found.name: found for found in entry_points(group=group)}


def load_named(group: str, name: str, where: str, built_in: Iterable[str] = ()) -> Any:
    """Import and return the extension with a configured name.

    group: the group of entry points, such as ``ndcg_ab.sources``.
    where: the beginning of the message, which names the configuration key.
    built_in: names that need no package, for the message.
    Raises InputError if the extension is not installed or cannot be loaded.
    """
    added = extensions(group)
    if name not in added:
        known = sorted({*built_in, *added})
        names = f" ({', '.join(known)} are)" if known else ""
        raise InputError(f"{where}{format_value(name)}: is not installed{names}: install the package that adds it")
    return load_extension(added[name])


def load_extension(entry: "EntryPoint") -> Any:
    """Import and return the object that an entry point names.

    Raises InputError, which names the package, if that fails.
    """
    package = entry.dist.name if entry.dist else "a package"
    failure = f"{entry.group}: {entry.name}: {entry.value} of {package} cannot be loaded, mend or uninstall {package}"
    with translate_foreign_errors(failure):
        return entry.load()


@contextlib.contextmanager
def translate_foreign_errors(failure: str, kind: Callable[[str], Exception] | None = None) -> Iterator[None]:
    """Convert errors of outside code within the context to InputError.

    An error that may pass by itself, such as a lost connection, becomes UnavailableError. Every BaseException is
    converted, also SystemExit, CancelledError and GeneratorExit. InputError, TrackingError, KeyboardInterrupt and the
    exception with which Prefect ends a task that takes too long are raised unchanged.
    failure: the beginning of the message, such as ``python = 'engine:search' failed``.
    kind: the class of the raised errors, or a function message -> error; None for InputError and UnavailableError.
    """
    try:
        yield
    except (InputError, TrackingError, KeyboardInterrupt):
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__module__.partition(".")[0] == "prefect":
            raise
        usual = UnavailableError if isinstance(error, OSError) and not isinstance(error, FILES) else InputError
        message = on_one_line(": ".join(filter(None, [type(error).__name__, message_of(error)])), LONGEST)
        raise (kind or usual)(f"{failure}: {message}") from redacted_error(error)


@contextlib.contextmanager
def hide_packages(*names: str) -> Iterator[None]:
    """Make imports of the named packages fail within the context, unless the packages are already loaded.

    Use it to import a library without its optional packages. Setting their entries in `sys.modules` to None would not
    suffice, because Cython would import None.
    """

    class Hidden:
        @staticmethod
        def find_spec(name: str, *_: object) -> None:
            if name in names:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    sys.meta_path.insert(0, Hidden)
    try:
        yield
    finally:
        sys.meta_path.remove(Hidden)


@contextlib.contextmanager
def skip_package_code(name: str) -> Iterator[None]:
    """Import modules of a subpackage within the context without executing the subpackage's own code.

    The own code of a package, its `__init__`, often imports much that one of its modules does not need. It is executed
    as soon as an attribute of the package is read. Nothing changes if the package is already loaded or does not exist.

    name: the package, such as ``scipy.special``.
    """
    library = find_spec(name.partition(".")[0])
    spec = PathFinder.find_spec(name, library.submodule_search_locations) if library else None
    if name in sys.modules or spec is None or spec.loader is None:
        yield
        return
    loader, package = spec.loader, module_from_spec(spec)

    def execute(attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}")
        del package.__getattr__
        loader.exec_module(package)
        return getattr(package, attribute)

    package.__getattr__ = execute  # type: ignore[method-assign]
    sys.modules[name] = package
    try:
        yield
    finally:
        if "__getattr__" in vars(package):
            del sys.modules[name]
