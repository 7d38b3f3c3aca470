"""A simulated month of nights through the real command: what the pictures of docs/dashboards.md show.

    python benchmarks/month.py DIRECTORY [--nights 30] [--regression 18] [--broken 14] [--tracking-uri URI]

Three versions of a ranker over 200 queries, an index that changes a little every night, new judgments every week, one
version that gets worse, and one night with a broken file.  Exit code 1 if a night ends with an unexpected code.
"""

import argparse
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from timing import COMMAND

QUERIES = 200
DOCUMENTS = 40
SYSTEMS = {"bm25": 0.9, "hybrid": 1.15, "reranked": 0.95}  # how much of a document's quality each one sees
WORSE = 0.45  # what is left of it in "reranked" once it has regressed
FIRST_NIGHT = datetime(2026, 10, 1, 2, 0, tzinfo=UTC)
TOPICS = ("weather", "train", "recipe", "football", "museum", "doctor", "rent", "bicycle", "concert", "passport")
WORDS = (
    "near me",
    "opening hours",
    "today",
    "price",
    "how to",
    "review",
    "map",
    "tickets",
    "second hand",
    "for children",
)


def rankings(night: int, regression: int) -> dict[str, np.ndarray]:
    """Return the (queries x documents) scores of each system on one night; "reranked" is worse from `regression` on."""
    rng = np.random.default_rng(7)
    grades = relevance()
    found = {}
    for name, seen in SYSTEMS.items():
        noise = rng.normal(0, 1, grades.shape)
        found[name] = (WORSE if name == "reranked" and night >= regression else seen) * grades + noise
    for past in range(1, night + 1):  # every night some documents are indexed anew
        changed = np.random.default_rng(1000 + past)
        rows = changed.choice(QUERIES, 12, replace=False)
        shift = changed.normal(0, 0.5, (len(rows), DOCUMENTS))
        for scores in found.values():
            scores[rows] += shift
    return found


def relevance() -> np.ndarray:
    """Return (queries x documents) grades from 0 to 3; the first documents of a query are better."""
    rng = np.random.default_rng(3)
    return np.minimum(3, rng.geometric(0.55, (QUERIES, DOCUMENTS)) - 1) * (rng.random((QUERIES, DOCUMENTS)) < 0.5)


def query_id(number: int) -> str:
    return f"q{number:03d}"


def write_inputs(directory: Path, night: int, regression: int, *, is_broken: bool) -> None:
    for name, values in rankings(night, regression).items():
        lines = []
        for query, row in enumerate(values):
            for rank, document in enumerate(np.argsort(-row)[:30], start=1):
                lines.append(f"{query_id(query)} Q0 d{query:03d}x{document:02d} {rank} {row[document]:.6f} {name}")
        (directory / f"{name}.run").write_text("\n".join(lines) + "\n", encoding="utf-8")
    if is_broken:
        (directory / "hybrid.run").write_text("q000 Q0 d000x01 1 nan hybrid\n", encoding="utf-8")
    week = (night - 1) // 7
    grades, lines = relevance(), []
    first = rankings(1, regression)
    for query in range(QUERIES):
        pool = sorted({int(d) for values in first.values() for d in np.argsort(-values[query])[: 10 + 5 * week]})
        lines += [f"{query_id(query)} 0 d{query:03d}x{document:02d} {grades[query, document]}" for document in pool]
    (directory / "judgments.qrels").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_configuration(directory: Path, tracking_uri: str | None) -> Path:
    rows = ["query_id\ttext\tlanguage"]
    for query in range(QUERIES):
        text = f"{TOPICS[query % len(TOPICS)]} {WORDS[query // len(TOPICS) % len(WORDS)]}"
        rows.append(f"{query_id(query)}\t{text}\t{('en', 'de', 'fr')[query % 3]}")
    (directory / "queries.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    systems = "".join(f"  - {{name: {name}, version: '1.{at}', file: {name}.run}}\n" for at, name in enumerate(SYSTEMS))
    path = directory / "month.yaml"
    path.write_text(
        "name: month\njudgments: judgments.qrels\nqueries: queries.tsv\n"
        f"systems:\n{systems}metrics: [ndcg@10]\nsecondary_metrics: [rr@10]\nguardrails: {{recall@20: 0.02}}\n"
        "slices: {by: [language]}\nstatistics: {smallest_effect: {ndcg@10: 0.01}}\n"
        "gate: {no_regression: true, guardrails: false}\noutput: results\n"
        + (f"mlflow: {{tracking_uri: '{tracking_uri}'}}\n" if tracking_uri else ""),
        encoding="utf-8",
    )
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--nights", type=int, default=30)
    parser.add_argument("--regression", type=int, default=18)
    parser.add_argument("--broken", type=int, help="the night whose ranking cannot be read; by default none")
    parser.add_argument("--tracking-uri", help="an MLflow server; by default SQLite in the directory")
    given = parser.parse_args()
    directory = given.directory.resolve()
    directory.mkdir(parents=True, exist_ok=True)
    config = write_configuration(directory, given.tracking_uri)
    wrong = 0
    for night in range(1, given.nights + 1):
        write_inputs(directory, night, given.regression, is_broken=night == given.broken)
        at = (FIRST_NIGHT + timedelta(days=night - 1)).isoformat()
        done = subprocess.run([*COMMAND, "run", str(config), "--quiet", "--at", at], check=False)
        expected = 2 if night == given.broken else 1 if night >= given.regression else 0
        wrong += done.returncode != expected
        print(f"night {night}: exit code {done.returncode}, expected {expected}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
