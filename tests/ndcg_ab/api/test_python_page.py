"""docs/python.md is run: its blocks in their order, in one namespace; what stands after a block is what it says."""

import contextlib
import io
import re
import traceback
from pathlib import Path
from typing import Any, NamedTuple

import pytest

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
