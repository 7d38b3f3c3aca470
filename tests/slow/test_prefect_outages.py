"""Prefect away, hanging, failing or dying: the night goes on without it, and says so."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ndcg_ab.config.environment import prepare_environment
from ndcg_ab.flows import run
from ndcg_ab.flows.temporary_server import TemporaryServer
from ndcg_ab.history import bundle as bundles
from ndcg_ab.report import bundle_files
from tests.paths import ROOT
from tests.repeated import mostly_soaked
from tests.slow.broken_servers import OUTAGES, configuration
from tests.small_evaluation import calling, no_tracker, plain_page, rows_of, small
from tests.stores import with_prefect

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
