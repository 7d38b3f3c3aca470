"""Time and memory from 1 to 200 million rows: `ndcg-ab compare` beside pytrec_eval-terrier, ir-measures and ranx.

    python benchmarks/scale.py [--sizes 1 2 5] [--memory-limit 4GB] [--only NAME …] [--directory build/scale]

Of every size (millions of rows) two rankings of 1,000 documents a query are written as Parquet by DuckDB, with 40
judgments a query; queries stand together and scores fall, as search engines write them. Every tool is a process of its
own that reads judgments and both rankings and prints the mean nDCG@10 of each, which must agree. ndcg-ab checks,
recomputes and tests besides. A peer that ran out of memory (`--room`) or time (`--seconds`) is not tried at larger
sizes, and what stopped it is kept. Results are added to docs/scale.json, and docs/images/scale.svg is drawn from it.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb
from timing import COMMAND

ROOT = Path(__file__).resolve().parent.parent
RESULTS, CHART = ROOT / "docs" / "scale.json", ROOT / "docs" / "images" / "scale.svg"
SYSTEMS, DOCUMENTS, JUDGED = ("old", "new"), 1000, 40
RANKING = """
copy (
    select
        cast(100000 + q as varchar) as query_id,
        cast((q * 7919 + (d + 3 * {seed}) % {documents} * 6007) % 8800000 as varchar) as doc_id,
        round(60 - 12 * ln(d + 1) / ln(2) + (hash(q) % 1000) / 100.0, 4) as score,
        d + 1 as rank
    from range({queries}) as query(q), range({documents}) as place(d)
    order by q, d
) to '{path}' (format parquet)
"""
JUDGMENTS = """
copy (
    select
        cast(100000 + q as varchar) as query_id,
        cast((q * 7919 + (hash(q * 1009 + j) % {documents}) * 6007) % 8800000 as varchar) as doc_id,
        cast(max(hash(q * 31 + j) % 4) as double) as grade
    from range({queries}) as query(q), range({judged}) as judgment(j)
    group by 1, 2, q
    order by q, 2
) to '{path}' (format parquet)
"""
START = """
import json, sys
import pyarrow.parquet as pq
folder, systems = sys.argv[1], sys.argv[2:]
def nested(path, value):
    table, found = pq.read_table(path, columns=["query_id", "doc_id", value]), {}
    for batch in table.to_batches():
        for query, doc, number in zip(*(column.to_pylist() for column in batch.columns)):
            found.setdefault(query, {})[doc] = number
    return found
graded = nested(folder + "/judgments.parquet", "grade")
judgments = {query: {doc: int(grade) for doc, grade in row.items()} for query, row in graded.items()}
means = {}
for system in systems:
    path = f"{folder}/{system}.parquet"
"""
PEERS = {
    "pytrec_eval-terrier": """
    import pytrec_eval
    evaluator = pytrec_eval.RelevanceEvaluator(judgments, {"ndcg_cut.10"})
    values = [row["ndcg_cut_10"] for row in evaluator.evaluate(nested(path, "score")).values()]
    means[system] = sum(values) / len(values)
""",
    "ir-measures": """
    import ir_measures
    measure = ir_measures.parse_measure("nDCG@10")
    means[system] = ir_measures.calc_aggregate([measure], judgments, nested(path, "score"))[measure]
""",
    "ranx": """
    from ranx import Qrels, Run, evaluate
    means[system] = float(evaluate(Qrels(judgments), Run(nested(path, "score")), "ndcg@10"))
""",
}
OURS = "ndcg-ab"


def make(folder: Path, millions: int) -> None:
    """The files of a size, where they are not there yet."""
    if (folder / "whole").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    queries = millions * 1_000_000 // DOCUMENTS // len(SYSTEMS)
    with duckdb.connect(config={"memory_limit": "3GB", "temp_directory": str(folder / "spill")}) as connection:
        text = JUDGMENTS.format(queries=queries, documents=DOCUMENTS, judged=JUDGED, path=folder / "judgments.parquet")
        connection.execute(text)
        for seed, system in enumerate(SYSTEMS):
            path = folder / f"{system}.parquet"
            connection.execute(RANKING.format(queries=queries, documents=DOCUMENTS, seed=seed, path=path))
    (folder / "whole").touch()


def command(name: str, folder: Path, limit: str) -> list[str]:
    if name != OURS:
        return [sys.executable, "-c", START + PEERS[name] + "print(json.dumps(means))", str(folder), *SYSTEMS]
    made = [*COMMAND, "compare", "--quiet", "--json", "-"]
    made += [
        "--judgments",
        str(folder / "judgments.parquet"),
        "--memory-limit",
        limit,
        "--spill",
        str(folder / "spill"),
    ]
    for system in SYSTEMS:
        made += ["--system", f"{system}={folder / f'{system}.parquet'}"]
    return made


def measured(made: list[str], room: float, seconds: float) -> dict[str, Any]:
    """Seconds of wall time and of all cores, peak resident memory in MB, and the means; or what stopped it.

    The process is ended when it takes more than `room` GB of resident memory, or longer than `seconds`.
    """
    start = time.perf_counter()
    with tempfile.TemporaryFile("w+") as printed:
        process = subprocess.Popen(made, stdout=printed)
        ended, stopped = 0, None
        while not ended:
            ended, status, usage = os.wait4(process.pid, os.WNOHANG)
            if not ended:
                if resident(process.pid) > room * 1e9:
                    stopped = f"more than {room:g} GB of memory"
                elif time.perf_counter() - start > seconds:
                    stopped = f"more than {seconds:g} s"
                if stopped:
                    process.kill()
                time.sleep(0.02)
        process.returncode = os.waitstatus_to_exitcode(status)
        printed.seek(0)
        text = printed.read()
    if stopped or process.returncode:
        return {"stopped": stopped or f"exit code {process.returncode}"}
    found = {"wall": time.perf_counter() - start, "cores": usage.ru_utime + usage.ru_stime}
    return {**found, "megabytes": usage.ru_maxrss / 1024, "means": means_in(text)}


def resident(process: int) -> int:
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * resource.getpagesize()


def means_in(text: str) -> dict[str, float]:
    found = json.loads(text)
    return {row["system_id"]: row["mean"] for row in found["systems"]} if "systems" in found else found


def measure(options: argparse.Namespace) -> None:
    """Every tool at every size; what is known of other sizes and tools stays."""
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    given_up: set[str] = set()
    for millions in options.sizes:
        folder = options.directory / str(millions)
        make(folder, millions)
        means: dict[str, dict[str, float]] = {}
        for name in [each for each in (OURS, *PEERS) if each in options.only and each not in given_up]:
            found = measured(command(name, folder, options.memory_limit), options.room, options.seconds)
            row = {"tool": name, "millions": millions, **found}
            if "stopped" in row:
                given_up.add(name)
                print(f"{millions:4d} million  {name:20} stopped: {row['stopped']}", flush=True)
            else:
                means[name] = row.pop("means")
                row = {key: round(value, 2) if isinstance(value, float) else value for key, value in row.items()}
                each = row["wall"] / millions
                print(
                    f"{millions:4d} million  {name:20} {row['wall']:8.1f} s  {each:6.2f} s a million"
                    f"  {row['cores']:8.1f} s of cores  {row['megabytes']:7.0f} MB",
                    flush=True,
                )
            if name == OURS and "stopped" not in row:
                row["memory_limit"] = options.memory_limit
            known = [other for other in known if (other["tool"], other["millions"]) != (name, millions)] + [row]
        check_equal(means)
        if not options.keep:
            shutil.rmtree(folder)
        order = [OURS, *PEERS]
        known.sort(key=lambda row: (order.index(row["tool"]), row["millions"]))
        lines = ",\n".join(f"  {json.dumps(row)}" for row in known)
        RESULTS.write_text(f"[\n{lines}\n]\n")


def check_equal(means: dict[str, dict[str, float]]) -> None:
    """A fast wrong answer is no answer."""
    for name, found in means.items():
        for system in SYSTEMS:
            if abs(found[system] - means[OURS][system]) > 1e-9:
                sys.exit(f"{system}: {name} gives {found[system]!r}, {OURS} {means[OURS][system]!r}")


def draw() -> None:
    """docs/images/scale.svg: time and memory for each million rows, over the number of rows."""
    import matplotlib  # comes with MLflow

    matplotlib.use("svg")
    from matplotlib import pyplot

    pyplot.rcParams.update({"svg.hashsalt": "scale", "svg.fonttype": "none", "font.size": 9})
    rows = json.loads(RESULTS.read_text())
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.4))
    colours = dict(zip((OURS, *PEERS), ("#0b6e4f", "#c44536", "#6c757d", "#e09f3e"), strict=True))
    for tool, colour in colours.items():
        ended = [row for row in rows if row["tool"] == tool and "wall" in row]
        sizes = [row["millions"] for row in ended]
        left.plot(sizes, [row["cores"] / row["millions"] for row in ended], "o-", color=colour, label=tool, ms=4)
        right.plot(sizes, [row["megabytes"] / 1000 for row in ended], "o-", color=colour, label=tool, ms=4)
        if ended and any("stopped" in row for row in rows if row["tool"] == tool):
            for axes, value in ((left, ended[-1]["cores"] / sizes[-1]), (right, ended[-1]["megabytes"] / 1000)):
                axes.plot(sizes[-1:], [value], "x", color=colour, ms=10)
    for axes, title in ((left, "seconds of all cores for a million rows"), (right, "peak memory, GB")):
        axes.set(xscale="log", yscale="log", xlabel="million rows (x: larger sizes were stopped)", title=title)
        axes.set_xticks(shown := sorted({row["millions"] for row in rows}), [str(each) for each in shown])
        low, high = axes.get_ylim()
        ticks = [tick for tick in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100) if low <= tick <= high]
        axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    left.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(CHART, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--directory", type=Path, default=Path("build/scale"))
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 2, 5], help="millions of rows")
    parser.add_argument("--only", nargs="+", choices=[OURS, *PEERS], default=[OURS, *PEERS])
    parser.add_argument("--memory-limit", default="4GB", help="of ndcg-ab")
    parser.add_argument("--room", type=float, default=8.0, help="GB that a process may take")
    parser.add_argument("--seconds", type=float, default=600.0, help="that a process may take")
    parser.add_argument("--keep", action="store_true", help="keep the generated files")
    options = parser.parse_args()
    measure(options)
    draw()


if __name__ == "__main__":
    main()
