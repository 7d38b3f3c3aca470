"""Modules of the user's, beside a configuration: found while they are imported and while their functions run.

What goes wrong in them is reported in one sentence.
"""

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from ndcg_ab.errors import InputError
from ndcg_ab.extensions import translate_foreign_errors
from ndcg_ab.files import resolved

OURS = {"ndcg_ab", "ndcg_core"}


@contextlib.contextmanager
def modules_first_in(directory: Path) -> Iterator[None]:
    """Modules in `directory` are found first, also by imports inside functions.

    A module of the same name from elsewhere is put aside meanwhile (a folder `flows`, an `engine.py` beside another
    configuration); it comes back at the end.
    """
    tops = {name.partition(".")[0] for name in list(sys.modules)}
    others = {top for top in tops if is_another(top, directory)}
    aside = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] in others}
    sys.path.insert(0, str(directory))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(str(directory))
        for name in [name for name in sys.modules if name.partition(".")[0] in others]:
            del sys.modules[name]
        sys.modules.update(aside)


def is_another(top: str, directory: Path) -> bool:
    """Whether an imported module that is in no package, or a package, has a namesake in `directory`."""
    if top in sys.stdlib_module_names or top in OURS:
        return False
    here = [directory / top / "__init__.py", directory / f"{top}.py"]
    namesake = next((path for path in here if path.is_file()), None)
    if namesake is None:
        return False
    loaded = getattr(sys.modules.get(top), "__file__", None)
    return loaded is None or resolved(Path(loaded)) != resolved(namesake)


def load_function(name: str, directory: Path) -> Callable[..., Any]:
    """The function that ``module:function`` names; to be called inside `modules_first_in`."""
    module_name, _, function_name = name.partition(":")
    with translate_foreign_errors(f"python = {name!r}: importing it failed"):
        try:
            module: ModuleType = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            if error.name != module_name.partition(".")[0]:
                raise
            raise InputError(
                f"python = {name!r}: there is no module {error.name!r} in {directory} or installed"
            ) from None
        function = getattr(module, function_name, None)
    if not callable(function):
        raise InputError(f"python = {name!r}: module {module_name!r} has no function {function_name!r}")
    return function  # type: ignore[no-any-return]
