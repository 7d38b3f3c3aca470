"""Search with the demo's engine query by query, so that the time of each request can be recorded.

    python configs/demo_times.py           # records configs/demo_times_*.csv.gz again (docs/tutorials/costs.md)

`search` is what `configs/demo_times.yaml` names as a ``python:`` source with ``per_query: true``.  Its index is built
with the first query of a process, which is why that one is cold.
"""

import csv
import functools
import gzip
import random
import re
import sqlite3
import time
from pathlib import Path

import demo_engine

HERE = Path(__file__).parent
RECORDED = ("body-only", "general-first")
SEED = 7


@functools.cache
def index(tokenizer: str) -> sqlite3.Connection:
    return demo_engine.build_index(tokenizer)


def search(text: str, version: str = "name-weighted", limit: int = 10) -> list[tuple[str, float]]:
    """Return the first `limit` documents for one query, with their scores."""
    tokenizer, columns, name_weight, operator, depth = demo_engine.VERSIONS[version]
    words = operator.join(f'"{word}"' for word in re.findall(r"\w+", text))
    pages = index(tokenizer).execute(
        "select doc_id, -bm25(page, 0, ?, 1) as score from page where page match ?"
        " order by score desc, doc_id desc limit ?",
        (name_weight, f"{{{columns}}} : ({words})", limit),
    )
    return [(doc_id, score / (1 + depth * doc_id.count("."))) for doc_id, score in pages]


def record(version: str) -> None:
    """Write a version's ranking with the time of each query, timed in random order after a first round."""
    with (HERE / "demo_queries.tsv").open(encoding="utf-8") as file:
        queries = {row["query_id"]: row["text"] for row in csv.DictReader(file, delimiter="\t")}
    order = random.Random(SEED).sample(sorted(queries), len(queries))
    found = {}
    for query_id in [*order, *order]:
        began = time.perf_counter()
        results = search(queries[query_id], version)
        found[query_id] = results, 1000 * (time.perf_counter() - began)
    path = HERE / f"demo_times_{version.replace('-', '_')}.csv.gz"
    with path.open("wb") as packed, gzip.GzipFile(fileobj=packed, mode="wb", filename="", mtime=0) as file:
        lines = ["query_id,doc_id,score,latency_ms"]
        for query_id in sorted(queries):
            results, took = found[query_id]
            lines += [f"{query_id},{doc_id},{score!r},{took:.3f}" for doc_id, score in results]
        file.write(("\n".join(lines) + "\n").encode())


if __name__ == "__main__":
    for each in RECORDED:
        record(each)
