"""A reduced ranking of an earlier run is taken again only where all that it was made with is the same."""

from pathlib import Path
from typing import Any

import pytest

from ndcg_ab.runs import folder as run_folder
from ndcg_ab.runs.folder import RunFolder
from tests.small_evaluation import small

MORE = [{"file": "judgments.qrels"}]
CHANGED: dict[str, dict[str, Any]] = {
    "how judges are combined": {"combine": "median"},
    "which judgment counts": {"judgments_precedence": "first"},
    "a metric": {"metrics": ["ndcg@5"]},
}


@pytest.mark.parametrize("what", CHANGED)
def test_another_key(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_folder, "digest_of_file", lambda path: f"digest of {path.name}")
    usual = small(tmp_path, more_judgments=MORE)
    other = usual.model_copy(update=CHANGED[what])
    folders = [tmp_path / str(number) for number in range(3)]
    for folder in folders:
        folder.mkdir()
    pairs = zip((usual, usual, other), folders, strict=True)
    about = [RunFolder(evaluation, folder).reduction_key_parts() for evaluation, folder in pairs]
    assert about[0] == about[1] != about[2]
