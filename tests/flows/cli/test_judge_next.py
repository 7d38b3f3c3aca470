"""judge-next, as a user calls it."""

import csv
import io
import json
from pathlib import Path

import pytest

import ndcg_ab
from tests.commands import invoke
from tests.paths import DATA

SYSTEMS = ["--system", f"old={DATA}/old.run", "--system", f"new={DATA}/new.run"]
QRELS = DATA / "judgments.qrels"
FILES = ["--judgments", f"{DATA}/judgments.qrels", *SYSTEMS]
WORDS = ["--queries", f"{DATA}/queries.tsv", "--documents", f"{DATA}/documents.tsv"]


def listed(*options: str) -> list[dict[str, str]]:
    found = invoke(["judge-next", *options, "--csv", "-"])
    assert found.exit_code == 0, found.output
    return list(csv.DictReader(io.StringIO(found.stdout)))


def compared(judgments: Path, metric: str, queries: Path | None) -> float:
    rankings = {"old": DATA / "old.run", "new": DATA / "new.run"}
    result = ndcg_ab.compare(judgments, rankings, metrics=metric, queries=queries, bounds=False)
    difference = result.comparison("new").difference
    assert difference is not None
    return difference


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("metric", "queries"),
    [
        ("ndcg@10", DATA / "queries.tsv"),
        *(pytest.param(*each, marks=pytest.mark.soak) for each in (("ap@5", DATA / "queries.tsv"), ("rr", None))),
        ("bpref", None),
    ],
)
def test_lowest_and_highest_are_what_the_comparison_gives_with_that_grade(
    tmp_path: Path, metric: str, queries: Path | None
) -> None:
    """With weights of the queries and without."""
    row = listed(*FILES, "--metric", metric, "-n", "1", *(["--queries", str(queries)] if queries else []))[0]
    for grade, column in ((0, "lowest"), (3, "highest")):
        more = tmp_path / f"{grade}.qrels"
        more.write_text((DATA / "judgments.qrels").read_text() + f"{row['query_id']} 0 {row['doc_id']} {grade}\n")
        assert compared(more, metric, queries) == pytest.approx(float(row[column]), abs=1e-12)


@pytest.mark.slow
def test_the_first_are_worth_most_and_have_their_words() -> None:
    rows = listed(*FILES, *WORDS, "-n", "5")
    effects = [float(row["effect"]) for row in rows]
    assert effects == sorted(effects, reverse=True)
    assert [row["place"] for row in rows] == ["1", "2", "3", "4", "5"]
    first = rows[0]
    assert (first["query_id"], first["doc_id"], first["text"]) == ("pizza", "pizza-story", "pizza recipe")
    assert (first["title"], first["url"]) == ("Pizza: the story", "https://example.org/pizza-story")
    assert json.loads(first["ranks"]) == {"old": 2}
    lines = json.loads(invoke(["judge-next", *FILES, *WORDS, "-n", "5", "--json", "-"]).stdout)["documents"]
    assert [line["doc_id"] for line in lines] == [row["doc_id"] for row in rows]
    assert lines[0]["ranks"] == {"old": 2}


@pytest.mark.first_case
@pytest.mark.parametrize("metric", ["ndcg@10", "precision(relevant_from=2)@5", "rr", "err@5", "bpref"])
def test_what_is_unjudged_is_listed_while_no_grade_gains_anything(tmp_path: Path, metric: str) -> None:
    """A judge can give a grade that nobody gave so far."""
    judgments = tmp_path / "zero.qrels"
    judgments.write_text("".join(f"{line.rsplit(maxsplit=1)[0]} 0\n" for line in QRELS.read_text().splitlines()))
    effects = [float(row["effect"]) for row in listed("--judgments", str(judgments), *SYSTEMS, "--metric", metric)]
    assert effects and min(effects) > 0


@pytest.mark.slow
def test_a_table_is_shown() -> None:
    rows = listed(*FILES, "-n", "2")
    found = invoke(["judge-next", *FILES, "-n", "2"], env={"COLUMNS": "100"})
    lines = [line.split() for line in found.stdout.splitlines()]
    assert ["query", "document", "old", "new", "effect", "difference"] in lines
    ranks = json.loads(rows[0]["ranks"])
    (line,) = [line for line in lines if line[:1] == [rows[0]["query_id"]]]
    assert line[1:4] == [rows[0]["doc_id"], str(ranks["old"]), str(ranks["new"])]
    assert float(line[4]) == pytest.approx(float(rows[0]["effect"]), abs=5e-5)


def test_it_says_what_the_grades_can_settle_and_writes_the_sheet(tmp_path: Path) -> None:
    table, sheet = tmp_path / "next.csv", tmp_path / "sheet.html"
    command = ["judge-next", *FILES, "-n", "3", "--csv", str(table), "--sheet", str(sheet)]
    found = invoke(command, env={"COLUMNS": "1000"})
    assert found.exit_code == 0, found.output
    standing = "new against old, ndcg@10: improved; turns if unjudged results are as good as judged ones."
    assert standing in found.stdout and "--more-judgments FILE" in found.stdout
    assert "17 more unjudged documents would move a difference" in found.stdout
    assert len(table.read_text().splitlines()) == 4
    assert "pizza-story" in sheet.read_text()


@pytest.mark.slow
def test_judging_all_that_is_named_settles_everything(tmp_path: Path) -> None:
    rows = listed(*FILES, "-n", "1000")
    more = tmp_path / "all.qrels"
    more.write_text("".join(f"{row['query_id']} 0 {row['doc_id']} 0\n" for row in rows))
    found = invoke(["judge-next", *FILES, "--more-judgments", str(more)])
    assert found.stdout == "There is nothing to judge: no grade of an unjudged document changes a difference (new).\n"


@pytest.mark.slow
def test_a_configuration_says_the_same(tmp_path: Path) -> None:
    config = tmp_path / "small.yaml"
    config.write_text(
        f"name: small\njudgments: {{file: {DATA}/judgments.qrels}}\n"
        f"systems:\n  - {{name: old, file: {DATA}/old.run}}\n  - {{name: new, file: {DATA}/new.run}}\n"
        "metrics: [ndcg@5]\nsecondary_metrics: [ndcg@10]\nguardrails: {ap@10: 0.02}\n"
    )
    assert listed(str(config), "--metric", "ndcg@10") == listed(*FILES)
    assert {row["metric"] for row in listed(str(config))} == {"ndcg@5"}
    found = invoke(["judge-next", str(config), "--set", "judgments.complete=true"])
    assert "unjudged results are declared not relevant." in found.stdout and "up to 5 times" not in found.stdout


@pytest.mark.slow
@pytest.mark.parametrize("options", [["--smallest-effect", "0.6"], ["--alpha", "0.001"]])
def test_the_verdict_is_that_of_compare_with_the_same_options(options: list[str]) -> None:
    verdict = json.loads(invoke(["compare", *FILES, *options, "--json", "-"]).stdout)["comparisons"][0]["verdict"]
    found, plain = (invoke(["judge-next", *FILES, *each], env={"COLUMNS": "1000"}).stdout for each in (options, ()))
    assert f"ndcg@10: {verdict};" in found and f"ndcg@10: {verdict};" not in plain


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--candidate", "other"], "--candidate 'other': is none of the candidates (new)"),
        (["--csv", "-", "--json", "-"], "only one of them can be written here"),
        (["--sheet", "sheet.txt"], "--sheet sheet.txt: must end in .html"),
        (["--set", "metrics=[ap]"], "--set: goes with a configuration, and files were given"),
        (["some.yaml"], "--judgments: goes with files, and a configuration was given"),
    ],
)
def test_mistakes_are_one_sentence(options: list[str], message: str) -> None:
    found = invoke(["judge-next", *FILES, *options])
    assert found.exit_code == 2
    assert message in found.stderr and "Traceback" not in found.stderr and not found.stdout


def test_documents_that_settle_what_is_open_are_listed_where_nothing_else_is_asked_for() -> None:
    """u comes after what nobody wants, in every query; v first in three of them alone."""
    queries = [f"q{number:02}" for number in range(30)]
    judgments = {query: {"a": 1, "b": 0} for query in queries}
    order = {"old": "ab", "worse": "bu", "open": "ab"}
    shown = {
        name: {query: {doc: -at for at, doc in enumerate(docs)} for query in queries} for name, docs in order.items()
    }
    shown["open"] |= {query: {"v": 1, "a": 0} for query in queries[:3]}
    for candidates, documents in (((), {"v"}), (["worse"], {"u"})):
        found = ndcg_ab.judge_next(judgments, shown, metric="rr", candidates=candidates, resamples=200)
        assert {row.doc_id for row in found.rows} == documents
