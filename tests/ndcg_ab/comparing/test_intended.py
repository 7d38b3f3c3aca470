"""The queries that a change was meant for, tested apart from the others."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import ndcg_ab
from ndcg_ab.errors import InputError
from ndcg_ab.pipeline.stages import check_only
from ndcg_ab.report.markdown import format_comment
from ndcg_ab.report.sections import format_intended
from ndcg_ab.scoring.scoring import open_engine_for
from tests.repeated import mostly_soaked
from tests.small_evaluation import small

DATA = Path(__file__).parents[2] / "data"
MEANT = ["butter", "eggs", "fish", "honey", "pasta", "salad", "tofu"]
FILES = {"old": str(DATA / "old.run"), "new": str(DATA / "new.run")}


def compared(intended: Any, **options: Any) -> ndcg_ab.CompareResult:
    return ndcg_ab.compare(str(DATA / "judgments.qrels"), FILES, intended=intended, resamples=200, **options)


@pytest.fixture(scope="module")
def result() -> ndcg_ab.CompareResult:
    return compared(MEANT)


def parts(result: ndcg_ab.CompareResult) -> dict[str, ndcg_ab.Comparison]:
    return {row.slice or "": row for row in result.comparisons if row.family == "intended"}


@pytest.mark.slow
def test_it_decides_nothing(result: ndcg_ab.CompareResult) -> None:
    alone = compared(None)
    assert result.decisions == alone.decisions
    assert [row for row in result.comparisons if row.family != "intended"] == list(alone.comparisons)
    assert result._outcome.slices == []
    assert "slices_disagree" not in {finding.code for finding in result.findings}


def test_it_is_told_below_the_metric(result: ndcg_ab.CompareResult) -> None:
    told = format_intended(result._outcome, "new", "ndcg@10")
    row = parts(result)["intended"]
    assert told is not None
    assert told.startswith(f"moved {row.differing} of the 7 queries it was meant for: {row.difference:+.4f} [")
    assert "; and 13 of 13 others: " in told
    assert told[:40] in format_comment(result._outcome).replace("\\", "")
    assert format_intended(result._outcome, "new", "rr") is None


@pytest.mark.slow
def test_where_every_query_is_meant(result: ndcg_ab.CompareResult) -> None:
    every = compared(sorted({row["query_id"] for row in result.query_scores.to_pylist()}))
    assert list(parts(every)) == ["intended"]
    told = format_intended(every._outcome, "new", "ndcg@10")
    assert told is not None and told.startswith("moved 20 of the 20 queries it was meant for: ") and "other" not in told


@pytest.mark.slow
@pytest.mark.parametrize("ending", mostly_soaked(["txt", "csv", "jsonl", "parquet"], kept=["jsonl"]))
def test_it_is_read_from_every_format(ending: str, result: ndcg_ab.CompareResult, tmp_path: Path) -> None:
    path = tmp_path / f"intended.{ending}"
    if ending == "parquet":
        import pyarrow.parquet as papq

        papq.write_table(pa.table({"query_id": MEANT}), path)
    else:
        header = {"txt": "# a comment\n", "csv": "kind,query_id\n"}.get(ending, "")
        form = {"txt": "{}\n", "csv": "x,{}\n", "jsonl": '{{"query_id": "{}"}}\n'}[ending]
        path.write_text(header + "".join(form.format(each) for each in [*MEANT, MEANT[0]]))
    assert parts(compared(path)) == parts(result), "an id that stands twice counts once"


@pytest.mark.slow
def test_unknown_ids_are_left_out_and_told() -> None:
    found = compared([*MEANT, "zap", "zip"])
    (finding,) = [each for each in found.findings if each.code == "intended_unknown"]
    assert finding.message == ("2 of the 9 intended queries of intended are not judged (such as 'zap'): left out")
    assert (finding.severity, finding.count, finding.examples) == ("warning", 2, ("query 'zap'", "query 'zip'"))
    assert parts(found)["intended"].queries == 7


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        (["zip", "zap"], "intended: intended names none of the 20 judged queries (the first is 'bread', the first of"),
        ([], "intended: is empty: at least one query id is needed"),
        ([7], "intended: 7: must be the text of a query id"),
    ],
)
def test_what_is_refused(ids: list[Any], said: str) -> None:
    with pytest.raises(InputError) as error:
        compared(ids)
    assert str(error.value).startswith(said)


@pytest.mark.slow
def test_with_scores_of_another_tool(result: ndcg_ab.CompareResult) -> None:
    given = ndcg_ab.compare(scores=result.query_scores, intended=MEANT, resamples=200)
    assert [row.differing for row in parts(given).values()] == [row.differing for row in parts(result).values()]


def test_check_tells_unknown_ids(tmp_path: Path) -> None:
    evaluation = small(tmp_path, intended={"file": "intended.txt"})
    (tmp_path / "inputs" / "intended.txt").write_text("tofu\nzap\n")
    with open_engine_for(evaluation) as engine:
        found, _ = check_only(evaluation, engine)
    assert "intended_unknown" in {finding.code for finding in found}
