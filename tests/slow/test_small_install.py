"""`pip install ndcg-ab`, without extras: the wheel in an environment with what it needs, and nothing else."""

import os
import subprocess
import sys
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement

from tests.ceilings import CEILINGS
from tests.commands import sentences
from tests.paths import DATA
from tests.slow.test_installed import built_once, installer
from tests.test_dependencies import closure

IMPORTED = {"markdown-it-py": "markdown_it", "pyyaml": "yaml"}  # distribution -> what is imported of it


@pytest.fixture(scope="module")
def wheel() -> Path:
    return built_once()


@pytest.fixture(scope="module")
def wanted(wheel: Path) -> list[str]:
    """What the wheel says that it needs."""
    with ZipFile(wheel) as packed:
        (path,) = [name for name in packed.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = Parser().parsestr(packed.read(path).decode())
    texts = map(Requirement, metadata.get_all("Requires-Dist") or ())
    return [each.name for each in texts if each.marker is None or each.marker.evaluate({"extra": ""})]


@pytest.fixture(scope="module")
def python(wheel: Path, wanted: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel, and links to what it needs and to pytest: nothing else is there."""
    folder = tmp_path_factory.mktemp("small") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    made = folder / "bin" / "python"
    subprocess.run([*installer(made), "--no-deps", "--no-index", wheel], check=True, capture_output=True)
    (packages,) = (folder / "lib").glob("python*/site-packages")
    for found in closure(*wanted, "pytest").values():
        for file in found.files or ():
            top, place = file.parts[0], packages / file.parts[0]
            if not top.startswith(".") and top != "__pycache__" and not place.exists():
                place.symlink_to(Path(str(found.locate_file(top))))
    return made


def run(program: Path, directory: Path, *words: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith(("COV_", "PYTHON"))}
    command = [program, *map(str, words)]
    found = subprocess.run(command, cwd=directory, env=own, capture_output=True, text=True, timeout=120, check=False)
    assert found.returncode == code, found.stdout + found.stderr
    return found


def test_it_stays_small(wanted: list[str]) -> None:
    """Counted with ndcg-ab itself; the bytes that the packages say they have."""
    found = closure(*wanted)
    assert len(found) + 1 <= CEILINGS["installation"]["packages"]
    megabytes = sum((file.size or 0) for each in found.values() for file in each.files or ()) / 1e6
    assert 100 < megabytes <= CEILINGS["installation"]["megabytes"]


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

ends(0, "compare", *FILES, "--markdown", "comment.md", "--report", "page.html", "--per-query", "scores.csv")
ends(0, "explain", *FILES, "--query", "pasta")
ends(0, "sensitivity", *FILES, "--cutoff", "5", "--quiet", "--picture", "matrix.svg")
ends(0, "power", "--scores", "scores.csv", "--effect", "0.1", "--picture", "power.svg")
ends(0, "judge-next", *FILES, "--sheet", "sheet.html", "--quiet")
ends(0, "run", "small.yaml", "--quiet")
ends(0, "history", "small.yaml", "--picture", "nights.svg")
ends(0, "example", "tried")
ends(0, "metrics")
ends(0, "schema")
ends(0, "init", *FILES, "--output-file", "-", "--quiet")
print("to MLflow", file=sys.stderr)
ends(2, "run", "tracked.yaml")
ends(2, "run", "small.yaml", "--set", "prefect.server=temporary")
ends(2, "serve", "small.yaml")
ends(2, "deploy", "small.yaml")
ends(2, "publish", "tracked.yaml")

import ndcg_ab

judgments = {str(DATA / "judgments.qrels")!r}
systems = {{"old": {str(DATA / "old.run")!r}, "new": {str(DATA / "new.run")!r}}}
result = ndcg_ab.compare(judgments, systems)
assert "<table" in result._repr_html_()
ndcg_ab.explain(judgments, systems, query="pasta")
ndcg_ab.power(result, effects=[0.1])
from ndcg_ab.testing import assert_not_worse
assert_not_worse(judgments, systems["old"], systems["new"])
result.report("report.html")
print(*sorted({{name.partition(".")[0] for name in sys.modules}}))
"""
INSTALL = "not installed: pip install 'ndcg-ab[nightly]'"
NOT_THERE = [
    f"ndcg-ab: ndcg-ab run needs MLflow, which is {INSTALL}",
    f"ndcg-ab: ndcg-ab run needs Prefect, which is {INSTALL}",
    f"ndcg-ab: ndcg-ab serve needs Prefect and MLflow, which are {INSTALL}",
    f"ndcg-ab: ndcg-ab deploy needs Prefect and MLflow, which are {INSTALL}",
    f"ndcg-ab: ndcg-ab publish needs MLflow, which is {INSTALL}",
]


def test_all_but_mlflow_and_prefect_works_and_the_rest_says_what_to_install(
    python: Path, wanted: list[str], tmp_path: Path
) -> None:
    systems = "".join(f"\n  - {{name: {name}, file: {DATA / name}.run}}" for name in ("old", "new"))
    text = f"name: small\noutput: out\njudgments: {DATA / 'judgments.qrels'}\nsystems:{systems}\n"
    (tmp_path / "tracked.yaml").write_text(text.replace("name: small", "name: tracked"))
    (tmp_path / "small.yaml").write_text(f"{text}tracker: json_lines\n")
    found = run(python, tmp_path, "-c", COMMANDS)
    told = found.stderr.partition("to MLflow\n")[2]
    assert sentences(told) == NOT_THERE
    assert (tmp_path / "comment.md").read_text().startswith("### ")
    files = "comment.md matrix.svg nights.svg page.html power.svg report.html scores.csv sheet.html tried"
    assert {path.name for path in tmp_path.iterdir()} == {*files.split(), "small.yaml", "tracked.yaml", "out"}
    assert len(list((tmp_path / "out" / "small").glob("2*/report.html"))) == 1
    loaded = set(found.stdout.splitlines()[-1].split())
    names = {IMPORTED.get(name, name) for name in wanted}
    assert names <= loaded, "something is installed that nothing needs"
    assert not loaded & {"mlflow", "prefect", "matplotlib", "sqlalchemy", "pandas"}


def test_the_pytest_plugin_works(python: Path, tmp_path: Path) -> None:
    ranking = "{'q1': {'d1': 2.0, 'd2': 1.0}, 'q2': {'d1': 1.0}}"
    judgments = "{'q1': {'d1': 1}, 'q2': {'d1': 1}}"
    test = f"def test_it(ranking_baseline):\n    ranking_baseline().assert_not_worse({judgments}, {ranking})\n"
    (tmp_path / "test_it.py").write_text(test)
    twice = "import pytest; print([int(pytest.main(['-q', *more])) for more in (['--update-rankings'], [])])"
    made = run(python, tmp_path, "-c", twice)
    assert "ndcg-ab: baseline written: tests/baselines/test_it.top10.tsv" in made.stdout
    assert made.stdout.endswith("[0, 0]\n")
