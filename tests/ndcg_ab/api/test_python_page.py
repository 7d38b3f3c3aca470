"""docs/python.md and docs/notebook.ipynb are run: what stands after a block or a cell is what comes out.

The outputs of the notebook are made anew with ``.venv/bin/jupyter-execute --inplace docs/notebook.ipynb``.
"""

import contextlib
import copy
import io
import re
import traceback
from pathlib import Path
from typing import Any, NamedTuple

import nbformat
import pytest
from nbclient import NotebookClient

from ndcg_ab.errors import InputError
from tests.paths import ROOT
from tests.stores import with_store

PAGE = ROOT / "docs" / "python.md"


class Block(NamedTuple):
    """said: the output that the page shows, an error's sentence among it; empty where it shows none."""

    code: str
    said: str


def blocks() -> list[Block]:
    found = re.findall(
        r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?",
        PAGE.read_text(encoding="utf-8"),
        re.DOTALL | re.MULTILINE,
    )
    return [Block(*each) for each in found]


def output_of(block: Block, namespace: dict[str, Any]) -> str:
    page = io.StringIO()
    with contextlib.redirect_stdout(page):
        try:
            exec(compile(block.code, str(PAGE), "exec"), namespace)
        except InputError as error:
            print("".join(traceback.format_exception_only(error)).removeprefix("ndcg_ab.errors."), end="")
    return "".join(f"{line.rstrip()}\n" for line in page.getvalue().splitlines())


@pytest.mark.slow
def test_the_page_says_what_its_code_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With ranx and ir_measures themselves; the frames have the columns of python-terrier, 0.13 among others."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address := f"sqlite:///{with_store(tmp_path) / 'mlflow.db'}")
    from mlflow import MlflowClient

    MlflowClient(address).create_experiment("page", artifact_location=str(tmp_path / "artifacts"))
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "page")
    monkeypatch.setenv("COLUMNS", "100")
    namespace: dict[str, Any] = {}
    for block in blocks():
        assert output_of(block, namespace) == block.said, block.code


def test_every_block_is_found() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert len(blocks()) == text.count("```python\n") > 10
    assert sum(bool(block.said) for block in blocks()) == text.count("```text\n")


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
