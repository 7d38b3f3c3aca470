"""Make the demo's click log: simulated users search with the demo's engine, half of them with each of two versions.

    python configs/demo_clicks.py          # writes configs/demo_clicks.jsonl.gz anew, the same bytes every time

Every search is one of the demo's queries, drawn with a fixed seed. The results are those of `body-only` or
`name-weighted`, and users are position-based (`benchmarks/click_users.py`): they click by the grades of
demo_judgments.tsv, unjudged documents as grade 0. Events are in the schema of User Behavior Insights 1.3.
"""

import csv
import gzip
import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
LOG = HERE / "demo_clicks.jsonl.gz"
SEED, SEARCHES, DEPTH, VERSIONS = 7, 2_400, 8, ("body-only", "name-weighted")


def read_rows(name: str) -> list[dict[str, str]]:
    with (HERE / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def make_event(action: str, search: int, text: str, document: str, index: int) -> dict[str, Any]:
    attributes = {"object": {"object_id": document}, "position": {"ordinal": index}}
    client = f"user-{search % 900}"
    ids = {"query_id": f"search-{search}", "client_id": client}
    return {"action_name": action, "user_query": text, **ids, "event_attributes": attributes}


def simulate() -> list[dict[str, Any]]:
    """Return the events of all searches, one search after the other."""
    sys.path[:0] = [str(HERE), str(HERE.parent / "benchmarks")]
    from click_users import attractions, position_user
    from demo_engine import search as search_engine

    texts = {row["query_id"]: row["text"] for row in read_rows("demo_queries.tsv")}
    grades: dict[str, dict[str, float]] = defaultdict(dict)
    for row in read_rows("demo_judgments.tsv"):
        grades[row["query_id"]][row["doc_id"]] = float(row["grade"])
    highest = max(grade for known in grades.values() for grade in known.values())
    shown = {version: search_engine(texts, version=version) for version in VERSIONS}
    generator, ids, events = np.random.default_rng(SEED), sorted(texts), []
    for number in range(SEARCHES):
        query_id = ids[generator.integers(len(ids))]
        ranking = shown[VERSIONS[generator.integers(2)]].get(query_id, [])
        documents = [document for document, *_ in ranking][:DEPTH]
        chances = attractions([grades[query_id].get(document, 0.0) for document in documents], highest)
        actions = [("impression", index) for index in range(len(documents))]
        actions += [("click", index) for index in position_user(chances, generator)]
        events += [make_event(action, number, texts[query_id], documents[index], index) for action, index in actions]
    return events


if __name__ == "__main__":
    lines = "".join(json.dumps(event) + "\n" for event in simulate())
    LOG.write_bytes(gzip.compress(lines.encode(), compresslevel=9, mtime=0))
    print(f"{LOG}: {LOG.stat().st_size:,} bytes")
