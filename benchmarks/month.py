"""A simulated month of nights through the real command, with what goes wrong in a month.

    python benchmarks/month.py DIRECTORY [--nights 30] [--regression 18] [--tracking-uri URI] [--prefect-url URL]

Three versions of a ranker over 200 queries, an index that changes a little every night, new judgments every week, one
night without MLflow, one without Prefect, one with a broken file, and one version that gets worse.  Every night is
accounted for at the end: what its exit code was, which evaluation it became, that MLflow holds it once, and that the
regression was flagged in the first night in which an independent test finds it.  Exit code 1 if anything is not so.
"""

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import scipy.stats  # type: ignore[import-untyped]
from timing import COMMAND

QUERIES = 200
DOCUMENTS = 40
SYSTEMS = {"bm25": 0.9, "hybrid": 1.15, "reranked": 0.95}  # how much of a document's quality each one sees
WORSE = 0.45  # what is left of it in "reranked" once it has regressed
NOWHERE = "http://127.0.0.1:9"
FIRST_NIGHT = datetime(2026, 10, 1, 2, 0, tzinfo=UTC)
TOPICS = ("weather", "train", "recipe", "football", "museum", "doctor", "rent", "bicycle", "concert", "passport")
WORDS = (
    "near me",
    "opening hours",
    "today",
    "price",
    "how to",
    "review",
    "map",
    "tickets",
    "second hand",
    "for children",
)


@dataclasses.dataclass(frozen=True)
class Plan:
    """Which nights (1, 2, 3 …) bring what; None for never."""

    nights: int
    regression: int | None
    without_mlflow: int | None
    without_prefect: int | None
    broken: int | None


@dataclasses.dataclass(frozen=True)
class Night:
    number: int
    code: int
    seconds: float
    errors: str


def rankings(night: int, plan: Plan) -> dict[str, np.ndarray]:
    """system -> scores (queries x documents) of one night."""
    rng = np.random.default_rng(7)
    grades = relevance()
    found = {}
    for name, seen in SYSTEMS.items():
        noise = rng.normal(0, 1, grades.shape)
        if name == "reranked" and plan.regression is not None and night >= plan.regression:
            seen = WORSE
        found[name] = seen * grades + noise
    for past in range(1, night + 1):  # every night some documents are indexed anew
        changed = np.random.default_rng(1000 + past)
        rows = changed.choice(QUERIES, 12, replace=False)
        shift = changed.normal(0, 0.5, (len(rows), DOCUMENTS))
        for scores in found.values():
            scores[rows] += shift
    return found


def relevance() -> np.ndarray:
    """Grades 0 to 3 (queries x documents); the first documents of a query are the better ones."""
    rng = np.random.default_rng(3)
    return np.minimum(3, rng.geometric(0.55, (QUERIES, DOCUMENTS)) - 1) * (rng.random((QUERIES, DOCUMENTS)) < 0.5)


def query_id(number: int) -> str:
    return f"q{number:03d}"


def write_inputs(directory: Path, night: int, plan: Plan) -> None:
    scores = rankings(night, plan)
    for name, values in scores.items():
        lines = []
        for query, row in enumerate(values):
            for rank, document in enumerate(np.argsort(-row)[:30], start=1):
                lines.append(f"{query_id(query)} Q0 d{query:03d}x{document:02d} {rank} {row[document]:.6f} {name}")
        (directory / f"{name}.run").write_text("\n".join(lines) + "\n", encoding="utf-8")
    if night == plan.broken:
        (directory / "hybrid.run").write_text("q000 Q0 d000x01 1 nan hybrid\n", encoding="utf-8")
    week = (night - 1) // 7
    grades, lines = relevance(), []
    first = rankings(1, plan)
    for query in range(QUERIES):
        pool = sorted({int(d) for values in first.values() for d in np.argsort(-values[query])[: 10 + 5 * week]})
        lines += [f"{query_id(query)} 0 d{query:03d}x{document:02d} {grades[query, document]}" for document in pool]
    (directory / "judgments.qrels").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_configuration(directory: Path, tracking_uri: str | None) -> Path:
    rows = ["query_id\ttext\tlanguage"]
    for query in range(QUERIES):
        text = f"{TOPICS[query % len(TOPICS)]} {WORDS[query // len(TOPICS) % len(WORDS)]}"
        rows.append(f"{query_id(query)}\t{text}\t{('en', 'de', 'fr')[query % 3]}")
    (directory / "queries.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    systems = "".join(f"  - {{name: {name}, version: '1.{at}', file: {name}.run}}\n" for at, name in enumerate(SYSTEMS))
    path = directory / "month.yaml"
    path.write_text(
        "name: month\njudgments: judgments.qrels\nqueries: queries.tsv\n"
        f"systems:\n{systems}metrics: [ndcg@10]\nsecondary_metrics: [rr@10]\nguardrails: {{recall@20: 0.02}}\n"
        "slices: {by: [language]}\nstatistics: {smallest_effect: {ndcg@10: 0.01}}\n"
        "gate: {no_regression: true, guardrails: false}\noutput: results\n"
        + (f"mlflow: {{tracking_uri: '{tracking_uri}'}}\n" if tracking_uri else ""),
        encoding="utf-8",
    )
    return path


def run_night(config: Path, night: int, plan: Plan, prefect_url: str | None) -> Night:
    """The command as cron would call it, in the environment of that night."""
    environment = dict(os.environ)
    if prefect_url:
        environment["PREFECT_API_URL"] = prefect_url
    if night == plan.without_prefect:
        environment["PREFECT_API_URL"] = f"{NOWHERE}/api"
    text = config.read_text(encoding="utf-8")
    chosen = config
    if night == plan.without_mlflow:  # the same configuration, its server away
        chosen = config.with_name("away.yaml")
        kept = "".join(line for line in text.splitlines(True) if not line.startswith("mlflow:"))
        chosen.write_text(f"{kept}mlflow: {{tracking_uri: '{NOWHERE}'}}\n", encoding="utf-8")
    at = FIRST_NIGHT + timedelta(days=night - 1)
    start = time.monotonic()
    found = subprocess.run(
        [*COMMAND, "run", str(chosen), "--quiet", "--at", at.isoformat()],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    return Night(night, found.returncode, time.monotonic() - start, found.stderr.strip())


def expected_code(night: int, plan: Plan, detectable: set[int]) -> int:
    if night == plan.broken:
        return 2
    if night in detectable:
        return 1
    return 75 if night == plan.without_mlflow else 0


def detectable_nights(results: Path) -> set[int]:
    """Nights on which a test of scipy's finds "reranked" worse: at .05 / 2, for two candidates (Bonferroni)."""
    import pyarrow.parquet as papq

    found = set()
    for folder in sorted(results.glob("2*")):
        table = papq.read_table(folder / "query_scores.parquet").to_pydict()
        values: dict[str, dict[str, float]] = {name: {} for name in SYSTEMS}
        for system, query, metric, value in zip(
            table["system_id"], table["query_id"], table["metric"], table["value"], strict=True
        ):
            if metric == "ndcg@10":
                values[system][query] = value
        differences = np.array([values["reranked"][query] - values["bm25"][query] for query in sorted(values["bm25"])])
        test = scipy.stats.permutation_test(
            (differences,), np.mean, permutation_type="samples", n_resamples=9_999, rng=np.random.default_rng(1)
        )
        if differences.mean() < 0 and test.pvalue <= 0.05 / 2:
            found.add((datetime.strptime(folder.name, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC) - FIRST_NIGHT).days + 1)
    return found


def mlflow_runs(tracking_uri: str) -> list[str]:
    """The bundle keys of the comparisons that MLflow holds."""
    import mlflow

    client = mlflow.MlflowClient(tracking_uri=tracking_uri)
    experiment = client.get_experiment_by_name("month")
    if experiment is None:
        return []
    runs = client.search_runs([experiment.experiment_id], "tags.kind = 'comparison'", max_results=1000)
    return [run.data.tags["bundle_key"] for run in runs]


def account(directory: Path, config: Path, plan: Plan, nights: list[Night], tracking_uri: str) -> list[str]:
    """Prints the nights; what is not as it should be."""
    results = directory / "results" / "month"
    told = subprocess.run(
        [*COMMAND, "history", str(config), "--json", "-"],
        capture_output=True,
        text=True,
        check=True,
    )
    kept = {each["began"][:10]: each for each in json.loads(told.stdout)["evaluations"]}
    detectable = detectable_nights(results)
    logged = mlflow_runs(tracking_uri)
    wrong = []
    print("night  code  seconds  evaluation  reranked on ndcg@10")
    for night in nights:
        date = (FIRST_NIGHT + timedelta(days=night.number - 1)).date().isoformat()
        evaluation = kept.get(date)
        verdict, conclusion = "", None
        if evaluation is not None:
            found = next(row for row in evaluation["systems"] if row["system_id"] == "reranked")
            verdict, conclusion = found["verdict"], found["conclusion"]
        ordinal = evaluation["ordinal"] if evaluation else "–"
        print(f"{night.number:5}  {night.code:4}  {night.seconds:7.1f}  {ordinal:>10}  {verdict}")
        if night.code != expected_code(night.number, plan, detectable):
            wrong.append(f"night {night.number}: exit code {night.code}: {night.errors}")
        if (evaluation is None) != (night.number == plan.broken):
            wrong.append(
                f"night {night.number}: {'is missing in' if evaluation is None else 'should not be in'} history"
            )
        if evaluation and logged.count(evaluation["key"]) != 1:
            wrong.append(f"night {night.number}: {logged.count(evaluation['key'])} times in MLflow")
        if evaluation and (conclusion == "regressed") != (night.number in detectable):
            wrong.append(f"night {night.number}: {verdict}, though scipy's test says otherwise")
        if night.seconds > 20:
            wrong.append(f"night {night.number}: took {night.seconds:.1f} s")
    if len(logged) != len(kept):
        wrong.append(f"MLflow holds {len(logged)} comparisons, the history {len(kept)}")
    if plan.regression and plan.regression <= plan.nights and min(detectable, default=0) != plan.regression:
        wrong.append(
            f"the regression of night {plan.regression} is first detectable in night {min(detectable, default=0)}"
        )
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--nights", type=int, default=30)
    parser.add_argument("--regression", type=int, default=18)
    parser.add_argument("--calm", action="store_true", help="nothing goes wrong but the regression")
    parser.add_argument("--tracking-uri", help="an MLflow server; by default SQLite in the directory")
    parser.add_argument("--prefect-url", help="a Prefect server's API; by default a temporary one every night")
    given = parser.parse_args()
    trouble = (None, None, None) if given.calm else (6, 11, 14)
    plan = Plan(given.nights, given.regression, *trouble)
    directory = given.directory.resolve()
    directory.mkdir(parents=True, exist_ok=True)
    config = write_configuration(directory, given.tracking_uri)
    nights = []
    for number in range(1, plan.nights + 1):
        write_inputs(directory, number, plan)
        nights.append(run_night(config, number, plan, given.prefect_url))
        night = nights[-1]
        print(f"night {number}: exit code {night.code}, {night.seconds:.1f} s", night.errors[:200], file=sys.stderr)
    uri = given.tracking_uri or f"sqlite:///{directory / 'results' / 'mlflow.db'}"
    wrong = account(directory, config, plan, nights, uri)
    print("\n".join(wrong) or f"all {plan.nights} nights are accounted for")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
