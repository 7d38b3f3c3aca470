"""What a night costs in which one of five systems changed, beside a first one.

    python benchmarks/nights.py [--directory build/nights] [--queries 2000] [--systems 5]

Generated rankings of `queries` x 1,000 documents in TREC text. Each night is a process of its own that performs the
steps of `ndcg-ab run` without Prefect and MLflow, the page included: a first night, one in which the last system's file
is another, and the same once more with everything read and computed anew, whose results must be the same to the bit.
"""

import argparse
import json
import os
import shutil
import sys
from pathlib import Path

from make_rankings import make
from timing import timed

NIGHT = """
import sys
from datetime import datetime
from pathlib import Path
from ndcg_ab.config.loading.file import read_config
from ndcg_ab.pipeline import stages
from ndcg_ab.runs.run import perform_run
NOTHING = {"url": None, "trend_url": None, "dashboard": None, "delivered": 0}
def call(stage, context, part):
    if stage is not stages.PUBLISH:
        return stage.run(context, part)
    context.published = NOTHING
evaluation = read_config(Path(sys.argv[1]), [])
print(perform_run(evaluation, call, at=datetime.fromisoformat(sys.argv[2]), force="force" in sys.argv).bundle)
"""


def night(config: Path, number: int, *options: str) -> tuple[float, float, float, Path]:
    """Seconds of the clock and of the cores, peak memory in MB, and the bundle."""
    command = [sys.executable, "-c", NIGHT, str(config), f"2026-11-{number:02}T02:00:00+00:00", *options]
    wall, cores, memory, printed = timed(command)
    return wall, cores, memory, Path(printed.strip())


def content(bundle: Path) -> tuple[str, bytes]:
    """What must not depend on what was known."""
    found = json.loads((bundle / "bundle.json").read_text())
    kept = {key: found[key] for key in ("outcome", "extremes", "content_key")}
    return json.dumps(kept, sort_keys=True), (bundle / "query_scores.parquet").read_bytes()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--directory", type=Path, default=Path("build/nights"))
    parser.add_argument("--queries", type=int, default=2000)
    parser.add_argument("--systems", type=int, default=5)
    options = parser.parse_args()
    directory, last = options.directory.resolve(), options.systems
    make(directory, options.queries, documents=1000, systems=last + 1, seed=1)
    shutil.rmtree(directory / "out", ignore_errors=True)
    tonight = directory / "tonight.run"
    systems = "\n".join(f"  - {{name: system{place}, file: system{place}.run}}" for place in range(1, last))
    config = directory / "nights.yaml"
    config.write_text(
        f"name: nights\noutput: out\njudgments: judgments.qrels\nsystems:\n{systems}\n"
        f"  - {{name: system{last}, file: tonight.run}}\nmetrics: [ndcg@10]\n"
    )
    costs: dict[str, tuple[float, float, float, Path]] = {}
    for number, (name, file, *more) in enumerate(
        [
            ("a first night", last),
            ("one system changed", last + 1),
            ("the same, all anew", last + 1, "force"),
        ],
        start=1,
    ):
        tonight.unlink(missing_ok=True)
        os.link(directory / f"system{file}.run", tonight)
        costs[name] = night(config, number, *map(str, more))
        wall, cores, peak, _ = costs[name]
        print(f"{name:20} {wall:6.1f} s, cores {cores:6.1f} s, peak memory {peak:6.0f} MB", flush=True)
    first, changed, anew = costs.values()
    if content(changed[3]) != content(anew[3]):
        sys.exit("the results differ from those of a night that reads and computes everything")
    print(f"ratio {changed[0] / first[0]:.2f} of the clock, {changed[1] / first[1]:.2f} of the cores; same results")


if __name__ == "__main__":
    main()
