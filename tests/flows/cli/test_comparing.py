"""The commands as a user calls them: tables, JSON, files, exit codes, and queries that belong together."""

import functools
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as papq
import pytest
import typer

from ndcg_ab.flows.cli.app import app
from tests.commands import compare_command, invoke, read_json
from tests.inputs import write_judgments, write_rankings
from tests.paths import ROOT
from tests.references import Collection

GRADES = [3, 2, 1, 0]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Judgments of 30 queries; `new` puts the best first, `old` last, `half` answers every other query as `old`."""
    queries = [f"q{number:02d}" for number in range(30)]
    write_judgments(tmp_path / "qrels", {query: dict(zip("abcd", GRADES, strict=True)) for query in queries})
    orders = {"old": "dcba", "new": "abcd", "half": "dcba", "same": "dcba"}
    answered = {name: queries[1::2] if name == "half" else queries for name in orders}
    return write_rankings(tmp_path, {name: dict.fromkeys(answered[name], order) for name, order in orders.items()})


def outcome(files: Path, *options: str, systems: tuple[str, ...] = ("old", "new")) -> dict:
    return read_json(compare_command(files, *options, systems=systems))


def listed_keys(name: str) -> list[str]:
    """The keys of one of the lists in docs/json.md, in their order."""
    text = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
    (listed,) = re.findall(rf"^\| `{name}` \| `\[\{{(.*)\}}\]`", text, flags=re.MULTILINE)
    return str(listed).split(", ")


def described_keys() -> set[str]:
    """The keys in docs/json.md's table of what describes."""
    text = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
    table = text.partition("- `descriptive`:")[2].partition("\n\n- ")[0]
    cells = re.findall(r"^\| (`.*?`) \| ", table, flags=re.MULTILINE)
    return {key for cell in cells for key in re.findall(r"`(\w+)`", cell)}


def test_the_json_keeps_its_contract(files: Path) -> None:
    found = outcome(files, "--metric", "rr", "--metric", "nDCG@3", systems=("old", "new", "half"))
    assert found["schema"] == 1
    assert [metric["name"] for metric in found["metrics"]] == ["rr", "ndcg@3"]
    assert [(row["metric"], row["system_id"]) for row in found["systems"]] == [
        (metric, system) for metric in ("rr", "ndcg@3") for system in ("old", "new", "half")
    ]
    system_keys = "system_id metric mean median queries unanswered judged unweighted_mean"
    assert set(found["systems"][0]) == set(system_keys.split())
    for row in found["comparisons"]:
        assert list(row) == listed_keys("comparisons")
        assert set(row["descriptive"]) == described_keys()
    new = next(row for row in found["comparisons"] if (row["candidate"], row["metric"]) == ("new", "rr"))
    assert (new["wins"], new["ties"], new["losses"], new["differing"]) == (30, 0, 0, 30)
    assert new["difference"] == pytest.approx(0.5)
    assert new["verdict"] == "improved"
    assert new["p_adjusted"] >= new["p_value"] > 0
    for finding in found["findings"]:
        assert list(finding) == listed_keys("findings")
    assert [list(each) for each in found["decisions"]] == [listed_keys("decisions")] * 2
    assert ("unanswered_query", 15) in {(row["code"], row["count"]) for row in found["findings"]}


@pytest.mark.parametrize(("name", "read"), [("scores.csv", pacsv.read_csv), ("scores.parquet", papq.read_table)])
def test_every_querys_values(name: str, read: Callable[[Path], pa.Table], files: Path) -> None:
    path = files / name
    found = invoke(compare_command(files, "--per-query", str(path), "--metric", "rr", "--metric", "nDCG@3", "--quiet"))
    assert (found.exit_code, found.output) == (0, "")
    rows = read(path).to_pylist()
    assert len(rows) == 2 * 2 * 30
    assert {tuple(row) for row in rows} == {("system_id", "query_id", "metric", "value", "metric_hash")}
    values = {(row["system_id"], row["query_id"], row["metric"]): row["value"] for row in rows}
    assert values["old", "q07", "rr"] == 0.5
    assert values["new", "q07", "ndcg@3"] == 1.0


@pytest.mark.slow
def test_real_rankings_over_threads_and_against_the_published_means(collection: Collection) -> None:
    texts = []
    for threads in ("1", "2"):
        command = ["compare", "--judgments", str(collection.qrels), "--json", "-", "--threads", threads]
        for name in collection.systems:
            command += ["--system", f"{name}={collection.run(name)}"]
        found = invoke([*command, "--metric", "ndcg@10", "--metric", "ndcg@3"])
        assert found.exit_code == 0, found.output
        texts.append(found.stdout)
    assert texts[0] == texts[1]
    means = {(row["system_id"], row["metric"]): row["mean"] for row in json.loads(texts[0])["systems"]}
    for metric, published in collection.means.items():
        assert [round(means[name, metric], 4) for name in collection.systems] == published


def test_check_counts_and_writes_nothing(files: Path) -> None:
    (files / "config.yaml").write_text(
        "name: t\njudgments: qrels\nsystems: [{name: old, file: old.run}, {name: half, file: half.run}]\n"
    )
    before = sorted(files.rglob("*"))
    found = invoke(["check", str(files / "config.yaml")])
    assert found.exit_code == 0
    assert "30 judged queries, 120 judgments; old 120 results, half 60 results" in found.stdout
    assert "system half returned nothing for 15 of the judged queries" in found.stdout
    assert sorted(files.rglob("*")) == before


def test_check_takes_what_its_message_about_repeated_documents_says(files: Path) -> None:
    lines = (files / "old.run").read_text().splitlines()
    (files / "old.run").write_text("".join(f"{line}\n" for line in [*lines, lines[0]]))
    command = ["check", str(files / "qrels"), str(files / "old.run")]
    assert "say --duplicates first" in invoke(command).stderr
    assert "1 copies of documents are left out" in invoke([*command, "--duplicates", "first"]).stdout
    findings = read_json(["compare", *command[1:], "--metric", "rr(duplicates=first)@10"])["findings"]
    assert [row["count"] for row in findings if row["code"] == "duplicate_document"] == [1]


@pytest.mark.parametrize("command", ["compare", "run", "check", "publish"])
def test_every_command_shows_an_example(command: str) -> None:
    found = invoke([command, "--help"])
    assert found.exit_code == 0
    assert f"Example: ndcg-ab {command}" in " ".join(found.output.split())


def shown_options(*words: str) -> set[str]:
    found = invoke([*words], env={"COLUMNS": "200"})
    assert found.exit_code == 0, found.output
    return set(re.findall(r"^│ (--[a-z-]+)", found.output, flags=re.MULTILINE))


def test_help_shows_what_is_used_most_and_help_all_every_option() -> None:
    parameters = typer.main.get_command(app).commands["compare"].params
    every = {each.opts[0] for each in parameters if each.opts[0].startswith("--")} | {"--help"}
    short = shown_options("compare", "--help")
    assert {"--metric", "--report", "--gate", "--help-all"} < short < every
    assert len(short) <= 14
    assert shown_options("compare", "--help-all") == every
    assert shown_options("compare", "--help") == short, "it is shown once"
    assert shown_options("help", "compare") == short


def test_shells_complete_every_option_and_the_topics(tmp_path: Path) -> None:
    """Those, too, that the short help leaves out."""
    for words, expected in (("ndcg-ab compare --mem", "--memory-limit"), ("ndcg-ab help find", "findings")):
        asked = {"_NDCG_AB_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": "2"}
        found = invoke([], env=asked, prog_name="ndcg-ab")
        assert found.stdout.split() == [expected]


def test_what_only_explains_comes_together_and_has_its_old_names() -> None:
    topics = re.findall(r"^│ (\w+) ", invoke(["help"]).output, flags=re.MULTILINE)
    assert sorted(set(topics)) == ["findings", "formats", "metrics", "schema", "terms"]
    for words in (["metrics", "MAP"], ["findings", "few_judged"], ["schema"]):
        found = invoke(["help", *words])
        assert found.exit_code == 0
        assert found.stdout == invoke(words).stdout


def test_findings_as_json() -> None:
    (entry,) = json.loads(invoke(["findings", "few_judged", "--json", "-"]).stdout)["findings"]
    assert (entry["code"], entry["severity"]) == ("few_judged", "warning")
    assert len(json.loads(invoke(["help", "findings", "--json", "-"]).stdout)["findings"]) > 40
    refused = invoke(["findings", "few_juged", "--json", "-"])
    assert (refused.exit_code, refused.stdout) == (2, "")


@pytest.mark.slow
def test_the_last_line_names_every_file_that_was_written(files: Path) -> None:
    names = [str(files / name) for name in ("r.json", "c.md", "s.csv")]
    options = [word for pair in zip(("--json", "--markdown", "--per-query"), names, strict=True) for word in pair]
    found = invoke(compare_command(files, "--resamples", "100", *options))
    assert found.stdout.splitlines()[-1] == f"written: {', '.join(names)}"
    assert "written" not in invoke(compare_command(files, "--resamples", "100", *options, "--quiet")).output
    found = invoke(compare_command(files, "--resamples", "100", "--json", "-", *options[2:4]))
    assert found.stderr.splitlines()[-1] == f"written: {names[1]}"
    json.loads(found.stdout)


def test_progress_is_for_humans(capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    from ndcg_ab.flows.cli.console import Progress

    with Progress(quiet=False) as say:
        say("at once")
        monkeypatch.setattr(say, "start", time.monotonic() - 2)
        say("after two seconds")
    assert capsys.readouterr().err.split(maxsplit=2)[2] == "after two seconds\n"


@pytest.mark.slow
def test_a_link_is_followed_and_a_pipe_is_written_to(files: Path) -> None:
    (files / "target.json").write_text("old")
    (files / "link.json").symlink_to(files / "target.json")
    found = invoke(compare_command(files, "--json", str(files / "link.json"), "--quiet"))
    assert found.exit_code == 0
    assert (files / "link.json").is_symlink()
    assert json.loads((files / "target.json").read_text())["schema"] == 1
    options = compare_command(files, "--json", "/dev/stdout", "--quiet")
    command = [sys.executable, "-m", "ndcg_ab.flows.cli.main", *options]
    piped = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(piped.stdout)["schema"] == 1
    assert Path("/dev/stdout").is_symlink()


def test_the_glossary_is_printed_without_links() -> None:
    found = invoke(["help", "terms"])
    assert found.exit_code == 0 and "unjudged results could turn this difference" in found.stdout
    assert "](" not in found.stdout and max(map(len, found.stdout.splitlines())) <= 100


TURNS = [f"{conversation}_{turn}" for conversation in range(101, 113) for turn in range(1, 6)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve conversations of five turns; in each the new system is better, worse or neither, on nearly every turn."""
    rng = np.random.default_rng(4)
    place = tmp_path_factory.mktemp("clusters")
    better = dict(zip(range(101, 113), rng.uniform(0, 1, 12), strict=True))
    wins = {query: rng.random() < better[int(query.split("_")[0])] for query in TURNS}
    new = {query: "ab" if has_won else "ba" for query, has_won in wins.items()}
    write_rankings(place, {"old": {query: order[::-1] for query, order in new.items()}, "new": new})
    write_judgments(place / "qrels", {query: {"a": 1} for query in TURNS})
    named = [f"{query}\t{query.split('_')[0]}\ttext of {query}\n" for query in TURNS]
    (place / "queries.tsv").write_text("query_id\tcluster\ttext\n" + "".join(named))
    (place / "other.tsv").write_text("query_id\tconversation\ttext\n" + "".join(named))
    (place / "few.tsv").write_text("query_id\tcluster\ttext\n" + "".join(named[:-2]))
    return place


@functools.cache
def compare(folder: Path, *options: str) -> dict[str, Any]:
    content: dict[str, Any] = read_json(compare_command(folder, "--metric", "rr", *options))
    return content


def codes(content: dict[str, Any]) -> set[str]:
    return {finding["code"] for finding in content["findings"]}


@pytest.fixture(scope="module")
def plain(folder: Path) -> dict[str, Any]:
    return compare(folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [("--queries", "{}/other.tsv", "--cluster", "conversation"), ("--cluster-prefix", "_")]
)
def test_every_way_to_name_them_is_the_same(folder: Path, options: tuple[str, ...]) -> None:
    content = compare(folder, *options)
    assert content["comparisons"] == compare(folder, "--queries", "{}/queries.tsv")["comparisons"]
    assert content["comparisons"][0]["clusters"]["count"] == 12 and "looks_clustered" not in codes(content)
    assert "looks_clustered" not in codes(compare(folder, "--queries", "{}/queries.tsv", "--unclustered"))


def test_ids_that_come_in_groups_are_asked_about(plain: dict[str, Any]) -> None:
    (found,) = (each for each in plain["findings"] if each["code"] == "looks_clustered")
    assert found["message"] == (
        "by their ids 60 of 60 queries form 12 groups: results may look too certain → --cluster-prefix _ (groups such"
        " as '101_1', '101_2')"
    )


@pytest.mark.parametrize("named", [("--clusters", "{}/queries.tsv"), ("--cluster-prefix", "_")])
def test_power_plans_with_them(folder: Path, named: tuple[str, ...]) -> None:
    scores = str(folder / "scores.csv")
    (compared,) = compare(folder, "--cluster-prefix", "_", "--per-query", scores)["comparisons"]
    options = [option.replace("{}", str(folder)) for option in named]
    found = invoke(["power", "--scores", scores, "--json", "-", "--queries", "600", *options])
    assert found.exit_code == 0, found.output
    (plan,) = json.loads(found.stdout)["comparisons"]
    assert plan["mde"] == pytest.approx(compared["mde"])
    assert (plan["clusters"], plan["effective_clusters"]) == (12, 12)
    ten_times = next(row["effect"] for row in plan["curve"] if row["queries"] == 600)
    assert ten_times == pytest.approx(plan["mde"] / 10**0.5, rel=0.1)  # and a few more degrees of freedom


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ("--cluster", "conversation"),
            "--cluster: names a column of the queries; give their file too, with --queries",
        ),
        (("--queries", "{}/other.tsv", "--cluster", "user"), "other.tsv: there is no column 'user' for cluster"),
        (("--queries", "{}/few.tsv"), "queries: 2 judged queries have no cluster (such as '112_4'): give every judged"),
        (
            ("--queries", "{}/other.tsv", "--cluster", "conversation", "--cluster-prefix", "_"),
            "--cluster, --cluster-prefix: both name the clusters; take one of the two out",
        ),
        (("--cluster-prefix", "_", "--unclustered"), "cluster_prefix names clusters, and clustered = false"),
        (("--queries", "{}/queries.tsv", "--slice", "cluster"), "'cluster' is no attribute to slice by"),
    ],
)
def test_what_is_refused(folder: Path, options: tuple[str, ...], said: str) -> None:
    found = invoke(compare_command(folder, "--metric", "rr", *options))
    assert (found.exit_code, found.stdout) == (2, "")
    assert said in found.stderr.replace("\n", " ")
