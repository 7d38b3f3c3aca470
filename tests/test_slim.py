"""An installation without Prefect and MLflow: what requirements-slim.txt leads to, and nothing else."""

import gzip
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from ndcg_ab.errors import EXTRAS, LIBRARIES
from tests.places import DATA, GOLDEN, ROOT

SLIM = (ROOT / "requirements-slim.txt").read_text(encoding="utf-8").splitlines()
NEEDED = [Requirement(line) for line in SLIM if not line.startswith("#")]
EXTRA = [Requirement(line[2:]) for line in SLIM if re.fullmatch(r"# [a-z-]+[<>=].*", line)]  # second block
THEIRS = {"fastapi", "mlflow", "prefect", "sqlalchemy", "tenacity"}  # of `run` and what only it needs
IMPORTED = {"pyyaml": "yaml"}  # where a distribution and what is imported of it have two names


def test_the_bounds_are_those_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    wanted = {str(requirement) for requirement in map(Requirement, project) if requirement.name not in THEIRS}
    assert {str(requirement) for requirement in (*NEEDED, *EXTRA)} == wanted


def test_what_is_left_out_has_a_name_in_messages() -> None:
    named = {name.replace("_", "-") for name in LIBRARIES if name not in EXTRAS}
    assert named == {r.name.removesuffix("-python") for r in EXTRA} | {"mlflow", "prefect"}


def closure(names: list[str]) -> Iterator[str]:
    """The distributions, and whatever they need here."""
    found: set[str] = set()
    while names:
        name = names.pop()
        if name not in found:
            found.add(name)
            yield name
            required = map(Requirement, distribution(name).requires or [])
            names += [each.name for each in required if each.marker is None or each.marker.evaluate({"extra": ""})]


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with links to this project and to what the slim requirements and pytest lead to: nothing else is there.

    It is what pip would make, in no time; Python is started without its own site-packages.
    """
    folder = tmp_path_factory.mktemp("slim")
    for name in closure([*(requirement.name for requirement in NEEDED), "pytest"]):
        for file in distribution(name).files or ():
            top, place = file.parts[0], folder / file.parts[0]
            if not top.startswith(".") and top != "__pycache__" and not place.exists():
                place.symlink_to(Path(str(distribution(name).locate_file(top))))
    (folder / "ndcg_core").symlink_to(ROOT / "ndcg_core")
    (folder / "ndcg_ab").mkdir()
    for path in (*(ROOT / "ndcg_ab").iterdir(), ROOT / "flows", ROOT / "sql"):
        (folder / "ndcg_ab" / path.name).symlink_to(path)
    return folder


def run(packages: Path, directory: Path, *words: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("COV_", "PYTHON"))}
    command = [sys.executable, "-S", *map(str, words)]
    environment["PYTHONPATH"] = str(packages)
    found = subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert found.returncode == code, found.stdout + found.stderr
    return found


COMMANDS = f"""
import sys
from ndcg_ab.flows.cli.app import app

FILES = ["--judgments", {str(DATA / "judgments.qrels")!r}]
FILES += ["--system", {f"old={DATA / 'old.run'}"!r}, "--system", {f"new={DATA / 'new.run'}"!r}]

def ends(code, *words):
    try:
        app(list(words))
    except SystemExit as end:
        assert end.code == code, (words, end.code)

ends(0, "compare", *FILES, "--markdown", "comment.md", "--per-query", "scores.csv", "--details")
ends(0, "explain", *FILES, "--query", "pasta")
ends(0, "sensitivity", *FILES, "--cutoff", "5", "--quiet")
ends(0, "power", "--scores", "scores.csv", "--effect", "0.1")
ends(0, "check", "check.yaml", "--quiet")
ends(0, "history", "check.yaml", "--metric", "rr")
ends(0, "pipeline")
ends(0, "metrics")
ends(0, "schema")
ends(0, "init", *FILES, "--output-file", "-", "--quiet")
ends(2, "run", "check.yaml")
ends(2, "serve", "check.yaml")
ends(2, "deploy", "check.yaml")
ends(2, "publish", "check.yaml")
ends(2, "compare", *FILES, "--report", "page.html")
ends(2, "sensitivity", *FILES, "--picture", "picture.png")
ends(2, "history", "check.yaml", "--picture", "picture.png")

import ndcg_ab

judgments = {str(DATA / "judgments.qrels")!r}
systems = {{"old": {str(DATA / "old.run")!r}, "new": {str(DATA / "new.run")!r}}}
result = ndcg_ab.compare(judgments, systems)
assert "<table" in result._repr_html_()
ndcg_ab.explain(judgments, systems, query="pasta")
ndcg_ab.power(result, effects=[0.1])
from ndcg_ab.testing import assert_not_worse
assert_not_worse(judgments, systems["old"], systems["new"])
try:
    result.report("page.html")
except ndcg_ab.InputError as error:
    print(error, file=sys.stderr)
print(*sorted({{name.partition(".")[0] for name in sys.modules}}))
"""
NOT_THERE = [
    "ndcg-ab: ndcg-ab run needs MLflow, which is not installed: pip install ndcg-ab",
    "ndcg-ab: ndcg-ab serve needs Prefect and MLflow, which are not installed: pip install ndcg-ab",
    "ndcg-ab: ndcg-ab deploy needs Prefect and MLflow, which are not installed: pip install ndcg-ab",
    "ndcg-ab: ndcg-ab publish needs MLflow, which is not installed: pip install ndcg-ab",
    "ndcg-ab: ndcg-ab compare --report needs Altair and vl-convert, which are not installed: pip install ndcg-ab",
    "ndcg-ab: ndcg-ab sensitivity --picture needs Matplotlib, which is not installed: pip install ndcg-ab",
    "ndcg-ab: ndcg-ab history --picture needs Matplotlib, which is not installed: pip install ndcg-ab",
    "report() needs Altair and vl-convert, which are not installed: pip install ndcg-ab",
]


@pytest.mark.slow
def test_commands_over_files_and_the_api_work_and_the_others_say_what_to_install(
    packages: Path, tmp_path: Path
) -> None:
    systems = "".join(f"\n  - {{name: {name}, file: {DATA / name}.run}}" for name in ("old", "new"))
    text = f"name: small\noutput: out\njudgments: {DATA / 'judgments.qrels'}\nsystems:{systems}\n"
    (tmp_path / "check.yaml").write_text(text)
    (tmp_path / "out" / "small").mkdir(parents=True)
    database = gzip.decompress((GOLDEN / "0.1.0" / "small" / "history.duckdb.gz").read_bytes())
    (tmp_path / "out" / "small" / "history.duckdb").write_bytes(database)
    found = run(packages, tmp_path, "-c", COMMANDS)
    told = [line for line in found.stderr.splitlines() if not re.match(r" *[\d.]+ s  ", line)]
    assert told == NOT_THERE
    assert (tmp_path / "comment.md").read_text().startswith("### ")
    assert {path.name for path in tmp_path.iterdir()} == {"check.yaml", "comment.md", "scores.csv", "out"}
    loaded = set(found.stdout.splitlines()[-1].split())
    names = {IMPORTED.get(requirement.name, requirement.name) for requirement in NEEDED}
    assert names <= loaded, "something in requirements-slim.txt is needed by nothing"


@pytest.mark.slow
def test_the_plugin_works(packages: Path, tmp_path: Path) -> None:
    ranking = "{'q1': {'d1': 2.0, 'd2': 1.0}, 'q2': {'d1': 1.0}}"
    judgments = "{'q1': {'d1': 1}, 'q2': {'d1': 1}}"
    test = f"def test_it(ranking_baseline):\n    ranking_baseline().assert_not_worse({judgments}, {ranking})\n"
    (tmp_path / "test_it.py").write_text(test)
    pytest_with = ("-m", "pytest", "-q", "-p", "ndcg_ab.testing.plugin", "-p", "no:cacheprovider")
    made = run(packages, tmp_path, *pytest_with, "--update-rankings")
    assert "ndcg-ab: baseline written: tests/baselines/test_it.top10.tsv" in made.stdout
    run(packages, tmp_path, *pytest_with)
