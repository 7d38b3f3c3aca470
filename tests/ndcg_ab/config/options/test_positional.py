"""Files without options: which is which, what systems are called, and what is refused."""

from pathlib import Path
from typing import Any

import pytest

from ndcg_ab.config.options.positional import (
    assign_files,
    distinct_names,
    expand_patterns,
    parse_named_files,
    systems_by_name,
)
from ndcg_ab.errors import InputError
from tests.sentences import refusal_text


def placed(**options: Any) -> tuple[str, list[tuple[str, str]]]:
    found = assign_files(options, "compare")
    return found["judgments"], [(name, file) for name, file, _ in found["system"]]


def test_the_first_is_the_judgments_and_the_others_are_rankings() -> None:
    expected = ("q.qrels", [("old", "runs/old.run"), ("new", "runs/new.run.gz")])
    files = ["runs/old.run", "runs/new.run.gz"]
    assert placed(files=["q.qrels", *files]) == expected
    assert placed(files=files, judgments="q.qrels") == expected
    assert placed(judgments="q.qrels", system=files) == expected
    assert placed(files=["q.qrels"], system=["old=runs/old.run", files[1]]) == expected


@pytest.mark.parametrize(
    ("files", "names"),
    [
        (["bm25.run", "bm25.v2.run.gz"], ["bm25", "bm25.v2"]),
        (["old/test.run", "new/test.run"], ["old", "new"]),
        (["a/bm25.run", "b/bm25.run", "b/dense.run"], ["a-bm25", "b-bm25", "b-dense"]),
        (["x/old/test.run", "y/old/test.run"], ["test", "test-2"]),
        (["s3://bucket/nights/new.run?version=3", "C:\\runs\\old.csv"], ["new", "old"]),
    ],
)
def test_names_are_the_plainest_that_tell_files_apart(files: list[str], names: list[str]) -> None:
    assert distinct_names(files) == names


@pytest.mark.parametrize("name", ["bm25_k1=0.9.run", "a=b=c.run", "=x.run", "x=.run", "k1=0.9,b=0.4.csv.gz"])
def test_a_file_name_may_hold_equals_signs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    for path in (Path(name), Path("runs") / name):
        path.touch()
        for placing in ({"files": ["q", str(path)]}, {"judgments": "q", "system": [str(path)]}):
            assert [file for _, file in placed(**placing)[1]] == [str(path)]
        assert placed(judgments="q", system=[f"my={path}"])[1] == [("my", str(path))]
    assert parse_named_files(["gone/k=1.run"])[0][1] == "gone/k=1.run", "a folder is in no name"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"files": ["a.run", "b.run"], "system": ["o=o.run"]}, "b.run: is no option; say --system b=b.run, or give"),
        ({"files": ["b.run"], "system": ["o=o.run"], "judgments": "q"}, "b.run: is no option; say --system b=b.run"),
        ({"files": ["n=b.run"], "system": ["o=o.run"]}, "n=b.run: is no option; say --system n=b.run"),
        ({"files": ["q=q.qrels", "b.run"]}, "q=q.qrels: the first file is the judgments, without a name: JUDGMENTS"),
        ({"files": ["new.eval"], "scores": ["old.eval"]}, "new.eval: is no option; say --scores new.eval"),
        ({"files": ["q.qrels"]}, "--system: is missing: give the files, ndcg-ab compare JUDGMENTS BASELINE CANDIDATE…"),
        ({}, "--judgments: is missing: give the files, ndcg-ab compare JUDGMENTS"),
    ],
)
def test_what_cannot_be_told_is_refused(options: dict[str, Any], message: str) -> None:
    assert refusal_text(assign_files, options, "compare").startswith(message)


def test_a_system_named_twice_is_refused() -> None:
    assert systems_by_name(["a.run", "b=b.run"]) == {"a": Path("a.run"), "b": Path("b.run")}
    with pytest.raises(InputError, match="the name 'a' is given twice"):
        systems_by_name(["a=x.run", "a=y.run"])


def test_a_pattern_is_one_table_with_a_name_and_several_files_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    for name in ("runs/b.run", "runs/a.run", "runs/.hidden.run", "q.qrels", "[x].run"):
        (tmp_path / name).touch()
    pattern, address = "runs/*.run", "s3://bucket/*.run"
    matching = ["runs/a.run", "runs/b.run"]
    assert [*expand_patterns(["q.qrels", pattern, "[x].run", address])] == ["q.qrels", *matching, "[x].run", address]
    assert placed(files=["q.qrels", pattern]) == ("q.qrels", [("a", matching[0]), ("b", matching[1])])
    assert parse_named_files([f"p={pattern}", "f=runs", pattern, "g=[x].run", f"o={address}"]) == [
        ("p", pattern, True),
        ("f", "runs", True),
        ("a", matching[0], False),
        ("b", matching[1], False),
        ("g", "[x].run", False),
        ("o", address, False),
    ]
    with pytest.raises(InputError, match=r"^runs/\*.csv: no file matches it; in runs there is a.run"):
        parse_named_files(["runs/*.csv"])
    with pytest.raises(InputError, match=r"^--system runs: is a folder: if it is one table, say --system runs=runs"):
        systems_by_name(["runs"])
