"""`ndcg-ab compare` beside pytrec_eval-terrier on the same files, in one run.

    python benchmarks/compare.py [--directory build/benchmark] [--rounds 3]

Three generated rankings of 6,980 queries x 1,000 documents in TREC text (seeded, some 790 MB) and 40
judgments a query.  ndcg-ab reads them, checks the data, scores, recomputes a sample, tests the differences
and writes JSON; the peer reads and scores each of them.  Whole processes are timed, start-up included, in
turns; the result is the ratio of the medians, with the peak memory of each.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from make_rankings import make

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


def timed(command: list[str]) -> tuple[float, float, str]:
    """Seconds of wall time, peak resident memory in MB, and what it printed."""
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        printed = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"failed: {' '.join(command[:4])} …")
    return time.perf_counter() - start, usage.ru_maxrss / 1024, printed


def commands(directory: Path) -> dict[str, list[str]]:
    judgments = str(directory / "judgments.qrels")
    ours = [
        sys.executable,
        "-m",
        "ndcg_ab.flows.cli.app",
        "compare",
        "--judgments",
        judgments,
        "--json",
        "-",
        "--quiet",
    ]
    for name in SYSTEMS:
        ours += ["--system", f"{name}={directory / name}.run"]
    theirs = [sys.executable, "-c", PEER, judgments, *(str(directory / f"{name}.run") for name in SYSTEMS)]
    return {"ndcg-ab compare": ours, "pytrec_eval-terrier": theirs}


def check_equal(printed: dict[str, str], directory: Path) -> None:
    """A fast wrong answer is no answer: the means must agree."""
    ours: dict[str, Any] = {row["system_id"]: row["mean"] for row in json.loads(printed["ndcg-ab compare"])["systems"]}
    theirs = json.loads(printed["pytrec_eval-terrier"])
    for name in SYSTEMS:
        if abs(ours[name] - theirs[str(directory / f"{name}.run")]) > 1e-9:
            sys.exit(f"{name}: the means differ: {ours[name]} and {theirs[str(directory / f'{name}.run')]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--directory", type=Path, default=Path("build/benchmark"))
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    make(options.directory, queries=6980, documents=1000, systems=3, seed=1)
    seconds: dict[str, list[float]] = {}
    memory: dict[str, float] = {}
    printed: dict[str, str] = {}
    for _ in range(options.rounds):
        for name, command in commands(options.directory).items():
            took, peak, printed[name] = timed(command)
            seconds.setdefault(name, []).append(took)
            memory[name] = max(memory.get(name, 0.0), peak)
            print(f"{name:20} {took:6.2f} s", flush=True)
        check_equal(printed, options.directory)
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    for name, median in medians.items():
        print(f"{name:20} median {median:6.2f} s, peak memory {memory[name]:6.0f} MB")
    ratio = medians["ndcg-ab compare"] / medians["pytrec_eval-terrier"]
    print(f"ratio {ratio:.2f} (wall time of ndcg-ab over pytrec_eval-terrier, {os.cpu_count()} cores, same means)")


if __name__ == "__main__":
    main()
