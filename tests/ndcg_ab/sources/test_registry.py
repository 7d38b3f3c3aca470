"""A table with the rankings of several systems below each other is each of them, whatever it is in."""

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import ndcg_ab
from ndcg_ab.errors import InputError
from tests.commands import invoke
from tests.inputs import write_table

ROWS = {"query_id": ["q1", "q1", "q2", "q2"], "doc_id": ["d1", "d2", "d1", "d2"], "score": [4.0, 3.0, 2.0, 1.0]}


def rankings(column: str, values: list[Any]) -> pa.Table:
    return pa.table({column: values, **ROWS})


def write(folder: Path, ending: str, table: pa.Table) -> Path:
    path = write_table(folder / f"both.{ending}", table.to_pylist())
    (folder / "j.qrels").write_text("q1 0 d1 1\nq2 0 d1 1\n")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_files(ending: str, tmp_path: Path) -> None:
    path = write(tmp_path, ending, rankings("tag", ["a", "a", "b", "b"]))
    judgments, new = str(tmp_path / "j.qrels"), str(tmp_path / "new.yaml")
    for command in (["compare", judgments, str(path), "--json", "-"], ["check", judgments, str(path)],
                    ["check", str(path)], ["init", judgments, str(path), "--output-file", new]):  # fmt: skip
        found = invoke(command)
        assert found.exit_code == 0, (command, found.stderr)
        assert re.search("a 2 results, b 2 results" if command[0] != "compare" else '"baseline": "a"', found.stdout)
    for name in ("a", "b"):
        config = tmp_path / f"{name}.yaml"
        config.write_text(
            f"name: n\njudgments: j.qrels\nsystems: [{{name: {name}, file: {path.name}}}]\nmetrics: [ndcg]\n"
        )
        assert f"{name} 2 results" in invoke(["check", str(config)]).stdout


def test_a_system_that_is_not_in_it_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "csv", rankings("system_id", ["a", "a", "b", "b"]))
    found = invoke(["compare", str(tmp_path / "j.qrels"), f"c={path}"])
    assert found.exit_code == 2
    assert (
        "names 2 systems (a, b), and a ranking is of one system: call the system one of them, not 'c'" in found.stderr
    )


@pytest.mark.parametrize("values", [["a", "a", "b", ""], ["a", None, "a", "a"]])
def test_rows_without_a_system_are_refused(values: list[Any], tmp_path: Path) -> None:
    path = write(tmp_path, "csv", rankings("system_id", values))
    found = invoke(["compare", str(tmp_path / "j.qrels"), str(path)])
    assert found.exit_code == 2
    assert "its column 'system_id' is empty in some rows: name the system in each row, or in none" in found.stderr
    with pytest.raises(InputError, match="is empty in some rows"):
        ndcg_ab.compare({"q1": {"d1": 1}, "q2": {"d1": 1}}, {"a": rankings("run", values)})


@pytest.mark.slow
def test_python(tmp_path: Path) -> None:
    judgments = {"q1": {"d1": 1}, "q2": {"d1": 1}}
    with pytest.raises(InputError, match="names 2 systems") as caught:
        ndcg_ab.compare(judgments, {"x": rankings("run", ["a", "b", "a", "b"])})
    assert "systems['x']" in str(caught.value)
    assert ndcg_ab.compare(judgments, {"x": rankings("run", ["a", "a", "a", "a"])})
    assert ndcg_ab.compare(judgments, {"x": rankings("run", [0.5, 1.5, 2.5, 3.5])}), "no names"
