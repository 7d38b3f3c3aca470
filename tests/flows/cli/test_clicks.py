"""`ndcg-ab clicks`: the grades of a log, written as judgments that compare reads."""

import csv
import json
from pathlib import Path
from unittest.mock import Mock

import pytest

from ndcg_ab.config.model.inputs.sources import FileSource
from ndcg_ab.engines import open_engine
from ndcg_ab.sources.clicks import click_judgments
from ndcg_ab.sources.judgments.gathering import pull_judgment_source
from tests.commands import invoke
from tests.inputs import write_rankings

HEAD = "query,document,place,shown,clicked\n"
COUNTS = HEAD + "shoes,a,1,400,200\nshoes,b,1,100,10\nshoes,b,2,500,100\nshoes,c,2,500,50\n"


def run(*words: object) -> tuple[int, str, str]:
    found = invoke(["clicks", *map(str, words)])
    return found.exit_code, found.stdout, found.stderr


@pytest.fixture
def counts(tmp_path: Path) -> Path:
    path = tmp_path / "counts.csv"
    path.write_text(COUNTS)
    return path


def test_clicks_become_judgments(counts: Path, tmp_path: Path) -> None:
    """Place 1 is clicked 21 of 50 times, place 2 15 of 100: a 200 / 168, b 110 / 252, c 50 / 75."""
    files = ("--output-file", tmp_path / "grades.csv", "--json", tmp_path / "found.json")
    code, said, _ = run(counts, "--model", "opensearch", "--quantiles", "0.25,0.5,0.75", *files)
    assert code == 0 and "3 of 3 documents have a grade, of 1 query" in said
    rows = list(csv.DictReader((tmp_path / "grades.csv").open()))
    values = {row["doc_id"]: float(row["value"]) for row in rows}
    assert values == pytest.approx({"a": 200 / 168, "b": 110 / 252, "c": 50 / 75}, abs=1e-12)
    assert [(row["doc_id"], row["grade"]) for row in rows] == [("a", "3"), ("b", "0"), ("c", "2")]
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["places"][0] == {"place": 1, "impressions": 500, "clicks": 210, "rate": pytest.approx(0.42)}
    assert found["grades"][0]["value"] == pytest.approx(200 / 168) and found["findings"][0]["code"] == "click_grades"


@pytest.mark.parametrize(
    ("words", "grades"),
    [
        (["--model", "rate", "--thresholds", "0.15,0.4"], {"a": 2, "b": 1, "c": 0}),
        (["--quantiles", "0.5"], {"a": 1, "b": 1, "c": 0}),
        (["--floor", "550"], {"b": 0}),
    ],
)
def test_what_is_asked_for_changes_the_grades(
    words: list[str], grades: dict[str, int], counts: Path, tmp_path: Path
) -> None:
    assert run(counts, *words, "--output-file", tmp_path / "grades.tsv", "-q")[0] == 0
    rows = csv.DictReader((tmp_path / "grades.tsv").open(), delimiter="\t")
    assert {row["doc_id"]: float(row["grade"]) for row in rows} == grades


def test_what_the_command_may_use_reaches_its_engine(
    counts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Mock(wraps=open_engine)
    monkeypatch.setattr(click_judgments, "open_engine", opened)
    assert run(counts, "--threads", 1, "--memory-limit", "1GB", "--spill", tmp_path / "room", "-q")[0] == 0
    assert [call.args for call in opened.call_args_list] == [(1, "1GB", tmp_path / "room")]


def test_compare_says_that_what_is_written_comes_from_clicks(counts: Path, tmp_path: Path) -> None:
    path = tmp_path / "grades.csv"
    assert run(counts, "--output-file", path, "-q")[0] == 0
    pulled = pull_judgment_source(FileSource(file=path), tmp_path)
    assert [(remark.code, remark.count) for remark in pulled.remarks] == [("click_grades", pulled.table.num_rows)]
    lines = [line.partition(",clicks")[0] for line in path.read_text().splitlines()]
    path.write_text("".join(f"{','.join(line.split(',')[:3])}\n" for line in lines))
    assert pull_judgment_source(FileSource(file=path), tmp_path).remarks == ()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--model", "best"], "--model = 'best': must be 'position', 'rate' or 'opensearch'"),
        (["--quantiles", "0.5", "--thresholds", "1"], "--quantiles, --thresholds: both say where grades begin"),
        (["--quantiles", "0.5,x"], "--quantiles 0.5,x: must be numbers with commas between"),
        (["--quantiles", "0.5,0.2"], "--quantiles, --thresholds: quantiles = [0.5, 0.2]: must rise"),
        (["--floor", "1000"], "no document has 1000 impressions or more (the most is 600)"),
        (["--memory-limit", "1MB"], "--memory-limit = '1MB': is too little to work with: it is of the whole process"),
        (["--output-file", "grades.txt"], "--output-file grades.txt: must end in .csv, .tsv, .parquet or .pq"),
    ],
)
def test_what_is_wrong_is_one_sentence(words: list[str], said: str, counts: Path) -> None:
    code, _, told = run(counts, *words)
    assert code == 2 and said in told and told.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize("is_proxy", [False, True])
def test_a_page_says_whether_clicks_decided(is_proxy: bool, counts: Path, tmp_path: Path) -> None:
    """In its first line, where they are the judgments; proxy judgments decide nothing."""
    queries = ("shoes", "boots", "hats")
    head, rows = COUNTS.split("\n", 1)
    counts.write_text(head + "\n" + "".join(rows.replace("shoes", query) for query in queries))
    (tmp_path / "careful.qrels").write_text("shoes 0 a 2\nshoes 0 b 0\n")
    write_rankings(tmp_path, {"old": dict.fromkeys(queries, "cba"), "new": dict.fromkeys(queries, "abc")})
    clicks = f"{{clicks: {counts.name}}}"
    judged = f"judgments: careful.qrels\ncheap_judgments: {clicks}" if is_proxy else f"judgments: {clicks}"
    systems = "systems: [{name: old, file: old.run}, {name: new, file: new.run}]"
    content = f"name: shop\n{judged}\n{systems}\ntracker: json_lines\noutput: out\n"
    (tmp_path / "shop.yaml").write_text(content)
    found = invoke(["run", str(tmp_path / "shop.yaml"), "-q"])
    assert found.exit_code == 0, found.output
    (page,) = (tmp_path / "out" / "shop").glob("2*/report.html")
    assert ("judged by clicks" in page.read_text()) == (not is_proxy)
