"""What it costs when the rows of rankings are not grouped by query, beside the same rows grouped.

    python benchmarks/row_order.py [--directory build/row_order] [--queries 2000] [--most 1.5]

Two rankings of `queries` x 1,000 documents, each as TREC text, Parquet and a table of SQLite: query after query
("grouped"), place after place of all queries ("interleaved"), and in random order ("shuffled", as a database without
ORDER BY may answer).  Files are compared by `ndcg-ab compare`; all of them, and the databases, go through the steps of
`ndcg-ab run` without Prefect and MLflow.  Each is a process of its own.  Printed are seconds of all cores and how many
times those of the grouped rows that is.  Exits with 1 where that is more than `most`.
"""

import argparse
import shutil
import sqlite3
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as papq
from nights import NIGHT
from timing import COMMAND, timed

SYSTEMS = ("old", "new")
DOCUMENTS = 1000
ORDERS = ("grouped", "interleaved", "shuffled")
FORMATS = ("trec", "parquet", "sqlite")
SUFFIX = {"trec": "run", "parquet": "parquet", "sqlite": "sqlite"}


def make(directory: Path, queries: int) -> None:
    """Writes the judgments, and each ranking in every format and order, where they are not there yet."""
    if (directory / "whole").exists():
        return
    directory.mkdir(parents=True, exist_ok=True)
    randomness = np.random.default_rng(1)
    for system in SYSTEMS:
        documents = np.concatenate([randomness.choice(50_000, DOCUMENTS, replace=False) for _ in range(queries)])
        table = pa.table(
            {
                "query_id": [f"q{query}" for query in range(queries) for _ in range(DOCUMENTS)],
                "doc_id": [f"d{document}" for document in documents],
                "score": np.sort(randomness.normal(10, 3, (queries, DOCUMENTS)).round(4))[:, ::-1].ravel(),
                "rank": np.tile(np.arange(1, DOCUMENTS + 1), queries),
            }
        )
        orders = {
            "grouped": np.arange(table.num_rows),
            "interleaved": np.argsort(table["rank"], kind="stable"),
            "shuffled": randomness.permutation(table.num_rows),
        }
        for order, places in orders.items():
            write(table.take(pa.array(places)), directory, f"{system}-{order}")
        if system == "old":
            rows = zip(table["query_id"][::37].to_pylist(), table["doc_id"][::37].to_pylist(), strict=True)
            lines = (f"{query_id} 0 {doc_id} {randomness.integers(0, 4)}\n" for query_id, doc_id in rows)
            (directory / "judgments.qrels").write_text("".join(lines))
    (directory / "whole").touch()


def write(table: pa.Table, directory: Path, name: str) -> None:
    rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    with (directory / f"{name}.run").open("w") as file:
        file.writelines(f"{query_id} Q0 {doc_id} {rank} {score} tag\n" for query_id, doc_id, score, rank in rows)
    papq.write_table(table, directory / f"{name}.parquet")
    (directory / f"{name}.sqlite").unlink(missing_ok=True)
    with sqlite3.connect(directory / f"{name}.sqlite") as connection:
        connection.execute("create table ranked (query_id text, doc_id text, score real, place integer)")
        connection.executemany("insert into ranked values (?, ?, ?, ?)", rows)


def compared(directory: Path, file_format: str, order: str) -> list[str]:
    command = [*COMMAND, "compare", "--quiet", "--json", "/dev/null"]
    command += ["--judgments", str(directory / "judgments.qrels")]
    for system in SYSTEMS:
        command += ["--system", f"{system}={directory / f'{system}-{order}.{SUFFIX[file_format]}'}"]
    return command


def run(directory: Path, file_format: str, order: str) -> list[str]:
    """The steps of a kept evaluation, which nothing is known of."""
    config = directory / "run.yaml"
    lines = ["name: rows", "output: out", "judgments: judgments.qrels", "metrics: [ndcg@10]", "systems:"]
    for system in SYSTEMS:
        path = directory.resolve() / f"{system}-{order}.{SUFFIX[file_format]}"
        query = "select query_id, doc_id, score from ranked"
        source = f"database: '{path}', query: '{query}'" if file_format == "sqlite" else f"file: '{path}'"
        lines.append(f"  - {{name: {system}, {source}}}")
    config.write_text("\n".join(lines))
    shutil.rmtree(directory / "out", ignore_errors=True)
    return [sys.executable, "-c", NIGHT, str(config), "2026-11-01T02:00:00+00:00", "force"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--directory", type=Path, default=Path("build/row_order"))
    parser.add_argument("--queries", type=int, default=2000)
    parser.add_argument("--most", type=float, default=1.5)
    given = parser.parse_args()
    make(given.directory, given.queries)
    cases = [("compare", file_format, compared) for file_format in FORMATS if file_format != "sqlite"]
    cases += [("run", file_format, run) for file_format in FORMATS]
    highest = 0.0
    for name, file_format, command in cases:
        seconds = {}
        for order in ORDERS:
            _, cores, _, _ = timed(command(given.directory, file_format, order))
            seconds[order] = cores
            ratio = cores / seconds["grouped"]
            highest = max(highest, ratio)
            print(f"{name:>8} {file_format:>8} {order:>12} {cores:6.1f} s {ratio:5.2f}", flush=True)
    sys.exit(f"{highest:.2f} times the grouped rows, more than {given.most}" if highest > given.most else 0)


if __name__ == "__main__":
    main()
