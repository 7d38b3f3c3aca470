"""Import two libraries without the slow modules that they import and commands seldom use.

This halves the time of a short command; neither library has an option for it. pyarrow imports pandas at the first
array made of Python values, to look for its objects among them (1.3 s of processor time where a whole `compare` takes
2.1 s), and `scipy.special` imports numpy.f2py, numpy.testing and more for other array libraries (.45 s there). Both
can be imported as usual afterwards.
"""

import contextlib
import sys

from ndcg_ab.extensions import hide_packages, skip_package_code


def import_without_extras() -> None:
    """Import pyarrow without pandas, and only the functions of `scipy.special`.

    Call this before other imports. Libraries that are loaded already stay as they are.
    """
    if "pandas" not in sys.modules:
        with hide_packages("pandas"):
            import pyarrow as pa

            pa.array([0])  # it looks for pandas once
    with skip_package_code("scipy.special"), contextlib.suppress(ImportError):  # another scipy may differ
        import scipy.special._ufuncs  # type: ignore[import-untyped]  # noqa: F401
