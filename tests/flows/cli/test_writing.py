"""`ndcg-ab sql`: what it prints, and what it says of options that mean nothing."""

import pytest
from typer.testing import CliRunner

import ndcg_ab
from ndcg_ab.flows.cli.app import app


def test_it_prints_the_query() -> None:
    options = ["--metric", "rr@5", "--dialect", "postgres", "--judgments", "s.judged", "--mean"]
    options += ["--system", "old=s.one", "--system", "new=s.new", "--columns", "query_id=qid,doc_id=url"]
    options += ["--judgments-columns", "grade=rating"]
    found = CliRunner().invoke(app, ["sql", *options])
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


WRONG = [
    ("--dialect oracle", "--dialect = 'oracle': must be one of duckdb, postgres, spark,"),
    ("--dialect postgre", "did you mean 'postgres'?"),
    ("--dialect sqlite --metric ndcg(preset=trec_eval-9)@10", "score_precision = float32 cannot be said in SQLite"),
    ("--dialect duckdb --metric ndgc@10", "did you mean 'ndcg'"),
    (
        "--dialect duckdb --metric ndcg@10 --metric rr",
        "--metric is given 2 times ('ndcg@10', 'rr'): one query computes one metric; print one for each",
    ),
    ("--dialect duckdb --judgments a;b", "--judgments 'a;b': must be the name of a table"),
    ("--dialect duckdb --system a=t --rankings b", "--rankings, --system: both are given"),
    ("--dialect duckdb --system a=t --system a=u", "--system 'a=u': a is named twice"),
    ("--dialect duckdb --system t", "--system 't': must be NAME=TABLE, such as new=search.ranking_new"),
    ("--dialect duckdb --columns rank=r", "--columns rank=r: the query orders by scores, and does not read it"),
    ("--dialect duckdb --system a=t --columns system_id=s", "the query has a table for each system"),
    ("--dialect duckdb --columns url", "--columns 'url': must be FIELD=COLUMN"),
]


@pytest.mark.parametrize(("options", "said"), WRONG)
def test_what_means_nothing_is_told_in_a_sentence(options: str, said: str) -> None:
    found = CliRunner().invoke(app, ["sql", *options.split()])
    assert (found.exit_code, found.stdout) == (2, "")
    assert said in found.stderr
    assert len(found.stderr.splitlines()) == 1


def test_the_function_names_its_arguments() -> None:
    with pytest.raises(ndcg_ab.InputError, match=r"^judgments 'a;b': must be the name of a table"):
        ndcg_ab.sql_query(dialect="duckdb", judgments="a;b")
    with pytest.raises(ndcg_ab.InputError, match=r"^rankings, systems: both are given"):
        ndcg_ab.sql_query(dialect="duckdb", rankings="b", systems={"a": "t"})
    with pytest.raises(ndcg_ab.InputError, match=r"^metric = 7: must be text like ndcg@10"):
        ndcg_ab.sql_query(7, dialect="duckdb")  # type: ignore[arg-type]
