"""`ndcg-ab sql`: what it prints; and where a command may write: never two files in one place."""

from pathlib import Path

import pytest

import ndcg_ab
from ndcg_ab.flows.cli.console import Output
from tests.commands import invoke


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
