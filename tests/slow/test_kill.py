"""`kill -9` anywhere in a night, or Prefect away: the history opens, earlier nights stand, the next completes.

And a small case of `make kills`, and of every other module of `make soak`: it runs, and reports work.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ndcg_ab.config.environment import prepare_environment
from ndcg_ab.flows import run
from ndcg_ab.flows.temporary_server import TemporaryServer
from ndcg_ab.history import bundle as bundles
from ndcg_ab.history import working_folder
from ndcg_ab.history.bundle import REUSED
from ndcg_ab.report import bundle_files
from tests import killing
from tests.paths import ROOT
from tests.repeated import mostly_soaked, require_work
from tests.slow.broken_servers import OUTAGES, configuration
from tests.slow.killed_runs import BEFORE_PUBLISHING, IN_KEEPING, IN_PUBLISHING, PLACES, STEPS
from tests.small_evaluation import calling, no_tracker, plain_page, rows_of, small
from tests.stores import with_prefect, with_store

WHOLE = ["bundle.json", "evaluation.duckdb", "published.json", "query_scores.parquet", "report.html"]
KEPT = [STEPS[0], IN_KEEPING[2], IN_PUBLISHING[2]]  # kills everywhere else: make soak
UNPUBLISHED = [name for name in WHOLE if name != "published.json"]


@pytest.fixture(scope="module")
def nights(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Place -> what was left there, and what the next night made of it."""
    asked = [item.callspec.params.get("place") for item in request.session.items if hasattr(item, "callspec")]
    places = [place for place in PLACES if place in asked]
    folder = tmp_path_factory.mktemp("nights")
    with_store(folder / "first")
    command = [sys.executable, "-m", "tests.slow.killed_runs", str(folder), *places]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {"first": rows[0], **{row["place"]: row for row in rows[1:]}}


def of_first(tables: dict[str, list[list[Any]]]) -> dict[str, list[list[Any]]]:
    return {table: [row for row in rows if row[0] == 1] for table, rows in tables.items()}


@pytest.mark.parametrize("place", mostly_soaked(PLACES, KEPT))
class TestAfterAKill:
    def test_earlier_evaluations_stand(self, nights: dict[str, Any], place: str) -> None:
        assert nights[place]["killed"] == -9
        first = nights["first"]["tables"]
        assert sum(map(len, first.values())) > 40
        assert of_first(nights[place]["left"]) == first
        assert of_first(nights[place]["state"]["tables"]) == first

    def test_every_night_counts_once(self, nights: dict[str, Any], place: str) -> None:
        state = nights[place]["state"]
        assert [ordinal for ordinal, _, _ in state["evaluations"]] == [1, 2]
        assert len({key for _, key, _ in state["evaluations"]}) == 2
        assert len({content for _, _, content in state["evaluations"]}) == 2
        for table in ("evaluation", "input", "metric", "system_summary", "comparison", "query_score"):
            rows = [row for row in state["tables"][table] if row[1:3] != ["new", "new"]]  # itself since last night
            assert len(rows) == 2 * len(nights["first"]["tables"][table]), table

    def test_nothing_is_left_lying_about(self, nights: dict[str, Any], place: str) -> None:
        state = nights[place]["state"]
        keys = [key.removeprefix("small/") for _, key, _ in state["evaluations"]]
        kept = keys[1:] if place == "a bundle half removed" else keys
        state["bundles"] = {name: sorted({*files} - {REUSED}) for name, files in state["bundles"].items()}
        files = [WHOLE, UNPUBLISHED if place in BEFORE_PUBLISHING else WHOLE]
        assert state["bundles"] == dict(zip(kept, files[-len(kept) :], strict=True))
        numbered = [[key, ordinal] for ordinal, key, _ in state["evaluations"]]
        assert state["ordinals"] == numbered[-len(kept) :], "a bundle says its ordinal"

    def test_the_tracker_has_every_night_once(self, nights: dict[str, Any], place: str) -> None:
        if place in BEFORE_PUBLISHING:
            return
        runs = nights[place]["runs"]
        assert [(run["ordinal"], run["kind"]) for run in runs] == [
            (ordinal, kind) for ordinal in (1, 2) for kind in ("comparison", "system", "system")
        ]
        assert {run["status"] for run in runs} == {"FINISHED"}
        assert [run["complete"] for run in runs if run["kind"] == "comparison"] == [True, True]


def test_a_history_killed_while_it_was_made_is_made_by_the_next(tmp_path: Path) -> None:
    """Before, a kill in this moment left an empty file that nobody could open."""
    code = (
        "import os, signal\nfrom ndcg_ab.history import database\n"
        "class Dying(database.GrowingDatabase):\n"
        "    def __exit__(self, *_): os.kill(os.getpid(), signal.SIGKILL)\n"
        "database.GrowingDatabase = Dying\n"
        f"from pathlib import Path\nwith database.open_history_for(Path({str(tmp_path / 'history.duckdb')!r})): pass\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False)
    assert done.returncode == -9
    from ndcg_ab.history import database

    assert not (tmp_path / "history.duckdb").exists()
    with database.open_history_for(tmp_path / "history.duckdb") as past:
        assert database.next_ordinal(past) == 1
    for path in tmp_path.glob(".history.*.partial"):
        import os

        os.utime(path, (0, 0))
    working_folder.clear_abandoned(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["history.duckdb"]


# ---- Prefect away, hanging, failing or dying: the night goes on without it, and says so


prepare_environment()


@pytest.mark.parametrize("outage", mostly_soaked(["refused", "hanging", "500"], kept=["hanging"]))
def test_a_night_without_prefect_goes_on(outage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from prefect.settings import PREFECT_API_URL, temporary_settings

    from ndcg_ab.flows import observed

    monkeypatch.setattr(observed, "PATIENCE", 1.0)
    monkeypatch.setattr(bundle_files, "write_report", plain_page)
    monkeypatch.setattr(run, "perform_patiently", calling(publish=no_tracker))
    said: list[str] = []
    with OUTAGES[outage]() as port, temporary_settings({PREFECT_API_URL: f"http://127.0.0.1:{port}/api"}):
        finished = run.run_evaluation(small(tmp_path), said.append)
    assert finished.unobserved is not None
    assert f"http://127.0.0.1:{port}/api" in finished.unobserved
    assert said[0].startswith("going on without Prefect (")
    assert bundles.read_bundle(finished.bundle).outcome == finished.outcome


KILLER = """import os
from pathlib import Path

def search(queries):
    try:
        os.kill(PROCESS, 9)
    except ProcessLookupError:
        pass
    found = {}
    for line in (Path(__file__).parent / "new.run").read_text().splitlines():
        query, _, doc, _, score, _ = line.split()
        found.setdefault(query, []).append((doc, float(score)))
    return found
"""


def test_prefect_dying_half_way_leaves_the_night_whole(tmp_path: Path) -> None:
    """And the gate's word stands.

    With the retries of config/environment.py it takes some 10 s to go on, 45 s with a server that hangs; here none.
    """
    home = {"PREFECT_HOME": str(with_prefect(tmp_path / "prefect"))}
    environment = os.environ | home | {"PREFECT_CLIENT_MAX_RETRIES": "0"}
    server = TemporaryServer(home)
    try:
        assert server.wait(120) is None
        killed = [{"name": "old", "file": "old.run"}, {"name": "new", "python": "killer_of_prefect:search"}]
        evaluation = small(
            tmp_path,
            systems=killed,
            queries={"file": "queries.tsv"},
            prefect={"api_url": server.url},
            gate={"judged": 0.99},
            tracker="json_lines",
        )
        (tmp_path / "inputs" / "killer_of_prefect.py").write_text(KILLER.replace("PROCESS", str(server.process.pid)))
        command = [sys.executable, "-m", "ndcg_ab.flows.cli.main", "run", str(configuration(evaluation, tmp_path))]
        done = subprocess.run(
            command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
        )
    finally:
        server.stop()
    assert done.returncode == 1, done.stderr
    assert "gate failed: judged: " in done.stderr
    assert "going on without Prefect" in done.stderr
    assert "Prefect has no record of this run, which went on without it" in done.stderr
    assert "Traceback" not in done.stderr and "EventsWorker" not in done.stderr
    assert rows_of(evaluation, "select ordinal from evaluation") == [(1,)]
    (bundle,) = (tmp_path / "out" / "small").glob("2*")
    assert json.loads((bundle / "published.json").read_text())["uri"] == str(tmp_path / "out" / "json_lines")


RECIPES = (ROOT / "Makefile").read_text(encoding="utf-8")
MODULES = sorted(set(re.findall(r"-m tests\.(\w+)(?: --(?:count|kills|seconds)|$)", RECIPES, re.MULTILINE)))
# module -> the test that calls what its command line does
SMALL = {
    "bombing": "ndcg_ab/sources/files/test_unpacking.py",
    "full_disks": "slow/test_full_disk.py",
    "fuzzing": "slow/test_fuzzing.py",
    "hiding": "ndcg_ab/test_errors.py",
    "killing": "slow/test_kill.py",
    "leaving": "ndcg_ab/test_temporary.py",
    "mistaking": "slow/test_fuzzing.py",
    "sanitizing": "slow/test_fuzzing.py",
    "two_ways": "slow/test_fuzzing.py",
}


def kill_nights(*words: str) -> tuple[int, list[dict[str, int]], str]:
    """Run `tests.killing` and return its exit code, the counts of each trial, and its errors."""
    command = [sys.executable, "-m", "tests.killing", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=250, check=False)
    return done.returncode, [json.loads(line.partition(": ")[2]) for line in done.stdout.splitlines()], done.stderr


@pytest.mark.parametrize("name", MODULES)
def test_every_module_of_make_soak_has_a_small_case(name: str) -> None:
    text = (ROOT / "tests" / SMALL[name]).read_text(encoding="utf-8")
    assert re.search(rf"{name}\.main\(\[|\"tests\.{name}\"", text), SMALL[name]


def test_the_recipes_are_read() -> None:
    assert sorted(SMALL) == MODULES


def test_killed_nights_and_two_writers() -> None:
    code, (killed, together), errors = kill_nights("--kills", "1", "--seconds", "0.1", "--seed", "1")
    assert code == 0, errors
    assert killed["killed"] + killed.get("ended before", 0) == 1
    assert killed["evaluations"] >= 3 and together["evaluations"] >= 2 and together["reads"] >= 1
    assert {*killed, *together} <= set(killing.GOOD)


@pytest.mark.soak
def test_a_stopped_run() -> None:
    """In `make test` a run is stopped by tests/slow/test_stopping.py, in the midst of a pull."""
    code, (stopped,), errors = kill_nights("--kills", "0", "--seconds", "0", "--stops", "1", "--seed", "3")
    assert code == 0, errors
    assert stopped["stopped"] == 1 and stopped["bundles"] >= 1


def test_the_first_night_that_fails_ends_the_module_with_its_traceback() -> None:
    """As when the pipeline had another signature than the nights: no kill was looked at, and nobody saw why."""
    code = (
        "import sys, tests.killing as killing\n"
        "def night(evaluation): raise TypeError('say() takes 1 argument')\n"
        "killing.night = night\n"
        "sys.exit(killing.main(['--kills', '3', '--seconds', '0']))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stdout == ""
    assert "in night" in done.stderr and "TypeError: say() takes 1 argument" in done.stderr


def test_a_module_that_did_nothing_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="kills: did nothing: no nights, no reads"):
        require_work("kills", nights=0, reads=0, writers=1)
