"""Time and memory from 1 to 200 million rows: `ndcg-ab compare` beside pytrec_eval-terrier, ir-measures and ranx.

    python benchmarks/scale.py [--sizes 1 2 5] [--formats parquet trec] [--only NAME …] [--directory build/scale]

Of every size (millions of rows) two rankings of 1,000 documents a query are written by DuckDB as Parquet and as TREC
text, with 40 judgments a query; queries stand together and scores fall, as search engines write them. Every tool is a
process of its own that reads judgments and both rankings (text for peers by pytrec_eval's reader) and prints the mean
nDCG@10 of each, which must agree. ndcg-ab checks, recomputes and tests besides. A peer that ran out of memory
(`--room`) or time (`--seconds`) is not tried at larger sizes, and what stopped it is kept. Results are added to
docs/scale.json; the table of docs/performance.md and docs/images/scale.svg are drawn from it.
"""

import argparse
import itertools
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
PAGE, BEGIN, END = (
    ROOT / "docs" / "performance.md",
    "<!-- drawn by benchmarks/scale.py -->\n",
    "<!-- end of the table -->",
)
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
TEXT = "copy (select {columns} from '{path}.parquet') to '{path}.{ending}' (format csv, header false, delimiter ' ')"
TREC = {"run": "query_id, 'Q0', doc_id, rank, score, 'run'", "qrels": "query_id, 0, doc_id, cast(grade as int)"}
FORMATS = {"parquet": ("parquet", "parquet"), "trec": ("qrels", "run")}  # endings of judgments and of rankings
NAMES = {"parquet": "Parquet", "trec": "text"}
START = """
import json, sys
judgments_file, *files = sys.argv[1:]
""".lstrip()
READ = {
    "parquet": """
import pyarrow.parquet as pq
def nested(path, value):
    table, found = pq.read_table(path, columns=["query_id", "doc_id", value]), {}
    for batch in table.to_batches():
        for query, doc, number in zip(*(column.to_pylist() for column in batch.columns)):
            found.setdefault(query, {})[doc] = number
    return found
def ranking(path):
    return nested(path, "score")
graded = nested(judgments_file, "grade")
judgments = {query: {doc: int(grade) for doc, grade in row.items()} for query, row in graded.items()}
""",
    "trec": """
import pytrec_eval
def ranking(path):
    with open(path) as file:
        return pytrec_eval.parse_run(file)
with open(judgments_file) as file:
    judgments = pytrec_eval.parse_qrel(file)
""",
}
EACH = """
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
""",
    "ir-measures": """
    import ir_measures
    measure = ir_measures.parse_measure("nDCG@10")
    means[system] = ir_measures.calc_aggregate([measure], judgments, ranking(path))[measure]
""",
    "ranx": """
    from ranx import Qrels, Run, evaluate
    means[system] = float(evaluate(Qrels(judgments), Run(ranking(path)), "ndcg@10"))
""",
}
OURS = "ndcg-ab"


def make(folder: Path, millions: int, formats: list[str]) -> None:
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
        if "trec" in formats:
            for name, ending in (("judgments", "qrels"), *((system, "run") for system in SYSTEMS)):
                connection.execute(TEXT.format(columns=TREC[ending], path=folder / name, ending=ending))
    (folder / "whole").touch()


def command(name: str, folder: Path, file_format: str, limit: str) -> list[str]:
    judgments, ranking = FORMATS[file_format]
    files = [str(folder / f"judgments.{judgments}"), *(str(folder / f"{system}.{ranking}") for system in SYSTEMS)]
    if name != OURS:
        return [
            sys.executable,
            "-c",
            START + READ[file_format] + EACH + PEERS[name] + "print(json.dumps(means))",
            *files,
        ]
    limits = ["--memory-limit", limit, "--spill", str(folder / "spill")]
    return [*COMMAND, "compare", *files, "--quiet", "--json", "-", *limits]


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
    """Every tool at every size, on every format; what is known of others stays."""
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    given_up: set[tuple[str, str]] = set()
    for millions in options.sizes:
        folder = options.directory / str(millions)
        make(folder, millions, options.formats)
        means: dict[str, dict[str, float]] = {}
        for file_format in options.formats:
            for name in [each for each in options.only if (each, file_format) not in given_up]:
                found = measured(
                    command(name, folder, file_format, options.memory_limit), options.room, options.seconds
                )
                if "stopped" in found:
                    given_up.add((name, file_format))
                else:
                    means[f"{name} ({file_format})"] = found.pop("means")
                row = {"tool": name, "format": file_format, "millions": millions}
                row |= {key: round(value, 2) if isinstance(value, float) else value for key, value in found.items()}
                if name == OURS:
                    row["memory_limit"] = options.memory_limit
                print(told(row), flush=True)
                known = [other for other in known if place(other) != place(row)] + [row]
        check_equal(means)
        if not options.keep:
            shutil.rmtree(folder)
        lines = ",\n".join(f"  {json.dumps(row)}" for row in sorted(known, key=place))
        RESULTS.write_text(f"[\n{lines}\n]\n")


def place(row: dict[str, Any]) -> tuple[int, str, int]:
    return [OURS, *PEERS].index(row["tool"]), row["format"], row["millions"]


def told(row: dict[str, Any]) -> str:
    start = f"{row['millions']:4d} million  {row['format']:8} {row['tool']:20}"
    if "stopped" in row:
        return f"{start} stopped: {row['stopped']}"
    cores = row["cores"]
    each = f"{cores / row['millions']:5.2f} s and {row['megabytes'] / row['millions']:5.0f} MB a million"
    return f"{start} {row['wall']:7.1f} s  CPU {cores:7.1f} s  {row['megabytes']:6.0f} MB  {each}"


def check_equal(means: dict[str, dict[str, float]]) -> None:
    """A fast wrong answer is no answer."""
    first, ours = next(iter(means.items()), ("", {}))
    for name, found in means.items():
        for system in SYSTEMS:
            if abs(found[system] - ours[system]) > 1e-9:
                sys.exit(f"{system}: {name} gives {found[system]!r}, {first} {ours[system]!r}")


def write_table() -> None:
    """The table of docs/performance.md: CPU seconds for a million rows and peak memory, of every tool and size."""
    rows = json.loads(RESULTS.read_text())
    sizes = sorted({row["millions"] for row in rows})
    lines = [f"| million rows | {' | '.join(map(str, sizes))} |", "|---" * (1 + len(sizes)) + "|"]
    for tool, file_format in itertools.product((OURS, *PEERS), FORMATS):
        known = {row["millions"]: row for row in rows if (row["tool"], row["format"]) == (tool, file_format)}
        cells = [cell(known.get(size)) for size in sizes]
        lines.append(f"| {tool}, {NAMES[file_format]} | {' | '.join(cells)} |")
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{chr(10).join(lines)}\n\n{END}{after}", encoding="utf-8")


def cell(row: dict[str, Any] | None) -> str:
    if row is None or "stopped" in row:
        return "–"
    return f"{row['cores'] / row['millions']:.2f} s, {row['megabytes'] / 1000:.1f} GB"


def draw() -> None:
    """docs/images/scale.svg: time and memory for each million rows, over the number of rows."""
    import matplotlib  # comes with MLflow

    matplotlib.use("svg")
    from matplotlib import pyplot

    pyplot.rcParams.update({"svg.hashsalt": "scale", "svg.fonttype": "none", "font.size": 9})
    rows = json.loads(RESULTS.read_text())
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.4))
    colours = dict(zip((OURS, *PEERS), ("#0b6e4f", "#c44536", "#6c757d", "#e09f3e"), strict=True))
    for (tool, colour), (file_format, line) in itertools.product(colours.items(), (("parquet", "-"), ("trec", "--"))):
        of = [row for row in rows if (row["tool"], row["format"]) == (tool, file_format)]
        ended = [row for row in of if "wall" in row]
        sizes = [row["millions"] for row in ended]
        label = f"{tool}, {NAMES[file_format]}"
        for axes, values in (
            (left, [row["cores"] / row["millions"] for row in ended]),
            (right, [row["megabytes"] / 1000 for row in ended]),
        ):
            axes.plot(sizes, values, f"o{line}", color=colour, label=label, ms=4)
            if ended and len(ended) < len(of):
                axes.plot(sizes[-1:], values[-1:], "x", color=colour, ms=10)
    for axes, title in ((left, "seconds of all cores for a million rows"), (right, "peak memory, GB")):
        axes.set(xscale="log", yscale="log", xlabel="million rows (x: larger sizes were stopped)", title=title)
        axes.set_xticks(shown := sorted({row["millions"] for row in rows}), [str(each) for each in shown])
        low, high = axes.get_ylim()
        ticks = [tick for tick in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100) if low <= tick <= high]
        axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    left.legend(frameon=False, fontsize=7, ncols=2, handlelength=4)
    figure.tight_layout()
    figure.savefig(CHART, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--directory", type=Path, default=Path("build/scale"))
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 2, 5], help="millions of rows")
    parser.add_argument("--formats", nargs="+", choices=list(FORMATS), default=list(FORMATS))
    parser.add_argument("--only", nargs="+", choices=[OURS, *PEERS], default=[OURS, *PEERS])
    parser.add_argument("--memory-limit", default="4GB", help="of ndcg-ab")
    parser.add_argument("--room", type=float, default=8.0, help="GB that a process may take")
    parser.add_argument("--seconds", type=float, default=600.0, help="that a process may take")
    parser.add_argument("--keep", action="store_true", help="keep the generated files")
    options = parser.parse_args()
    measure(options)
    write_table()
    draw()


if __name__ == "__main__":
    main()
