"""How long a cluster is waited for, and what is said of one that does not begin to work."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ndcg_ab.engines.remote_table import Cluster
from tests.paths import ROOT
from tests.servers import free_port
from tests.spark_cluster import CONF, missing, standalone

spark = pytest.importorskip("ndcg_ab.engines.spark.session", reason="pyspark is not installed", exc_type=ImportError)

WORKER = {"host": "w1", "state": "ALIVE", "coresfree": 0, "memoryfree": 128}
APPLICATION = {"id": "app-1", "memoryperexecutor": 512}
STATES: dict[str, tuple[dict[str, Any], bool, str]] = {
    "no worker": ({"workers": []}, False, "no worker is registered with the master"),
    "dead workers": ({"workers": [WORKER | {"state": "DEAD"}]}, False, "no worker is registered with the master"),
    "none is free": (
        {"workers": [WORKER] * 4, "activeapps": [APPLICATION | {"state": "WAITING"}]},
        False,
        "no worker is free for it: free are w1 0 cores and 128 MB, w1 0 cores and 128 MB, w1 0 cores and 128 MB and 1"
        " more; an executor needs 512 MB (spark.executor.memory)",
    ),
    "another one runs": (
        {"workers": [WORKER], "activeapps": [APPLICATION | {"state": "RUNNING", "id": "app-0"}]},
        False,
        "no worker is free for it: free are w1 0 cores and 128 MB",
    ),
    "starting": (
        {"workers": [WORKER], "activeapps": [APPLICATION | {"state": "RUNNING"}]},
        True,
        "an executor was started, and has not reported yet: its machine is busy, or it cannot reach this one"
        " (spark.driver.host)",
    ),
}


@pytest.mark.parametrize(("state", "is_starting", "words"), STATES.values(), ids=STATES)
def test_what_a_master_says(state: dict[str, Any], is_starting: bool, words: str) -> None:
    assert spark.parse_master_state(state, "app-1") == (is_starting, words)


@pytest.mark.parametrize(
    ("seen", "waited"),
    [(("free",), 10), (("starting",), 30), (("free", "starting"), 10), (("starting", "starting", "free"), 20)],
)
def test_it_is_waited_for_longer_as_long_as_an_executor_starts(
    monkeypatch: pytest.MonkeyPatch, seen: tuple[str, ...], waited: int
) -> None:
    """Whole seconds; the last of what is seen is seen from then on, and a look is taken every 5 s."""
    now = 0.0
    monkeypatch.setattr(spark.time, "monotonic", lambda: now)
    looks = list(seen)

    def look(_: Cluster) -> Any:
        word = looks.pop(0) if len(looks) > 1 else looks[0]
        return word == "starting", word

    wait = spark.ClusterWait(Cluster("spark://head:7077", patience=10), look)
    while not wait.is_over():
        now += 1
    assert waited < wait.seconds <= waited + spark.BETWEEN_LOOKS + 2
    assert wait.seen[1] == seen[0 if waited == 10 else -1]


def test_a_cluster_of_another_kind_is_not_asked() -> None:
    assert spark.query_master(Cluster("local[2]")) == spark.NOTHING_SEEN
    assert spark.query_master(Cluster(None, "sc://host")) == spark.NOTHING_SEEN


ASK = """
import json, sys
from ndcg_ab.engines.remote_table import Cluster
from ndcg_ab.engines.spark.session import open_session
from ndcg_ab.errors import InputError

try:
    open_session(Cluster(sys.argv[1], conf=json.loads(sys.argv[2]), patience=float(sys.argv[3])))
except InputError as error:
    print(error, flush=True)
"""
# settings -> what is said, after how many times the patience
WAITED: dict[str, tuple[dict[str, object], str, int]] = {
    "no worker is free": (
        {"spark.executor.memory": "8g"},
        "no worker is free for it: free are 127.0.0.1 2 cores and 1024 MB; an executor needs 8192 MB",
        1,
    ),
    "an executor that cannot report": (
        {"spark.driver.host": "192.0.2.1"},  # an address of documentation: nobody has it
        "an executor was started, and has not reported yet: its machine is busy, or it cannot reach this one",
        spark.STARTING,
    ),
}


@pytest.mark.soak
@pytest.mark.skipif(missing() is not None, reason=str(missing()))
def test_a_real_master_is_asked_what_it_waits_for(tmp_path: Path) -> None:
    page = free_port() + 10_000  # which is free, too
    with standalone(tmp_path, page) as master:
        for settings, said, times in WAITED.values():
            asked = CONF | {"spark.master.ui.port": page} | settings
            conf = json.dumps({key: str(value) for key, value in asked.items()})
            command = [sys.executable, "-c", ASK, master, conf, "20"]
            done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
            assert done.stdout.startswith(f"{master}: does not begin to work within "), done.stderr
            assert said in done.stdout
            seconds = float(done.stdout.partition(" within ")[2].partition(" s ")[0])
            assert 20 * times <= seconds <= 20 * spark.STARTING + 30
