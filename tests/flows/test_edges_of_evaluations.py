"""Nights at their edges: moments, moved folders, bundles that MLflow refuses, pages of many slices."""

from pathlib import Path
from typing import Any

import pytest

from ndcg_ab.config.model.inputs.sources import System
from ndcg_ab.errors import InputError, RefusedError
from ndcg_ab.flows.cli.inputs import parse_at_option
from ndcg_ab.pipeline import Context, MemoryStore
from ndcg_ab.report.page import block as page_block
from ndcg_ab.runs import stages


@pytest.mark.parametrize(
    "text", ["0001-01-01T00:00+14:00", "9999-12-31T23:59-12:00", "0999-01-01", "1969-12-31", "tomorrow"]
)
def test_a_moment_that_no_night_has_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--at"):
        parse_at_option(text)


@pytest.mark.parametrize("name", ["two\nlines", "bell\a", "tab\t"])
def test_a_system_has_a_name_on_one_line(name: str) -> None:
    with pytest.raises(ValueError, match="on one line"):
        System(name=name, file=Path("a.run"))


@pytest.mark.parametrize("limit", [-1, 0, 100])
def test_a_page_that_cannot_be_small_enough_ends(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    content = {"queries": {"id": list(map(str, range(9)))}, "values": [[[0.1] * 9] * 2], "systems": []}
    monkeypatch.setattr(page_block, "script_data", lambda data: dict(content) | {"baseline": 0})
    monkeypatch.setattr(page_block, "encode_rankings", lambda *_: [[1]] * 9)
    block, left_out = page_block.fit_block(None, limit)  # type: ignore[arg-type]
    assert left_out["queries"] == 9
    assert len(block) > limit


def test_a_refused_bundle_keeps_no_other_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    from ndcg_ab.trackers import base
    from tests.small_evaluation import small

    folders = [tmp_path / name for name in ("1", "2", "3")]
    asked = []

    class Other(base.Tracker):
        def log(self, bundle: object) -> base.Published:
            raise NotImplementedError

        def address(self, evaluation: object) -> str:
            return "u"

        def publish(self, folder: Path, current: object = None, budget: object = None) -> base.Published:
            asked.append(folder)
            if folder == folders[0]:
                raise RefusedError("its key is too long")
            return base.Published("r", "u", "t", "http://here", True)

    monkeypatch.setattr("ndcg_ab.trackers.make_tracker", Other)
    monkeypatch.setattr(base, "unpublished_bundles", lambda evaluation: folders)
    evaluation = small(tmp_path)
    run = Context(evaluation, MemoryStore(evaluation), bundle=folders[2])
    stages.publish(run, "")
    assert asked == folders
    assert run.published["delivered"] == 1
    assert "the tracker does not take it: its key is too long" in capsys.readouterr().err
