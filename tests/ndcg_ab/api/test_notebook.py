"""docs/notebook.ipynb is run, and what is stored in it is of the kind that comes out.

Its outputs are made anew with ``.venv/bin/jupyter-execute --inplace docs/notebook.ipynb``.
"""

import copy
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.paths import ROOT

NOTEBOOK = ROOT / "docs" / "notebook.ipynb"


@pytest.fixture(scope="module")
def stored() -> Any:
    return nbformat.read(NOTEBOOK, as_version=4)


@pytest.fixture(scope="module")
def executed(stored: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """As from a clean checkout, where the working directory is that of the notebook."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR"):
            patch.setenv(name, str(tmp_path_factory.mktemp(name)))
        patch.setenv("PYTHONPATH", str(ROOT))
        page = copy.deepcopy(stored)
        for cell in page.cells:
            if cell.cell_type == "code":
                cell.outputs = []
        return NotebookClient(page, timeout=120, resources={"metadata": {"path": NOTEBOOK.parent}}).execute()


def shown(notebook: Any) -> list[list[dict[str, Any]]]:
    """The outputs of every cell that has code."""
    return [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]


def kinds(notebook: Any) -> list[list[tuple[str, list[str]]]]:
    return [[(each.output_type, sorted(each.get("data", ()))) for each in outputs] for outputs in shown(notebook)]


@pytest.mark.slow
def test_it_runs_and_shows_what_is_stored(stored: Any, executed: Any) -> None:
    """No cell says anything else: no error, no warning."""
    assert kinds(executed) == kinds(stored)
    assert {kind for outputs in kinds(stored) for kind, _ in outputs} == {"execute_result"}
    texts = [output["data"]["text/plain"] for outputs in shown(executed) for output in outputs]
    assert texts == [output["data"]["text/plain"] for outputs in shown(stored) for output in outputs]


def test_it_tells_nothing_of_where_it_was_made() -> None:
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert str(Path.home()) not in text
    assert str(ROOT) not in text
