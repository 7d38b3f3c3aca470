"""What version 0.1.0 left stays readable: bundles, history, tables (tests/golden)."""

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.history import database
from ndcg_ab.history.bundles import bundle as bundles
from ndcg_ab.history.timeline.timeline import read_timeline, timeline_json
from ndcg_ab.report.bundle_files import PAGE, write_report
from ndcg_core.statistics.verdicts.verdict import Size, Verdict
from tests.places import ROOT
from tests.small_evaluation import changed_run, rows_of, small, undrawn

pytestmark = pytest.mark.slow

GOLDEN = ROOT / "tests" / "golden" / "0.1.0"


@pytest.fixture
def old(tmp_path: Path) -> Evaluation:
    """The old evaluation's results, in a folder of this test."""
    shutil.copytree(GOLDEN / "small", tmp_path / "out" / "small")
    for packed in (tmp_path / "out").rglob("*.gz"):
        packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
        packed.unlink()
    return small(tmp_path)


def folders(evaluation: Evaluation) -> list[Path]:
    return bundles.finished_bundles(evaluation.output_directory / "small")


TAKEN_OUT = {"interval", "exploratory", "preview", "interval_method", "p_sign", "skewness", "above", "within", "below"}
TAKEN_OUT |= {"comparisons_so_far"}


def lacking(old: Any, new: Any, path: str = "") -> list[str]:
    """Where new content does not have an old key with its old value."""
    if isinstance(old, dict):
        kept = [key for key in old if key not in TAKEN_OUT]
        return [each for key in kept for each in lacking(old[key], new.get(key), f"{path}/{key}")]
    if isinstance(old, list):
        pairs = zip(old, new, strict=True)
        return [each for place, (a, b) in enumerate(pairs) for each in lacking(a, b, f"{path}[{place}]")]
    return [] if old == new else [f"{path}: {old!r}, {new!r}"]


def test_bundles_are_read_with_every_old_value(old: Evaluation) -> None:
    assert len(folders(old)) == 2
    for folder in folders(old):
        content = json.loads((folder / "bundle.json").read_text())
        bundle = bundles.read_bundle(folder)
        assert lacking(content["outcome"], bundle.outcome.to_dict()) == []
        bundle.write()
        assert lacking(content, json.loads((folder / "bundle.json").read_text())) == []
        assert bundles.read_bundle(folder) == bundle


def test_verdicts_that_were_sentences_are_data(old: Evaluation) -> None:
    comparisons = [row for folder in folders(old) for row in bundles.read_bundle(folder).outcome.comparisons]
    assert len(comparisons) > 20
    found = {(row.conclusion, row.size) for row in comparisons}
    assert {(Verdict.IMPROVED, Size.BY_MORE_THAN), (Verdict.REGRESSED, Size.BY_MORE_THAN)} <= found
    kinds = {kind for kind, _ in found}
    assert kinds >= {Verdict.IDENTICAL, Verdict.NOT_TESTABLE, Verdict.MAY_BE_WORSE, Verdict.UNDECIDED}


def test_the_history_is_read_as_it_was(old: Evaluation) -> None:
    now = json.loads(timeline_json(read_timeline(old, "ndcg@5", None)))
    before = json.loads((GOLDEN / "history.json").read_text())
    for evaluation in before["evaluations"]:
        evaluation["pending"] = True  # published.json is not kept here
    assert lacking(before, now) == []
    (system,) = [row for row in now["evaluations"][1]["systems"] if row["system_id"] == "new"]
    assert system["conclusion"] == "regressed", "told from the sentence, which is all that the old history has"


def test_the_next_evaluation_joins_them(old: Evaluation, tmp_path: Path) -> None:
    before = rows_of(old, "select ordinal, candidate, metric, difference, verdict from comparison order by all")
    changed_run(tmp_path, 1)
    bundle = bundles.read_bundle(undrawn(old).bundle)
    assert bundle.ordinal == 3
    assert rows_of(old, "select distinct ordinal from comparison order by all") == [(1,), (2,), (3,)]
    rows = rows_of(old, "select ordinal, candidate, metric, difference, verdict from comparison order by all")
    assert [row for row in rows if row[0] < 3] == before
    assert rows_of(old, "select conclusion from comparison where ordinal = 3") == [("improved",)]


def test_a_lost_history_is_made_anew_from_the_bundles(old: Evaluation) -> None:
    before = rows_of(old, "select ordinal, candidate, metric, difference, verdict from comparison order by all")
    database.history_path(old).unlink()
    with database.open_history_for(database.history_path(old)) as past:
        bundles.adopt_bundles(past, old.output_directory / "small")
    rows = rows_of(old, "select ordinal, candidate, metric, difference, verdict from comparison order by all")
    assert rows == before
    assert rows_of(old, "select count(*) from comparison where conclusion is null") == [(0,)]


def test_the_page_can_be_drawn_again(old: Evaluation) -> None:
    folder = folders(old)[0]
    write_report(folder)
    page = (folder / PAGE).read_text()
    assert "improved, by more than 0.01" in page
    assert "bread" in page
