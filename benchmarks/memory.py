"""Measure the peak memory of every command, pair of metrics and shape of data under `--memory-limit`.

    python benchmarks/memory.py [--directory build/memory] [--share 1.0] [--limit 1GB] [--only forty-queries one-query]
        [--metrics ap ndcg@10 ap+ndcg@10] [--formats trec parquet] [--commands compare run] [--stages] [--most 1.05]

Each shape is two rankings: 40 queries x 75,000 documents, 1 x 3,000,000, 10 x 100,000 with equal scores, and 100,000 x
10; as TREC text that is query after query, and as Parquet with its rows in random order.  Each command is a process of
its own.  Its peak is that of the whole process, as the operating system counts it (VmHWM, which is reset when a stage
begins).  `run` includes Prefect and MLflow.  A command that refuses the data (exit code 2) is printed as "refused".
`--share 0.1` makes every query a tenth as long.  Exits with 1 if a peak is above `most` times the limit.
"""

import argparse
import itertools
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from ndcg_ab.memory import bytes_of

CASES = {  # queries, documents, one judged of so many, distinct scores
    "forty-queries": (40, 75_000, 75, 10_000_000),
    "one-query": (1, 3_000_000, 600, 10_000_000),
    "all-tied": (10, 100_000, 100, 1),
    "many-queries": (100_000, 10, 2, 10_000_000),
}
SYSTEMS = ("old", "new")
FORMATS = {"trec": "run", "parquet": "parquet"}
METRICS = ("ndcg@10", "ap", "ap+ndcg@10", "ndcg(ties=average)@10+ap")
COMMANDS = {  # name -> its options; those of one metric or none are measured with the first alone
    "compare": ["compare", "--json", "/dev/null"],
    "bounds": ["compare", "--json", "/dev/null", "--bounds"],
    "report": ["compare", "--report", "report.html"],
    "sensitivity": ["sensitivity", "--json", "/dev/null"],
    "judge-next": ["judge-next", "--csv", "next.csv"],
    "draw": ["draw", "--output-file", "drawn.csv"],
    "run": ["run"],
}
OF_ONE = ("sensitivity", "judge-next", "draw")

RANKED = """
create or replace table ranked as
select query_id, doc_id, score, row_number() over (partition by query_id order by score desc, doc_id desc) as rank
from (
    select
        'q' || q as query_id, 'doc' || ((q * 7919 + d * 31 + {at} * (hash(d) % 50)) % 99999989) as doc_id,
        max(round(1000 - floor({scores} * (d / {documents})) * (1000.0 / {scores}), 4)) as score
    from range({queries}) as query(q), range({documents}) as ranked(d)
    group by all
)
"""
TEXT = "copy (select query_id, 'Q0', doc_id, rank, score, 'tag' from ranked order by query_id, rank) to '{path}' {how}"
SHUFFLED = "copy (select query_id, doc_id, score from ranked order by hash(doc_id || query_id)) to '{path}'"
JUDGED = """
copy (
    select query_id, '0', doc_id, (hash(doc_id) % 4)::int from ranked where hash(doc_id || 'judged') % {one_in} = 0
) to '{path}' {how}
"""
LOG = "copy (select 'q' || q as query_id, 'text ' || q as text from range({queries}) as query(q)) to '{path}'"
HOW = "(format csv, delimiter ' ', header false)"

WATCHED = """
import sys, time
from ndcg_ab.flows.cli import console, app

stage, began = "imports", time.monotonic()

def peak():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) * 1024 // 10**6 for line in lines if line.startswith("VmHWM"))

def tell():
    print(f"STAGE\\t{peak()}\\t{time.monotonic() - began:.1f}\\t{stage}", file=sys.stderr, flush=True)

def say(self, step):
    global stage, began
    tell()
    open("/proc/self/clear_refs", "w").write("5")
    stage, began = step, time.monotonic()

console.Progress.__call__ = say
leave = __import__("os")._exit
def left(code):
    tell()
    leave(code)
__import__("os")._exit = left
if sys.argv[1] == "--unguarded":
    __import__("ndcg_ab.memory").memory.OVER = 1000
    del sys.argv[1]
sys.argv = ["ndcg-ab", *sys.argv[1:]]
try:
    app.app()
finally:
    tell()
"""


def make(directory: Path, case: str, share: float) -> None:
    """Write the judgments and both rankings in both formats, if they are missing."""
    import duckdb

    if (directory / "whole").exists():
        return
    directory.mkdir(parents=True, exist_ok=True)
    queries, documents, one_in, scores = CASES[case]
    documents = max(10, round(documents * share))
    with duckdb.connect() as connection:
        connection.execute(LOG.format(queries=queries, path=directory / "queries.csv"))
        for at, system in enumerate(SYSTEMS):
            connection.execute(RANKED.format(at=at, queries=queries, documents=documents, scores=scores))
            connection.execute(TEXT.format(path=directory / f"{system}.run", how=HOW))
            connection.execute(SHUFFLED.format(path=directory / f"{system}.parquet"))
            if not at:
                connection.execute(JUDGED.format(path=directory / "judgments.qrels", one_in=one_in, how=HOW))
    (directory / "whole").touch()


def command_of(name: str, directory: Path, file_format: str, metric: str, limit: str) -> list[str]:
    suffix = FORMATS[file_format]
    if name != "run":
        systems = [f"--system={system}={directory / f'{system}.{suffix}'}" for system in SYSTEMS]
        judged = ["--judgments", "judgments.qrels"] if name != "draw" else ["--queries", "queries.csv"]
        metrics = [part for each in metric.split("+") for part in ("--metric", each)] * (name != "sensitivity")
        return [*COMMANDS[name], *judged, *systems, *metrics, "--memory-limit", limit]
    config = directory / "run.yaml"
    lines = ["name: memory", "output: out", "judgments: judgments.qrels", f"metrics: {metric.split('+')}", "systems:"]
    lines += [f"  - {{name: {system}, file: {system}.{suffix}}}" for system in SYSTEMS]
    config.write_text("\n".join(lines))
    shutil.rmtree(directory / "out", ignore_errors=True)
    return ["run", str(config), "--force", "--memory-limit", limit]


def measured(arguments: list[str], directory: Path) -> tuple[float, list[tuple[int, float, str]]]:
    """Return the seconds of a command, and of every stage its peak in MB, its seconds and its name."""
    start = time.monotonic()
    environment = {**os.environ, "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, *arguments],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        cwd=directory,
    )
    stage_lines = [line.split("\t")[1:] for line in done.stderr.splitlines() if line.startswith("STAGE\t")]
    if done.returncode == 2 and "memory" in done.stderr:
        stage_lines.append(["0", "0", "refused: " + done.stderr.strip().splitlines()[-2].removeprefix("ndcg-ab: ")])
    elif done.returncode:
        print(done.stderr[-3000:], file=sys.stderr)
        sys.exit(f"failed with {done.returncode}: {' '.join(arguments)}")
    return time.monotonic() - start, [(int(peak), float(seconds), stage) for peak, seconds, stage in stage_lines]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--directory", type=Path, default=Path("build/memory"))
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--limit", default="1GB")
    parser.add_argument("--only", nargs="*", choices=CASES, default=list(CASES))
    parser.add_argument("--formats", nargs="*", choices=FORMATS, default=list(FORMATS))
    parser.add_argument("--metrics", nargs="*", default=list(METRICS))
    parser.add_argument("--commands", nargs="*", choices=COMMANDS, default=list(COMMANDS))
    parser.add_argument("--stages", action="store_true", help="print every stage")
    parser.add_argument(
        "--unguarded", action="store_true", help="measure what would be taken without the limit's guard"
    )
    parser.add_argument("--most", type=float, default=1.05)
    given = parser.parse_args()
    highest = 0.0
    for case in given.only:
        directory = given.directory.resolve() / f"{case}-{given.share:g}"
        make(directory, case, given.share)
        for file_format, command, metric in itertools.product(given.formats, given.commands, given.metrics):
            if command in OF_ONE and metric != given.metrics[0]:
                continue
            seconds, stages = measured(
                ["--unguarded"] * given.unguarded + command_of(command, directory, file_format, metric, given.limit),
                directory,
            )
            peak, _, stage = max(stages)
            ratio = peak * 1e6 / bytes_of(given.limit)
            highest = max(highest, ratio)
            print(
                f"{case:>14} {file_format:>8} {command:>11} {metric:>24} {seconds:6.1f} s {peak:6d} MB {ratio:5.2f}"
                f"  at: {stage}{'; ' + stages[-1][2] if stages[-1][0] == 0 else ''}",
                flush=True,
            )
            for own, took, name in stages if given.stages else ():
                print(f"{own:>30} MB {took:6.1f} s  {name}", flush=True)
    sys.exit(f"{highest:.2f} times the limit, more than {given.most}" if highest > given.most else 0)


if __name__ == "__main__":
    main()
