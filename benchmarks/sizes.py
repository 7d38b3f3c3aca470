"""What unusual sizes cost: one query with millions of documents, a million queries, a page for 100,000 queries.

    python benchmarks/sizes.py [--directory build/sizes] [--only one-query many-queries page] [--share 1.0]

Each case is seeded TREC text and one `ndcg-ab compare` in a process of its own; printed are its wall time, the time of
all cores, and its peak memory.  `--share 0.1` makes every case a tenth as large.  The first line is the time that
DuckDB takes to sort 20 million numbers with one thread: it says how fast the machine is (docs/performance.md).
"""

import argparse
import time
from pathlib import Path

import duckdb
from timing import COMMAND, timed

SYSTEMS = ("old", "new")
JUDGMENTS = """
copy (
    select
        'q' || q as query, 0 as iteration, 'd' || ((q * 7919 + d * 31) % 9999991) as doc,
        (q * 13 + d * 7) % 4 as grade
    from range({queries}) as query(q), range({judged}) as judged(d)
) to '{path}' (format csv, delimiter ' ', header false)
"""
RANKING = """
copy (
    select
        'q' || q as query, 'Q0' as iteration, 'd' || ((q * 7919 + d * 31) % 9999991) as doc, d + 1 as place,
        1 + hash(q * 1000003 + d * 17 + {seed}) % 1000000 / 1000.0 as score, 'tag' as tag
    from range({queries}) as query(q), range({documents}) as ranked(d)
) to '{path}' (format csv, delimiter ' ', header false)
"""
CASES = {  # name: (queries, documents of each, judgments of each, further options)
    "one-query": (1, 5_000_000, 1000, []),
    "many-queries": (1_000_000, 3, 2, []),
    "page": (100_000, 10, 5, ["--report"]),
}


def make(directory: Path, queries: int, documents: int, judged: int) -> None:
    """Writes judgments.qrels, old.run and new.run where they are not there yet."""
    if (directory / "whole").exists():
        return
    directory.mkdir(parents=True, exist_ok=True)
    with duckdb.connect() as connection:
        connection.execute(JUDGMENTS.format(queries=queries, judged=judged, path=directory / "judgments.qrels"))
        for seed, system in enumerate(SYSTEMS):
            path = directory / f"{system}.run"
            connection.execute(RANKING.format(queries=queries, documents=documents, seed=seed, path=path))
    (directory / "whole").touch()


def command(directory: Path, further: list[str]) -> list[str]:
    made = [*COMMAND, "compare", "--quiet"]
    made += ["--judgments", str(directory / "judgments.qrels"), "--json", str(directory / "result.json")]
    for system in SYSTEMS:
        made += ["--system", f"{system}={directory / f'{system}.run'}"]
    return made + [*further, *([str(directory / "report.html")] if further else [])]


def yardstick() -> float:
    """Seconds for a sort of 20 million numbers with one thread."""
    with duckdb.connect(config={"threads": 1}) as connection:
        start = time.perf_counter()
        connection.execute("create table sorted as select hash(i) as h from range(20000000) as t(i) order by h")
        return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--directory", type=Path, default=Path("build/sizes"))
    parser.add_argument("--only", nargs="*", choices=CASES, default=list(CASES))
    parser.add_argument("--share", type=float, default=1.0)
    given = parser.parse_args()
    print(f"{'yardstick':>14}  {yardstick():7.1f} s", flush=True)
    for name in given.only:
        queries, documents, judged, further = CASES[name]
        if queries > 1:
            queries = max(1, round(queries * given.share))
        else:
            documents = max(1, round(documents * given.share))
        directory = given.directory / f"{name}-{queries}-{documents}"
        make(directory, queries, documents, judged)
        wall, cores, memory, _ = timed(command(directory, further))
        size = sum(file.stat().st_size for file in directory.glob("report.html")) / 1e6
        page = f"  page {size:.1f} MB" if further else ""
        print(f"{name:>14}  {wall:7.1f} s  {cores:7.1f} s of cores  {memory:7.0f} MB{page}", flush=True)


if __name__ == "__main__":
    main()
