"""Parts of one table on the command line: a pattern or a folder with a name is read as the one file is."""

from pathlib import Path

import pytest

from tests.commands import invoke
from tests.paths import DATA


def run(*words: str) -> tuple[int, str]:
    found = invoke(list(words))
    return found.exit_code, found.stdout or found.stderr


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two rankings in runs/, and the first of them once more in two parts."""
    monkeypatch.chdir(tmp_path)
    for name in ("runs", "parts"):
        (tmp_path / name).mkdir()
    (tmp_path / "q.qrels").write_bytes((DATA / "judgments.qrels").read_bytes())
    for name in ("new.run", "old.run"):
        (tmp_path / "runs" / name).write_bytes((DATA / name).read_bytes())
    lines = (DATA / "new.run").read_text().splitlines(keepends=True)
    for name, part in (("1.run", lines[:40]), ("2.run", lines[40:])):
        (tmp_path / "parts" / name).write_text("".join(part))
    return tmp_path


@pytest.mark.slow
def test_a_name_makes_one_table_of_a_pattern_or_a_folder(folder: Path) -> None:
    expected = run("compare", "q.qrels", "new=runs/new.run", "runs/old.run", "--json", "-")
    assert expected[0] == 0
    assert run("compare", "q.qrels", "new=parts/*.run", "runs/old.run", "--json", "-") == expected
    given = ("--judgments", "q.qrels", "--run", "new=parts", "--run", "runs/old.run")
    assert run("compare", *given, "--json", "-") == expected


@pytest.mark.slow
def test_the_first_configuration_names_parts(folder: Path) -> None:
    code, _ = run("init", "q.qrels", "runs/old.run", "--system", "new=parts/*.run", "--quiet")
    assert code == 0
    assert "  - name: new\n    file: parts/*.run\n    parts: true\n" in (folder / "ndcg-ab.yaml").read_text()
    assert run("check", "ndcg-ab.yaml")[0] == 0
    code, said = run("check", "q.qrels", "runs/old.run", "--system", "new=parts")
    assert code == 0 and "parts: ranking of new" in said


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("parts", "parts: is not a file; name one of its files, such as parts/1.run; or, if all of them are parts"),
        ("none/*.run", "none/*.run: no file matches it; there is no folder none"),
        ("new=none/*.run", "none/*.run: no file matches it"),
    ],
)
def test_what_is_no_table_is_said(given: str, said: str, folder: Path) -> None:
    code, text = run("compare", "q.qrels", given, "runs/old.run")
    assert code == 2 and text.startswith(f"ndcg-ab: {said}")
