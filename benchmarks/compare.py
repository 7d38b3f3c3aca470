"""`ndcg-ab compare` beside pytrec_eval-terrier on the same files, in one run.

    python benchmarks/compare.py [--directory build/benchmark] [--rounds 3] [--format trec gzip parquet]

Three generated rankings of 6,980 queries x 1,000 documents in TREC text (seeded, some 790 MB) and 40
judgments a query.  ndcg-ab reads them, checks the data, scores, recomputes a sample, tests the differences
and writes JSON; the peer reads and scores each of them.  Whole processes are timed, start-up included, in
turns; the result is the ratio of the medians, with the peak memory of each.  With other formats ndcg-ab reads the
same rankings gzipped, or as Parquet, as well; the peer always reads the text.
"""

import argparse
import gzip
import json
import os
import shutil
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as papq
from make_rankings import make
from timing import COMMAND, timed

from ndcg_ab.sources import RANKING
from ndcg_ab.sources.files.file import read_file
from ndcg_ab.sources.forms.recognition import find_reading

THEIRS = "pytrec_eval-terrier"
ENDINGS = {"trec": ".run", "gzip": ".run.gz", "parquet": ".parquet"}
SYSTEMS = ("system1", "system2", "system3")
PEER = """
import json, sys, pytrec_eval
with open(sys.argv[1]) as file:
    evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(file), {"ndcg_cut.10"})
means = {}
for path in sys.argv[2:]:
    with open(path) as file:
        values = [row["ndcg_cut_10"] for row in evaluator.evaluate(pytrec_eval.parse_run(file)).values()]
    means[path] = sum(values) / len(values)
print(json.dumps(means))
"""


def packed(directory: Path, file_format: str) -> None:
    """The rankings in another format, where they are not there yet."""
    for name in SYSTEMS:
        path, text = directory / f"{name}{ENDINGS[file_format]}", directory / f"{name}.run"
        if path.exists():
            continue
        partial = path.with_name(f"{path.name}.partial")
        if file_format == "gzip":
            with text.open("rb") as source, gzip.open(partial, "wb", compresslevel=6) as target:
                shutil.copyfileobj(source, target, 1 << 22)
        else:
            papq.write_table(read_file(text, RANKING, find_reading(text, RANKING.kind)), partial)
        partial.rename(path)


def commands(directory: Path, formats: Sequence[str]) -> dict[str, list[str]]:
    judgments = str(directory / "judgments.qrels")
    found = {}
    for file_format in formats:
        ours = [*COMMAND, "compare", "--judgments", judgments]
        ours += ["--json", "-", "--quiet"]
        for name in SYSTEMS:
            ours += ["--system", f"{name}={directory / name}{ENDINGS[file_format]}"]
        found[f"ndcg-ab, {file_format}"] = ours
    found[THEIRS] = [sys.executable, "-c", PEER, judgments, *(str(directory / f"{name}.run") for name in SYSTEMS)]
    return found


def check_equal(printed: dict[str, str], directory: Path) -> None:
    """A fast wrong answer is no answer: the means must agree, and every format must give the same JSON."""
    theirs = json.loads(printed[THEIRS])
    mine = [text for name, text in printed.items() if name != THEIRS]
    if len(set(mine)) > 1:
        sys.exit("the formats give different JSON")
    ours: dict[str, Any] = {row["system_id"]: row["mean"] for row in json.loads(mine[0])["systems"]}
    for name in SYSTEMS:
        if abs(ours[name] - theirs[str(directory / f"{name}.run")]) > 1e-9:
            sys.exit(f"{name}: the means differ: {ours[name]} and {theirs[str(directory / f'{name}.run')]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--directory", type=Path, default=Path("build/benchmark"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--format", nargs="+", choices=sorted(ENDINGS), default=["trec"])
    options = parser.parse_args()
    make(options.directory, queries=6980, documents=1000, systems=3, seed=1)
    for file_format in options.format:
        packed(options.directory, file_format)
    seconds: dict[str, list[float]] = {}
    cores: dict[str, list[float]] = {}
    memory: dict[str, float] = {}
    printed: dict[str, str] = {}
    for _ in range(options.rounds):
        for name, command in commands(options.directory, options.format).items():
            took, busy, peak, printed[name] = timed(command)
            seconds.setdefault(name, []).append(took)
            cores.setdefault(name, []).append(busy)
            memory[name] = max(memory.get(name, 0.0), peak)
            print(f"{name:20} {took:6.2f} s", flush=True)
        check_equal(printed, options.directory)
    peer = statistics.median(seconds[THEIRS])
    for name, times in seconds.items():
        median, busy = statistics.median(times), statistics.median(cores[name])
        told = "" if name == THEIRS else f", ratio {median / peer:.2f} of {THEIRS}"
        print(f"{name:20} median {median:6.2f} s, of cores {busy:6.2f} s, peak memory {memory[name]:6.0f} MB{told}")
    print(f"wall time of whole processes, {os.cpu_count()} cores, same means")


if __name__ == "__main__":
    main()
