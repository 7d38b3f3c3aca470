"""What options say: settings, moments, parts of a table, one value and no second, and where a command may write."""

import json
from pathlib import Path
from typing import Any

import pytest
import typer

import ndcg_ab
from flows.cli.app import app
from ndcg_ab.errors import InputError
from ndcg_ab.flows.cli.console import Output
from ndcg_ab.flows.cli.inputs import parse_at_option
from tests.commands import invoke
from tests.paths import DATA, ROOT

CONFIG = f"""
name: t
judgments: {ROOT}/tests/data/judgments.qrels
systems:
  - {{name: old, file: {ROOT}/tests/data/old.run}}
  - {{name: new, file: "new-{{date}}.run"}}
"""


@pytest.fixture
def config(tmp_path: Path) -> str:
    (tmp_path / "new-2026-11-20.run").write_bytes((ROOT / "tests" / "data" / "new.run").read_bytes())
    path = tmp_path / "t.yaml"
    path.write_text(CONFIG)
    return str(path)


def test_check_as_json_has_the_findings(config: str) -> None:
    found = invoke(["check", config, "--at", "2026-11-20T02:00", "--json", "-"])
    content = json.loads(found.stdout)
    assert content["read"][-1].startswith("20 judged queries")
    assert "unanswered_query" in {finding["code"] for finding in content["findings"]}


@pytest.mark.parametrize(
    "text", ["0001-01-01T00:00+14:00", "9999-12-31T23:59-12:00", "0999-01-01", "1969-12-31", "tomorrow"]
)
def test_a_moment_that_no_night_has_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--at"):
        parse_at_option(text)


@pytest.mark.slow
def test_run_writes_the_results_that_it_keeps(config: str, tmp_path: Path) -> None:
    path = tmp_path / "found.json"
    options = ["--at", "2026-11-20T02:00", "--set", "tracker={json_lines: {folder: lines}}", "--set", "output=out"]
    command = ["run", config, *options, "--set", "statistics.resamples=100", "--threads", "1"]
    found = invoke([*command, "--json", str(path)])
    assert found.exit_code == 0, found.output
    assert found.stdout.splitlines()[-1] == f"written: {path}"
    (bundle,) = (tmp_path / "out" / "t").glob("*/bundle.json")
    assert json.loads(bundle.read_text())["outcome"] == json.loads(path.read_text())
    again = invoke([*command, "--json", "-"])
    assert again.stdout == path.read_text(), "reused, and nothing beside it"


@pytest.mark.parametrize("command", ["check", "run", "history", "publish", "serve", "deploy"])
def test_set_is_heard(command: str, config: str) -> None:
    found = invoke([command, config, "--set", "statistics.seed=1", "--set", "statistics.alhpa=1"])
    assert found.exit_code == 2
    assert found.stderr.startswith("ndcg-ab: --set: key 'statistics.alhpa' is unknown; did you")
    assert found.stderr.count("\n") == 1


COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
SINGLE = [
    (name, option)
    for name, command in COMMANDS.items()
    for each in command.params
    if each.param_type_name == "option" and not each.multiple and not each.is_flag
    for option in each.opts
]


@pytest.mark.parametrize(("command", "option"), SINGLE)
def test_an_option_that_takes_one_value_takes_no_second(command: str, option: str) -> None:
    for given in ([option, "1", option, "2"], [option, "1", "x.run", option, "1"]):
        found = invoke([command, *given])
        assert (found.exit_code, found.stdout) == (2, "")
        assert "is given 2 times, and takes one value: give it once\n" in found.stderr, found.stderr


def test_another_spelling_of_an_option_counts() -> None:
    for given in (["--qrels", "a", "--judgments", "b"], ["--judgments=a", "--qrels=b"], ["--bounds", "--no-bounds"]):
        assert "is given 2 times" in invoke(["compare", *given]).stderr


def test_all_commands_are_there_and_several_values_are_taken_by_others() -> None:
    assert len({name for name, _ in SINGLE}) > 12 and len(SINGLE) > 100
    text = invoke(["compare", "--metric", "ap", "--metric", "rr", "--strict", "--strict"]).stderr
    assert "is given" not in text and "--judgments: is missing" in text


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


def test_it_prints_the_query() -> None:
    options = ["--metric", "rr@5", "--dialect", "postgres", "--judgments", "s.judged", "--mean"]
    options += ["--system", "old=s.one", "--system", "new=s.new", "--columns", "query_id=qid,doc_id=url"]
    options += ["--judgments-columns", "grade=rating"]
    found = invoke(["sql", *options])
    assert found.exit_code == 0
    assert found.stdout == ndcg_ab.sql_query(
        "rr@5",
        dialect="postgres",
        judgments="s.judged",
        systems={"old": "s.one", "new": "s.new"},
        columns={"query_id": "qid", "doc_id": "url"},
        judgments_columns={"grade": "rating"},
        mean=True,
    )
    assert "from s.one as returned\n    union all\n" in found.stdout


def test_the_function_names_its_arguments() -> None:
    with pytest.raises(ndcg_ab.InputError, match=r"^judgments 'a;b': must be the name of a table"):
        ndcg_ab.sql_query(dialect="duckdb", judgments="a;b")
    with pytest.raises(ndcg_ab.InputError, match=r"^rankings, systems: both are given"):
        ndcg_ab.sql_query(dialect="duckdb", rankings="b", systems={"a": "t"})
    with pytest.raises(ndcg_ab.InputError, match=r"^metric = 7: must be text like ndcg@10"):
        ndcg_ab.sql_query(7, dialect="duckdb")  # type: ignore[arg-type]


@pytest.mark.parametrize("other", ["page.html", "./page.html", "there/../page.html", "link.html", "also/page.html"])
def test_one_file_under_two_names_is_named_twice(other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("there").mkdir()
    Path("link.html").symlink_to("page.html")
    Path("also").symlink_to(".")
    with pytest.raises(
        ndcg_ab.InputError, match=r"^--report and --json both name page\.html: one would overwrite the other$"
    ):
        Output([], report=Path("page.html"), csv=None, json=other)
    Output([], report=Path("page.html"), json="there/page.html")
