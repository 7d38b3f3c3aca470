"""The paths of test data, and of the project itself."""

import importlib.util
import os
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
DATA = ROOT / "tests" / "data"  # twenty queries and two rankings of them, small enough to read
GOLDEN = ROOT / "tests" / "golden"  # values that were made once; golden/README.md says by what


def shared() -> Path | None:
    """A folder of real rankings and published cases beside this project, or None: it is never a part of it.

    Tests run on golden data of our own; where the folder is there, they run on its data, too (references.py).
    """
    path = Path(os.environ.get("NDCG_AB_DATA", ROOT.parent / "shared" / "data"))
    return path if path.is_dir() else None


def load_script(path: Path) -> Any:
    """Return a script that no package holds, as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made
