"""Measure the processor time of Spark per row: one evaluation over 1, 2, 4, … million ranking rows in Parquet.

    python benchmarks/spark.py 1 2 4 8 [--master 'local[2]'] [--json FILE]

Processor time, shuffled and written bytes are those of Spark's event log; docs/scale.md uses them.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as papq

DEPTH = 1000  # results of a query by each of two systems
JUDGED = 50  # documents of a query
PART = 1_000_000  # rows of a file
METRICS = ["ndcg@10", "recall@100"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("millions", nargs="+", type=int)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measured(given.millions[0], given.master)))
        return
    found = []
    for millions in given.millions:
        command = [sys.executable, __file__, str(millions), "--one", "--master", given.master]
        out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        found.append(json.loads(out.splitlines()[-1]))
        print(table_row(found[-1]), flush=True)
    if given.json:
        given.json.write_text(json.dumps(found, indent=2) + "\n")


def table_row(row: dict[str, Any]) -> str:
    each = row["rows"] / 1e6
    return (
        f"{each:5.0f} M rows  {row['seconds']:7.1f} s  processor {row['processor'] / each:6.2f} s/M"
        f"  shuffled {row['shuffled'] / each / 1e6:6.1f} MB/M  written {row['written'] / each / 1e6:6.1f} MB/M"
        f"  read {row['read'] / each / 1e6:6.1f} MB/M"
    )


def measured(millions: int, master: str) -> dict[str, Any]:
    from ndcg_ab import evaluate

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = generate(folder, millions)
        (folder / "events").mkdir()
        conf = {
            "spark.driver.memory": "3g",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.compress": "false",
            "spark.eventLog.dir": f"file://{folder / 'events'}",
        }
        began = time.monotonic()
        evaluate(
            {
                "name": "spark",
                "judgments": {"table": f"{folder}/judgments"},
                "systems": [{"name": each, "table": f"{folder}/{each}"} for each in ("old", "new")],
                "metrics": METRICS,
                "engine": {"spark": {"master": master, "conf": conf, "scratch": f"{folder}/scratch"}},
            }
        )
        seconds = time.monotonic() - began
        return {"rows": rows, "seconds": seconds, **spent(folder / "events")}


def generate(folder: Path, millions: int) -> int:
    """Write rankings of two systems in files of a million rows, and judgments; return the number of ranking rows."""
    random = np.random.default_rng(7)
    queries = millions * PART // (2 * DEPTH)
    for system in ("old", "new"):
        (folder / system).mkdir()
        for part, first in enumerate(range(0, queries, PART // DEPTH)):
            chosen = np.arange(first, min(first + PART // DEPTH, queries))
            papq.write_table(ranking(chosen, random), folder / system / f"part{part:03}.parquet")
    (folder / "judgments").mkdir()
    ids = np.repeat(np.arange(queries), JUDGED)
    ranks = np.tile(np.arange(0, DEPTH, DEPTH // JUDGED), queries)
    judgments = {"query_id": names("q", ids), "doc_id": names("D", documents(ids, ranks))}
    grades = {"grade": random.integers(0, 4, len(ids)).astype(np.float64)}
    papq.write_table(pa.table({**judgments, **grades}), folder / "judgments" / "part000.parquet")
    return queries * DEPTH * 2


def ranking(queries: np.ndarray, random: np.random.Generator) -> pa.Table:
    ids = np.repeat(queries, DEPTH)
    ranks = np.tile(np.arange(DEPTH), len(queries))
    scores = 30 - ranks * 0.02 + random.normal(0, 2, len(ids))
    return pa.table({"query_id": names("q", ids), "doc_id": names("D", documents(ids, ranks)), "score": scores})


def documents(queries: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """Return distinct document numbers of one query, out of 8.8 million."""
    found: np.ndarray = (queries * 7919 + ranks * 104729) % 8841823
    return found


def names(letter: str, numbers: np.ndarray) -> pa.Array:
    return pa.array(np.char.add(letter, np.char.zfill(numbers.astype("U"), 8)))


def spent(folder: Path) -> dict[str, float]:
    """Return the processor seconds and the bytes of all tasks in an event log."""
    found: Counter[str] = Counter()
    for event in events(folder):
        metrics = event.get("Task Metrics")
        if event["Event"] == "SparkListenerTaskEnd" and metrics:
            found["processor"] += metrics["Executor CPU Time"] / 1e9
            found["shuffled"] += metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]
            found["written"] += metrics["Output Metrics"]["Bytes Written"]
            found["read"] += metrics["Input Metrics"]["Bytes Read"]
            found["spilled"] += metrics["Disk Bytes Spilled"]
            found["tasks"] += 1
    return dict(found)


def events(folder: Path) -> Iterator[dict[str, Any]]:
    for path in folder.rglob("*"):
        if path.is_file() and not path.name.startswith((".", "appstatus")):
            yield from map(json.loads, path.read_text().splitlines())


if __name__ == "__main__":
    main()
