"""ndcg-ab init: what it writes passes `check`, and what it cannot write from is told in one sentence."""

import re
import shlex
from pathlib import Path

import pytest

from ndcg_ab.config.loading.file import read_config
from ndcg_ab.flows.cli.console import program_name
from tests.commands import invoke
from tests.paths import DATA


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with judgments, two rankings and queries, to work in."""
    here = tmp_path / "my search"
    (here / "runs").mkdir(parents=True)
    for name in ("judgments.qrels", "queries.tsv"):
        (here / name).write_bytes((DATA / name).read_bytes())
    for name in ("old.run", "new.run"):
        (here / "runs" / name).write_bytes((DATA / name).read_bytes())
    monkeypatch.chdir(here)
    return here


def test_files_are_guessed_and_the_configuration_passes_check(folder: Path) -> None:
    found = invoke(["init", "runs/old.run", "queries.tsv", "judgments.qrels", "runs/new.run", "--metric", "nDCG@5"])
    assert found.exit_code == 0, found.output
    said = found.stdout.splitlines()
    assert said[:4] == [
        "judgments.qrels: judgments",
        "runs/old.run: ranking of old, the baseline",
        "runs/new.run: ranking of new",
        "queries.tsv: queries",
    ]
    assert said[-3:-1] == [f"  {program_name()} check ndcg-ab.yaml", f"  {program_name()} run ndcg-ab.yaml"]
    evaluation = read_config(folder / "ndcg-ab.yaml")
    assert (evaluation.name, evaluation.metrics) == ("my-search", ["ndcg@5"])
    assert [(system.name, str(system.file)) for system in evaluation.systems] == [
        ("old", "runs/old.run"),
        ("new", "runs/new.run"),
    ]
    assert evaluation.queries is not None
    assert invoke([*said[-3].split()[1:]]).exit_code == 0


def test_weights_are_told(folder: Path) -> None:
    """They change every number; without the column nothing is said of them."""
    files = ("judgments.qrels", "runs/old.run", "runs/new.run")
    said = "queries weigh as their column weight says; `statistics: {weighted: false}` ignores it"
    plain = (folder / "queries.tsv").read_text().replace("\tweight\t", "\tvisits\t")
    (folder / "plain.tsv").write_text(plain)
    assert "weigh as" not in invoke(["init", *files, "plain.tsv", "--output-file", "plain.yaml"]).stdout
    assert "weigh as" not in (folder / "plain.yaml").read_text()
    found = invoke(["init", *files, "queries.tsv"])
    assert found.exit_code == 0, found.output
    assert said in " ".join(found.stdout.split())
    assert f"# {said}\nqueries:\n" in (folder / "ndcg-ab.yaml").read_text()
    read_config(folder / "ndcg-ab.yaml")


@pytest.mark.slow
def test_files_are_named_and_lie_elsewhere(folder: Path) -> None:
    (folder / "conf").mkdir()
    (folder / "judged.txt").write_text("qid,url,rating\nbread,bread-guide,1\n")
    systems = ("--system", "a b=runs/old.run", "--system", "5=runs/new.run")
    words = ("init", "--judgments", "judged.txt", *systems, "--output-file", "conf/c.yaml", "--name", "n")
    found = invoke([*words])
    assert found.exit_code == 0, found.output
    assert (
        "judged.txt is read as table of judgments, query_id is 'qid', doc_id is 'url', grade is 'rating'"
        in found.stdout
    )
    evaluation = read_config(folder / "conf" / "c.yaml")
    assert (evaluation.judgments.format, evaluation.judgments.columns) == (None, {}), "its form says them"
    assert [system.name for system in evaluation.systems] == ["a b", "5"]
    assert evaluation.path(evaluation.judgments.file).resolve() == folder / "judged.txt"
    before = (folder / "conf" / "c.yaml").read_text()
    refused = invoke([*words, "--metric", "rr"])
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert "is there already" in refused.stderr
    assert (folder / "conf" / "c.yaml").read_text() == before
    assert invoke([*words, "--metric", "rr", "--force", "--quiet"]).stdout == ""
    assert read_config(folder / "conf" / "c.yaml").metrics == ["rr"]


def test_keys_that_are_commented_out_are_right(folder: Path) -> None:
    text = invoke(["init", "judgments.qrels", "runs/old.run", "runs/new.run", "--output-file", "-"]).stdout
    head, rest = text.split("\n\n", 1)
    assert head.startswith("# yaml-language-server: $schema=")
    (folder / "all.yaml").write_text(re.sub(r"^# ", "", rest, flags=re.MULTILINE))
    found = read_config(folder / "all.yaml")
    assert found.gate is not None and found.schedule is not None and found.queries is not None
    assert found.guardrails and found.secondary_metrics and found.statistics.smallest_effect
    assert not (folder / "ndcg-ab.yaml").exists()


REFUSED = {
    ("runs/old.run",): "no judgments: name them with --judgments FILE",
    ("judgments.qrels",): "no ranking: name one for each system",
    ("judgments.qrels", "runs/old.run", "runs/old.run"): "runs/old.run: is given twice",
    ("judgments.qrels", "judgments.qrels", "runs/old.run"): "judgments.qrels: looks like judgments, as judgments.qrels",
    ("judgments.qrels", "runs/no.run"): "runs/no.run: there is no such file",
    ("judgments.qrels", "runs"): "runs: is not a file",
    ("judgments.qrels", "runs/old.run", "--metric", "ndgc@5"): "metrics: metric 'ndgc@5'",
    ("judgments.qrels", "runs/old.run", "--name", "a/b"): "name = 'a/b': must be letters",
    ("judgments.qrels", "runs/old.run", "--output-file", "no/c.yaml"): "--output-file no/c.yaml: there is no directory",
    ("judgments.qrels", "--system", "a=runs/old.run", "--system", "a=runs/new.run"): "--system: the name 'a' is given",
    ("judgments.qrels", "--system", "old"): "--system 'old': must be NAME=FILE",
}


@pytest.mark.parametrize("words", REFUSED, ids=" ".join)
def test_what_is_refused(words: tuple[str, ...], folder: Path) -> None:
    found = invoke(["init", *words])
    assert (found.exit_code, found.stdout, found.stderr.count("\n")) == (2, "", 1)
    assert found.stderr.startswith(f"ndcg-ab: {REFUSED[words]}")
    assert not list(folder.glob("*.yaml"))


def test_the_example_can_be_compared_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = invoke(["example", "a folder/inside"])
    assert said.exit_code == 0, said.output
    (command,) = [line.split("ndcg-ab ", 1)[1] for line in said.stdout.splitlines() if line.startswith("→ ")]
    compared = invoke([*shlex.split(command)])
    assert "✓ ship  new" in compared.stdout, "the labels settle the first example"
    assert "\n! " not in compared.stdout, "and nothing is wrong with it: both systems answer every query"
    assert {path.name for path in (tmp_path / "a folder" / "inside").iterdir()} >= {"judgments.qrels", "new.run"}
    again = invoke(["example", "a folder/inside"])
    assert again.exit_code == 2
    assert "is there already; name another folder" in again.stderr
