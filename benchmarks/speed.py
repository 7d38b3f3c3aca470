"""Time and memory of whole processes: `ndcg-ab` in turns with pytrec_eval-terrier, ir-measures, ranx and a script.

    python benchmarks/speed.py [CASE …] [--share 1.0] [--rounds 3] [--peers NAME …] [--directory build/speed]

The rankings and judgments of a case are seeded and written by DuckDB. Every tool reads the files, prints the mean
nDCG@10 of each ranking, which must agree to 1e-9, and is timed from its start to its end; ndcg-ab also checks the data,
recomputes a sample and tests the differences. Printed are medians: wall time, processor time (summed over cores), peak
resident memory, and the ratio of both times to the first line of the case. `--share 0.1` makes every case a tenth as
large. A process is ended if it takes more than `--room` GB of memory or more than `--seconds`.
Exits with 1 if means or JSON differ, or if rows in another order take more than 1.5 times as long.
"""

import argparse
import itertools
import json
import multiprocessing
import os
import shutil
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from timing import COMMAND, Cost, timed

RANKED = """
create or replace table ranked as
select query_id, doc_id, score, row_number() over (partition by query_id order by score desc, doc_id desc) as rank
from (
    select
        100000 + q as query_id, 'd' || (q * 7919 + d * 6007) % 99999989 as doc_id,
        round(
            (hash(q, d) % 1000003 + hash(q, d, {system}) % 1000003) / 100000.0
            + case when d < {judged} then 2 * greatest(0, (hash(q * 31 + d) % 7)::int - 3) else 0 end, 4
        ) as score
    from range({queries}) as query(q), range({pool}) as document(d)
)
qualify rank <= {documents}
"""
JUDGED = """
create or replace table judged as
select
    100000 + q as query_id, 'd' || (q * 7919 + d * 6007) % 99999989 as doc_id,
    greatest(0, (hash(q * 31 + d) % 7)::int - 3) as grade
from range({queries}) as query(q), range({judged}) as document(d)
"""
ORDERS = {"grouped": "query_id, rank", "interleaved": "rank, query_id", "shuffled": "hash(doc_id, query_id)"}
TREC = "(format csv, delimiter ' ', header false, quote ''{})"
FORMATS = {  # the columns of a ranking, of judgments, and how they are written
    "trec": ("query_id, 'Q0', doc_id, rank, score, 'tag'", "query_id, 0, doc_id, grade", TREC.format("")),
    "gz": (
        "query_id, 'Q0', doc_id, rank, score, 'tag'",
        "query_id, 0, doc_id, grade",
        TREC.format(", compression gzip"),
    ),
    "parquet": (
        "query_id::text as query_id, doc_id, score",
        "query_id::text as query_id, doc_id, grade",
        "(format parquet)",
    ),
}
READ = """
import json, sys
measures, all_pairs, judgments_file, *files = sys.argv[1:]
if judgments_file.endswith(".parquet"):
    import pyarrow.parquet as pq
    def nested(path, value, number):
        found = {}
        for batch in pq.read_table(path, columns=["query_id", "doc_id", value]).to_batches():
            for query, doc, each in zip(*(column.to_pylist() for column in batch.columns)):
                found.setdefault(query, {})[doc] = number(each)
        return found
    ranking, judgments = lambda path: nested(path, "score", float), nested(judgments_file, "grade", int)
else:
    import gzip, pytrec_eval
    def opened(path):
        return gzip.open(path, "rt") if path.endswith(".gz") else open(path)
    def ranking(path):
        with opened(path) as file:
            return pytrec_eval.parse_run(file)
    with opened(judgments_file) as file:
        judgments = pytrec_eval.parse_qrel(file)
means = {}
for path in files:
    system = path.rpartition("/")[2].partition(".")[0]
"""
PEERS = {
    "pytrec_eval-terrier": """
    import pytrec_eval
    evaluator = pytrec_eval.RelevanceEvaluator(judgments, {"ndcg_cut.10"})
    values = [row["ndcg_cut_10"] for row in evaluator.evaluate(ranking(path)).values()]
    means[system] = sum(values) / len(values)
print(json.dumps(means))
""",
    "ir-measures": """
    import ir_measures
    measure = ir_measures.parse_measure("nDCG@10")
    means[system] = ir_measures.calc_aggregate([measure], judgments, ranking(path))[measure]
print(json.dumps(means))
""",
    "ranx": """
    from ranx import Qrels, Run, evaluate
    means[system] = float(evaluate(Qrels(judgments), Run(ranking(path)), "ndcg@10"))
print(json.dumps(means))
""",
    "script": """
    import itertools, ir_measures
    from scipy import stats
    parsed = [ir_measures.parse_measure(name) for name in measures.split(",")]
    for row in ir_measures.iter_calc(parsed, judgments, ranking(path)):
        means.setdefault(str(row.measure), {}).setdefault(system, {})[row.query_id] = row.value
found = []
for measure, values in means.items():
    names = list(values)
    for one, other in itertools.combinations(names, 2) if all_pairs else [(names[0], name) for name in names[1:]]:
        pairs = [(values[other][query], values[one][query]) for query in values[one].keys() & values[other].keys()]
        test = stats.ttest_rel(*zip(*pairs))
        low, high = test.confidence_interval()
        found.append([measure, one, other, float(test.pvalue), float(low), float(high)])
first = {system: sum(values.values()) / len(values) for system, values in means["nDCG@10"].items()}
print(json.dumps(first))
print(json.dumps(found))
""",
}
OURS, MOST = "ndcg-ab", 1.5
NAMES = {"ndcg@10": "nDCG@10", "ndcg@5": "nDCG@5", "precision@5": "P@5", "recall@100": "R@100", "rr@10": "RR@10"}
NIGHT = """
from ndcg_ab.flows.cli import base_command, main  # as the command does, before numpy is imported
base_command.import_without_extras()
from datetime import datetime
from pathlib import Path
from sys import argv
from ndcg_ab.config.loading.file import read_config
from ndcg_ab.runs import run as stages
from ndcg_ab.runs.run import open_run, perform_remaining_stages
def call(stage, context, part):
    return None if stage is stages.publish else stage.perform(context, part)
with open_run(read_config(Path(argv[1]), []), at=datetime.fromisoformat(argv[2]), force="force" in argv) as run:
    perform_remaining_stages(run, call)
print("\\n", run.bundle, sep="")  # after the progress that DuckDB prints where Python is started with -c
"""


class Case(NamedTuple):
    """A benchmark case: the size of the data, their formats and orders, and the options of the command."""

    systems: int
    queries: int
    documents: int
    judged: int
    formats: tuple[str, ...] = ("trec",)
    peers: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ("ndcg@10",)
    options: tuple[str, ...] = ()
    orders: tuple[str, ...] = ("grouped",)
    commands: tuple[str, ...] = ("compare",)


ALL = ("pytrec_eval-terrier", "ir-measures", "ranx")
CASES = {
    "large": Case(3, 6_980, 1_000, 40, ("trec", "gz", "parquet"), ("pytrec_eval-terrier",)),
    "1-million": Case(2, 500, 1_000, 40, ("trec", "parquet"), ALL),
    "5-million": Case(2, 2_500, 1_000, 40, ("trec", "parquet"), ALL),
    "20-million": Case(2, 10_000, 1_000, 40, ("trec", "parquet"), ALL, options=("--memory-limit", "4GB")),
    "200-million": Case(2, 100_000, 1_000, 40, ("trec", "parquet"), ALL, options=("--memory-limit", "4GB")),
    "one-query": Case(2, 1, 5_000_000, 1_000),
    "many-queries": Case(2, 1_000_000, 3, 2),
    "page": Case(2, 100_000, 10, 5, options=("--report", "report.html")),
    "order": Case(2, 2_000, 1_000, 40, ("trec", "parquet"), orders=tuple(ORDERS), commands=("compare", "run")),
    "systems": Case(143, 50, 1_000, 1_380, peers=("script",), metrics=("ndcg@10", "precision@5", "recall@100")),
    "pairs": Case(50, 7_000, 100, 20, peers=("script",), metrics=tuple(NAMES), options=("--all-pairs",)),
    "sensitivity": Case(3, 6_980, 1_000, 40, commands=("compare", "sensitivity")),
    "cast": Case(5, 0, 0, 0, ("gz",), ("script",), ("ndcg@10", "recall@100")),
    "night": Case(5, 2_000, 1_000, 40, commands=("night",)),
}
DEFAULT = ("large", "1-million", "5-million", "order", "cast", "night")
CAST = ("manual_bm25", "manual_ance", "manual_ance_bert", "convdr", "convdr_bert")


def make(folder: Path, case: Case) -> None:
    """Write the judgments and the rankings of a case in each of its formats and orders, if they are not there yet."""
    if (folder / "whole").exists():
        return
    import duckdb  # in this process alone: the peak memory of a process begins with that of its parent

    folder.mkdir(parents=True, exist_ok=True)
    size = {"queries": case.queries, "documents": case.documents, "judged": case.judged}
    with duckdb.connect(config={"memory_limit": "4GB", "temp_directory": str(folder / "spill")}) as connection:
        connection.execute(JUDGED.format(**size))
        for each in case.formats:
            _, columns, how = FORMATS[each]
            connection.execute(f"copy (select {columns} from judged) to '{folder / f'judgments.{each}'}' {how}")
        for system in range(case.systems):
            connection.execute(RANKED.format(system=system, pool=case.documents + case.documents // 3 + 1, **size))
            for each, order in itertools.product(case.formats, case.orders):
                columns, _, how = FORMATS[each]
                path = folder / f"system{system}.{order}.{each}"
                connection.execute(f"copy (select {columns} from ranked order by {ORDERS[order]}) to '{path}' {how}")
    (folder / "whole").touch()


def files(folder: Path, case: Case, file_format: str, order: str) -> list[str]:
    """Return the paths of the judgments and of each ranking."""
    if not case.queries:
        data = Path(os.environ["NDCG_AB_DATA"]).resolve() / "cast2021"
        return [str(data / "qrels.txt.gz"), *(str(data / f"{name}.run.gz") for name in CAST)]
    rankings = [str(folder / f"system{system}.{order}.{file_format}") for system in range(case.systems)]
    return [str(folder / f"judgments.{file_format}"), *rankings]


def commands(folder: Path, case: Case, peers: list[str]) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the name of each command, the group whose first member it is compared with, and its words."""
    for name, file_format, order in itertools.product(case.commands, case.formats, case.orders):
        paths = files(folder, case, file_format, order)
        label = f"{OURS} {name}, {file_format}" + f", {order}" * (len(case.orders) > 1)
        if name == "run":
            config = folder / "run.yaml"
            write_configuration(config, paths)
            yield label, f"run {file_format}", night(config, 1, "force")
            continue
        metrics = [] if name == "sensitivity" else [f"--metric={metric}" for metric in case.metrics]
        given = [f"--system={Path(path).name.partition('.')[0]}={path}" for path in paths[1:]]
        words = [*COMMAND, name, "--judgments", paths[0], *given, *metrics, "--json", "-", *case.options]
        yield label, "compare" if len(case.orders) == 1 else f"compare {file_format}", words
    for peer, file_format in itertools.product(case.peers, [each for each in case.formats if each != "gz"] or ["gz"]):
        if peer in peers:
            measures = ",".join(NAMES[metric] for metric in case.metrics)
            pairs = "yes" * ("--all-pairs" in case.options)
            paths = files(folder, case, file_format, case.orders[0])
            program = [sys.executable, "-c", READ + PEERS[peer], measures, pairs, *paths]
            yield f"{peer}, {file_format}", "compare", program


def write_configuration(config: Path, paths: list[str]) -> None:
    judgments, *rankings = paths
    systems = "".join(f"  - {{name: s{at}, file: '{path}'}}\n" for at, path in enumerate(rankings))
    config.write_text(f"name: nights\noutput: out\njudgments: '{judgments}'\nmetrics: [ndcg@10]\nsystems:\n{systems}")


def night(config: Path, number: int, *options: str) -> list[str]:
    """Return the command line of a script that performs the steps of `ndcg-ab run` without Prefect and MLflow."""
    return [sys.executable, "-c", NIGHT, str(config), f"2026-11-{number:02}T02:00:00+00:00", *options]


def measure(folder: Path, case: Case, given: argparse.Namespace) -> list[str]:
    """Print the costs of every command of a case, measured in turns; return the errors found."""
    costs: dict[str, list[Cost]] = {}
    groups: dict[str, str] = {}
    for _ in range(given.rounds):
        for label, group, words in commands(folder, case, given.peers):
            shutil.rmtree(folder / "out", ignore_errors=True)
            groups[label] = group
            costs.setdefault(label, []).append(timed(words, folder, given.room, given.seconds))
    wrong = differences({label: found[-1].printed for label, found in costs.items()})
    firsts: dict[str, tuple[float, float]] = {}
    for label, found in costs.items():
        wall, cores, memory = (statistics.median(getattr(each, name) for each in found) for name in Cost._fields[:3])
        first = firsts.setdefault(groups[label], (wall, cores))
        ratios = f"{wall / first[0]:5.2f} of the wall time, {cores / first[1]:5.2f} of the processor time"
        print(f"  {label:34} {wall:7.2f} s  {cores:7.2f} s of cores  {memory:6.0f} MB  {ratios}", flush=True)
        if len(case.orders) > 1 and cores > MOST * first[1]:
            wrong.append(f"{label}: {cores / first[1]:.2f} times the grouped rows, more than {MOST}")
    return wrong


def differences(printed: dict[str, str]) -> list[str]:
    """Return the disagreements between the JSON of two formats, or the means of two tools."""
    ours = {label: text for label, text in printed.items() if label.startswith(f"{OURS} compare") and text.strip()}
    wrong = ["the formats give different JSON"] * (len(set(ours.values())) > 1)
    for label, text in printed.items():
        if ours and not label.startswith(OURS) and text.strip():
            means = results(next(iter(ours.values())))
            theirs = json.loads(text.splitlines()[0])
            wrong += [
                f"{label}: {system}: other means" for system in theirs if abs(theirs[system] - means[system]) > 1e-9
            ]
    return wrong


def results(text: str) -> dict[str, float]:
    """Return the mean of every system on the first metric."""
    rows = json.loads(text)["systems"]
    return {row["system_id"]: row["mean"] for row in reversed(rows) if row["metric"] == rows[0]["metric"]}


def measure_nights(folder: Path, case: Case, given: argparse.Namespace) -> list[str]:
    """Print the costs of a night in which one system changed, beside a first night; return the errors found."""
    judgments, *rankings = files(folder, case, "trec", "grouped")
    tonight, config = folder / "tonight.run", folder / "nights.yaml"
    write_configuration(config, [judgments, *rankings[:-2], str(tonight)])
    shutil.rmtree(folder / "out", ignore_errors=True)
    first, found = None, []
    nights = (("a first night", -2, ()), ("one system changed", -1, ()), ("the same, all anew", -1, ("force",)))
    for number, (name, file, options) in enumerate(nights, start=1):
        tonight.unlink(missing_ok=True)
        os.link(rankings[file], tonight)
        cost = timed(night(config, number, *options), folder, given.room, given.seconds)
        first = first or cost
        bundle = Path(cost.printed.splitlines()[-1])
        kept = {key: json.loads((bundle / "bundle.json").read_text())[key] for key in ("outcome", "content_key")}
        found.append((json.dumps(kept, sort_keys=True), (bundle / "query_scores.parquet").read_bytes()))
        ratio = f"{cost.cores / first.cores:5.2f} of the processor time"
        print(
            f"  {name:34} {cost.wall:7.2f} s  {cost.cores:7.2f} s of cores  {cost.memory:6.0f} MB  {ratio}", flush=True
        )
    return [] if found[1] == found[2] else ["the results differ from those of a night that computes everything"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}; default: {', '.join(DEFAULT)}"
    )
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=list(PEERS))
    parser.add_argument("--directory", type=Path, default=Path("build/speed"))
    parser.add_argument("--room", type=float, default=8.0, help="GB that a process may take")
    parser.add_argument("--seconds", type=float, default=600.0, help="that a process may take")
    given = parser.parse_args()
    wrong = []
    for name in given.cases or DEFAULT:
        case = CASES[name]
        many = "queries" if case.queries > 1 else "documents"
        case = case._replace(**{many: max(int(case.queries > 1), round(getattr(case, many) * given.share))})
        folder = (given.directory / f"{name}-{given.share:g}").resolve()
        case = case._replace(systems=case.systems + (name == "night"))  # one more, for the night in which it changed
        if case.queries:
            making = multiprocessing.get_context("spawn").Process(target=make, args=(folder, case))
            making.start()
            making.join()
        else:
            folder.mkdir(parents=True, exist_ok=True)
        print(f"{name}: {case.systems} x {case.queries:,} queries x {case.documents:,} results", flush=True)
        work = measure_nights if name == "night" else measure
        wrong += work(folder, case, given)
    sys.exit("\n".join(wrong) if wrong else 0)


if __name__ == "__main__":
    main()
