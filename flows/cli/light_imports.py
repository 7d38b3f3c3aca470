"""Half of a short command's time: what two libraries import that commands seldom use.

Neither has an option for it.  pyarrow imports pandas at the first array made of Python values, to look for its objects
among them (1.3 s of processor time where a whole `compare` takes 2.1 s), and `scipy.special` imports numpy.f2py,
numpy.testing and more for other array libraries (.45 s there).  Both can be imported as usual afterwards.
"""

import contextlib
import sys
from importlib.util import find_spec, module_from_spec

SPECIAL = "scipy.special"


class NoPandas:
    """Finds no pandas.  (`sys.modules["pandas"] = None` would do, but Cython's imports take the None.)"""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("no pandas here", name=name)


def import_lightly() -> None:
    """Imports pyarrow without pandas, and of `scipy.special` the functions alone; before anything else does."""
    if "pandas" not in sys.modules:
        sys.meta_path.insert(0, NoPandas)
        try:
            import pyarrow as pa

            pa.array([0])  # it looks for pandas once
        finally:
            sys.meta_path.remove(NoPandas)
    if SPECIAL not in sys.modules and (spec := find_spec(SPECIAL)) is not None:
        sys.modules[SPECIAL] = module_from_spec(spec)  # its folder, in which nothing was executed
        try:
            with contextlib.suppress(ImportError):  # another scipy may keep its functions elsewhere
                import scipy.special._ufuncs  # type: ignore[import-untyped]  # noqa: F401
        finally:
            del sys.modules[SPECIAL]
