"""What libraries do at their import for things that commands over files never use, and what takes half of a start.

A command calls it before it imports anything else, while it has one thread.  What is left out can be imported as ever
afterwards.
"""

import gc
import importlib.abc
import importlib.util
import os
import sys
from importlib import import_module
from importlib.machinery import PathFinder

SPECIAL = "scipy.special"
NO_PLUGINS = "PYDANTIC_DISABLE_PLUGINS"
OBJECTS = 50_000  # new ones after which Python looks for circles among them


def spare_imports() -> None:
    """Neither pandas, nor the array libraries that scipy looks for, nor a search of all packages for plugins."""
    spare_pandas()
    spare_array_libraries()
    spare_plugins()


def spare_searches() -> None:
    """Python looks for circles less often: after 700 objects, it takes a fifth of the import of Prefect and MLflow."""
    gc.set_threshold(OBJECTS, *gc.get_threshold()[1:])


class _NoPandas(importlib.abc.MetaPathFinder):
    """Finds no pandas."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError("no pandas here", name=fullname)


def spare_pandas() -> None:
    """Keeps pyarrow from importing pandas, which takes a fifth of a short command's time.

    It does so when it makes its first array from Python values, to look for objects of pandas among them; a command
    that reads files alone has none.  Afterwards pandas can be imported as ever, but pyarrow makes none of it.
    """
    if "pandas" not in sys.modules:
        finder = _NoPandas()
        sys.meta_path.insert(0, finder)
        try:
            import pyarrow as pa

            pa.array([0])
        finally:
            sys.meta_path.remove(finder)


def spare_array_libraries() -> None:
    """Imports what `ndcg_core.statistics.distributions` needs of `scipy.special` without the rest of it.

    The rest imports numpy.f2py, numpy.ma, numpy.random and more, to serve other array libraries.  Where scipy keeps its
    functions elsewhere nothing is spared, and `scipy.special` is imported as a whole.
    """
    if SPECIAL in sys.modules:
        return
    import scipy  # type: ignore[import-untyped]

    spec = PathFinder.find_spec(SPECIAL, scipy.__path__)
    if spec is None:
        return
    sys.modules[SPECIAL] = importlib.util.module_from_spec(spec)  # its folder, in which nothing was executed
    try:
        import_module(f"{SPECIAL}._ufuncs")
    except ImportError:
        for name in [name for name in sys.modules if name.startswith(f"{SPECIAL}.")]:
            del sys.modules[name]
    finally:
        del sys.modules[SPECIAL]


def spare_plugins() -> None:
    """Imports the configuration, with its pydantic models, without looking for plugins in every installed package."""
    if NO_PLUGINS in os.environ:
        return
    os.environ[NO_PLUGINS] = "__all__"
    try:
        import ndcg_ab.config.model.evaluation  # noqa: F401
    finally:
        del os.environ[NO_PLUGINS]
