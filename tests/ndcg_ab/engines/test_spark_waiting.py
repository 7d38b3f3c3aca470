"""How long a cluster is waited for, and what is said of one that does not begin to work."""

from typing import Any

import pytest

from ndcg_ab.engines.elsewhere import Cluster

spark = pytest.importorskip("ndcg_ab.engines.spark", reason="pyspark is not installed", exc_type=ImportError)

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
    assert spark.seen_in(state, "app-1") == (is_starting, words)


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
        return spark.Seen(word == "starting", word)

    wait = spark.Wait(Cluster("spark://head:7077", patience=10), look)
    while not wait.is_over():
        now += 1
    assert waited < wait.seconds <= waited + spark.BETWEEN_LOOKS + 2
    assert wait.seen.words == seen[0 if waited == 10 else -1]


def test_a_cluster_of_another_kind_is_not_asked() -> None:
    assert spark.seen_at(Cluster("local[2]")) == spark.NOTHING_SEEN
    assert spark.seen_at(Cluster(None, "sc://host")) == spark.NOTHING_SEEN
