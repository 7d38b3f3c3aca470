"""The demo's corpus is the same in every process of one interpreter."""

import builtins
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.paths import ROOT, load_script

ENGINE = ROOT / "configs" / "demo_engine.py"
DIGEST = """
import hashlib, json, sys
sys.path.insert(0, {folder!r})
import demo_engine
found = demo_engine.documents()
print(len(found), hashlib.sha256(json.dumps(found).encode()).hexdigest())
"""


def engine() -> Any:
    return load_script(ENGINE)


@pytest.mark.slow
def test_the_corpus_is_the_same_in_every_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hooks and `print` replaced, as `ndcg-ab run` and Prefect do; no docstrings, another folder and locale."""
    environment = {**os.environ, "PYTHONOPTIMIZE": "2", "LC_ALL": "C", "PYTHONPATH": str(tmp_path)}
    (tmp_path / "colorsys.py").write_text("'''Not the one of the standard library.'''\n")
    script = DIGEST.format(folder=str(ENGINE.parent))
    elsewhere = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, check=True, text=True
    ).stdout.split()
    for module, name in ((builtins, "print"), (sys, "excepthook"), (sys, "unraisablehook")):
        monkeypatch.setattr(module, name, lambda *_: None)
    monkeypatch.setattr(builtins, "planted", test_the_corpus_is_the_same_in_every_process, raising=False)
    here = engine().documents()
    monkeypatch.undo()
    assert elsewhere == [str(len(here)), hashlib.sha256(json.dumps(here).encode()).hexdigest()]
    assert {"print", "sys.excepthook", "sys.unraisablehook", "csv.writer"} <= {doc_id for doc_id, _ in here}
