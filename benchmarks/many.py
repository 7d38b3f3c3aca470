"""`ndcg-ab` where there is much of something: definitions, systems, pairs; wall and CPU time, and peak memory.

    python benchmarks/many.py [--directory build/many] [--case cast sensitivity systems pairs] [--rounds 3] [--peer]

cast: `compare` of five systems of CAsT 2021 on two metrics, most of it start-up (needs NDCG_AB_DATA).
sensitivity: 72 definitions over the three files of `benchmarks/compare.py`, beside one `compare` of them.
systems: 143 systems x 50 queries x 1,000 documents and 69,000 judgments, on three metrics, as in TREC-COVID.
pairs: 50 systems x 7,000 queries x 100 documents, on five metrics, every two systems compared.
--peer: the same scores by pytrec_eval-terrier, and paired t tests by scipy; of `cast` by ir-measures, with intervals.
The data are generated (seeded, 2 GB in all); whole processes are timed, start-up included, one after the other.
"""

import argparse
import os
import statistics
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
from make_rankings import make
from timing import COMMAND, timed

TEXT = pacsv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none")
PEER = """
import itertools, sys
import numpy, pytrec_eval
from scipy import stats
judgments, measures, all_pairs, *paths = sys.argv[1:]
with open(judgments) as file:
    evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(file), set(measures.split(",")))
values = []
for path in paths:
    with open(path) as file:
        found = evaluator.evaluate(pytrec_eval.parse_run(file))
    values.append(numpy.array([list(found[query].values()) for query in sorted(found)]))
pairs = itertools.combinations(values, 2) if all_pairs == "yes" else ((values[0], other) for other in values[1:])
print(sum(len(numpy.atleast_1d(stats.ttest_rel(one, other).pvalue)) for one, other in pairs))
"""


SCRIPT = """
import gzip, json, sys
import ir_measures
from ir_measures import R, nDCG
from scipy import stats
judgments, first, *others = sys.argv[1:]
with gzip.open(judgments, "rt") as file:
    evaluator = ir_measures.evaluator([nDCG @ 10, R @ 100], list(ir_measures.read_trec_qrels(file)))
values = {}
for path in (first, *others):
    with gzip.open(path, "rt") as file:
        for row in evaluator.iter_calc(ir_measures.read_trec_run(file)):
            values.setdefault((str(row.measure), path), {})[row.query_id] = row.value
found = []
for measure, path in values:
    own, before = values[measure, path], values[measure, first]
    pairs = [(own[query], before[query]) for query in sorted(own.keys() & before.keys())]
    test = stats.ttest_rel(*zip(*pairs))
    low, high = test.confidence_interval()
    found.append({"measure": measure, "run": path, "mean": sum(own.values()) / len(own), "p": test.pvalue, "low": low,
                  "high": high, "values": own})
print(json.dumps(found))
"""


class Case(NamedTuple):
    """A command of ndcg-ab, what the peer is told for the same, and its program."""

    command: list[str]
    peer: list[str]
    program: str = PEER


class Cost(NamedTuple):
    wall: float  # seconds
    cpu: float  # seconds, user and system
    memory: float  # MB, at the peak


def generate(directory: Path, systems: int, queries: int, documents: int, judged: int, seed: int = 7) -> None:
    """judgments.qrels and system001.run …: the better a system, the more judged documents stand near its top.

    Scores have two decimals, so that some are tied; ids have eight letters and figures.
    """
    if (directory / "judgments.qrels").exists():
        return
    directory.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    letters = np.array(list("0123456789abcdefghijklmnopqrstuvwxyz"))
    ids = pa.array(np.unique(letters[rng.integers(0, 36, (200_000, 8))].view("<U8").ravel()))
    pools = np.stack([rng.permutation(len(ids))[: judged + 4 * documents] for _ in range(queries)])
    grades = rng.choice([0, 0, 0, 1, 1, 2], size=(queries, judged))
    query_ids = pa.array([f"q{number}" for number in range(queries)])
    for number in range(systems):
        skill = 0.6 + 0.6 * number / systems
        worth = rng.normal(0, 1, pools.shape)
        worth[:, :judged] += skill * (1 + grades)
        order = np.argsort(-worth, axis=1)[:, :documents]
        rows = {
            "query_id": query_ids.take(pa.array(np.repeat(np.arange(queries), documents))),
            "q0": pa.array(["Q0"]).take(pa.array(np.zeros(queries * documents, dtype=np.int8))),
            "doc_id": ids.take(pa.array(np.take_along_axis(pools, order, axis=1).ravel())),
            "rank": np.tile(np.arange(1, documents + 1), queries),
            "score": np.round(np.take_along_axis(worth, order, axis=1), 2).ravel(),
            "name": pa.array([f"s{number}"]).take(pa.array(np.zeros(queries * documents, dtype=np.int8))),
        }
        pacsv.write_csv(pa.table(rows), directory / f"system{number:03}.run", TEXT)
    rows = {
        "query_id": query_ids.take(pa.array(np.repeat(np.arange(queries), judged))),
        "zero": np.zeros(queries * judged, dtype=np.int8),
        "doc_id": ids.take(pa.array(pools[:, :judged].ravel())),
        "grade": grades.ravel(),
    }
    pacsv.write_csv(pa.table(rows), directory / "judgments.qrels", TEXT)


def command(name: str, judgments: Path, rankings: list[Path], *options: str) -> list[str]:
    start = [*COMMAND, name, "--judgments", str(judgments)]
    return start + [f"--system={path.name.partition('.')[0]}={path}" for path in rankings] + list(options)


def cast() -> Case:
    folder = Path(os.environ["NDCG_AB_DATA"]) / "cast2021"
    names = ("manual_bm25", "manual_ance", "manual_ance_bert", "convdr", "convdr_bert")
    rankings = [folder / f"{name}.run.gz" for name in names]
    options = ("--metric", "ndcg@10", "--metric", "recall@100", "--json", "-", "--quiet")
    judgments = folder / "qrels.txt.gz"
    return Case(command("compare", judgments, rankings, *options), [str(judgments), *map(str, rankings)], SCRIPT)


def sensitivity(directory: Path) -> list[Case]:
    make(directory / "large", 6980, 1000, 3, 1)
    rankings = sorted((directory / "large").glob("*.run"))
    judgments = directory / "large" / "judgments.qrels"
    peer = [str(judgments), "ndcg_cut_10", "no", *map(str, rankings)]
    return [Case(command(name, judgments, rankings, "--json", "-"), peer) for name in ("compare", "sensitivity")]


def systems(directory: Path) -> Case:
    folder = directory / "systems"
    generate(folder, 143, 50, 1000, 1380)
    rankings = sorted(folder.glob("*.run"))
    options = ("--metric", "ndcg@10", "--metric", "precision@5", "--metric", "recall@100", "--json", "-")
    peer = [str(folder / "judgments.qrels"), "ndcg_cut_10,P_5,recall_100", "no", *map(str, rankings)]
    return Case(command("compare", folder / "judgments.qrels", rankings, *options), peer)


def pairs(directory: Path) -> Case:
    folder = directory / "pairs"
    generate(folder, 50, 7000, 100, 20)
    rankings = sorted(folder.glob("*.run"))
    names = ("ndcg@10", "ndcg@5", "precision@5", "rr@10", "recall@100")
    options = ("--all-pairs", "--json", "-", *(part for name in names for part in ("--metric", name)))
    peer = [str(folder / "judgments.qrels"), "ndcg_cut_10,ndcg_cut_5,P_5,recip_rank,recall_100", "yes"]
    return Case(command("compare", folder / "judgments.qrels", rankings, *options), peer + list(map(str, rankings)))


def cases(names: list[str], directory: Path) -> dict[str, Case]:
    found = {}
    if "cast" in names:
        found["cast"] = cast()
    if "sensitivity" in names:
        found["compare"], found["sensitivity"] = sensitivity(directory)
    if "systems" in names:
        found["systems"] = systems(directory)
    if "pairs" in names:
        found["pairs"] = pairs(directory)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--directory", type=Path, default=Path("build/many"))
    parser.add_argument("--case", nargs="+", default=["cast", "sensitivity", "systems", "pairs"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peer", action="store_true")
    options = parser.parse_args()
    for name, case in cases(options.case, options.directory).items():
        commands = {name: case.command}
        if options.peer and case.peer:
            commands[f"{name}, peer"] = [sys.executable, "-c", case.program, *case.peer]
        for label, parts in commands.items():
            costs = [Cost(*timed(parts)[:3]) for _ in range(options.rounds)]
            wall, cpu, memory = (statistics.median(each) for each in zip(*costs, strict=True))
            print(f"{label:20} {wall:6.2f} s  {cpu:6.2f} s of CPU  {memory:6.0f} MB", flush=True)


if __name__ == "__main__":
    main()
