"""judge_next from Python: the same rows as the command's, and its own mistakes."""

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import ndcg_ab
from tests.paths import ROOT

DATA = ROOT / "tests" / "data"
SYSTEMS = {"old": DATA / "old.run", "new": DATA / "new.run"}


@pytest.mark.slow
def test_rows_table_and_sheet_agree(tmp_path: Path) -> None:
    found = ndcg_ab.judge_next(DATA / "judgments.qrels", SYSTEMS, metric="precision@5", count=2, candidates="new")
    assert [row.place for row in found.rows] == [1, 2]
    assert found.to_csv().splitlines()[1].startswith(f"1,{found.rows[0].query_id},{found.rows[0].doc_id},")
    assert len(json.loads(found.to_json())["documents"]) == 2
    assert "new against old, precision@5: undecided" in str(found)
    found.sheet(tmp_path / "sheet.html")
    assert found.rows[1].doc_id in (tmp_path / "sheet.html").read_text()


@pytest.mark.slow
def test_a_configuration_is_taken_as_of_now(tmp_path: Path) -> None:
    """Its patterns name files, and its dates are written out."""
    for name, path in SYSTEMS.items():
        shutil.copy(path, tmp_path / f"{name}-{datetime.now(UTC):%Y}.run")
    systems = [{"name": "old", "file": "old*.run"}, {"name": "new", "file": "new-{date:%Y}.run"}]
    content = {"name": "shop", "judgments": str(DATA / "judgments.qrels"), "systems": systems}
    (tmp_path / "shop.yaml").write_text(json.dumps(content))
    found = ndcg_ab.judge_next(config=tmp_path / "shop.yaml", count=3)
    assert found.rows == ndcg_ab.judge_next(DATA / "judgments.qrels", SYSTEMS, count=3).rows


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"count": 0}, "count = 0: must be a whole number, at least 1"),
        ({"config": "a.yaml"}, "config: replaces judgments and systems"),
        ({"metric": "ndcg(unjudged=condense)@10"}, "the effect of a grade on it is not known"),
        ({"candidates": ["other"]}, "candidates 'other': is none of the candidates (new)"),
    ],
)
def test_mistakes_name_the_argument(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ndcg_ab.InputError) as caught:
        ndcg_ab.judge_next(DATA / "judgments.qrels", SYSTEMS, **arguments)
    assert message in str(caught.value)
