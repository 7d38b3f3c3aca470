"""The whole flow, against a temporary Prefect server and a real MLflow store."""

import dataclasses
import json
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.testing import CliRunner

from ndcg_ab.config.environment import prepare_environment
from ndcg_ab.config.loading.file import read_config
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.errors import InputError, ParityError
from ndcg_ab.flows.cli.app import app
from ndcg_ab.flows.run import run_evaluation
from ndcg_ab.flows.temporary_server import TemporaryServer
from ndcg_ab.history.bundle import read_bundle
from ndcg_ab.pipeline import stages
from ndcg_ab.pipeline.context import Context
from tests import servers
from tests.paths import DATA, ROOT
from tests.planted_secrets import PLANTED, everything_below, found_in, planted_config
from tests.repeated import mostly_soaked
from tests.small_evaluation import small
from tests.stores import with_prefect, with_store

prepare_environment()
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that this process uses, too."""
    from prefect.logging.handlers import APILogHandler
    from prefect.settings import PREFECT_API_DATABASE_CONNECTION_URL, PREFECT_API_URL, temporary_settings

    home = with_prefect(tmp_path_factory.mktemp("prefect"))
    database = f"sqlite+aiosqlite:///{home / 'prefect.db'}"
    started = TemporaryServer({"PREFECT_HOME": str(home), "PREFECT_API_DATABASE_CONNECTION_URL": database})
    try:
        assert started.wait(120) is None
        with temporary_settings({PREFECT_API_URL: started.url, PREFECT_API_DATABASE_CONNECTION_URL: database}):
            yield started.url
            APILogHandler().flush()  # else this process waits at its end for a server that is gone
    finally:
        started.stop()


def demo(output: Path, **changes: object) -> Evaluation:
    evaluation = read_config(ROOT / "configs" / "demo.yaml")
    content = evaluation.model_dump() | {"output": output, **changes}
    return Evaluation.model_validate(content)


class Nights(NamedTuple):
    """The demo, run twice into one output directory. said: what the command printed that made the first."""

    output: Path
    finished: list[Context]
    said: tuple[str, str]


@pytest.fixture(scope="module")
def two_nights(server: str, tmp_path_factory: pytest.TempPathFactory) -> Nights:
    """By `ndcg-ab run`, and by what it calls, with one Prefect server for both."""
    output, folder = with_store(tmp_path_factory.mktemp("results")), tmp_path_factory.mktemp("demo")
    said = run_command(folder, output, server)
    (first,) = (output / "demo").glob("2*")
    kept = read_bundle(first)
    second = run_evaluation(read_config(folder / "demo.yaml"), force=True)
    url = json.loads((first / "published.json").read_text())["url"]
    by_command = dataclasses.replace(second, bundle=first, outcome=kept.outcome, published={"url": url})
    return Nights(output, [by_command, second], said)


def run_command(folder: Path, output: Path, server: str) -> tuple[str, str]:
    """Run the command and return the text of standard output and standard error."""
    config = (ROOT / "configs" / "demo.yaml").read_text().replace("../ndcg-ab-results", str(output))
    config = config.replace("prefect: {server: temporary}", f"prefect: {{api_url: {server}}}")
    for path in (ROOT / "configs").glob("demo*"):
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "demo.yaml").write_text(config)
    found = CliRunner().invoke(app, ["run", str(folder / "demo.yaml")])
    assert found.exit_code == 0, found.output
    return found.stdout, found.stderr


def logged_to(output: Path) -> tuple[Any, Any]:
    """Return a client of the store of an output directory, and the experiment of the demo."""
    import mlflow

    client = mlflow.MlflowClient(tracking_uri=f"sqlite:///{output / 'mlflow.db'}")
    return client, client.get_experiment_by_name("demo")


def test_the_demo_gives_verdicts_that_are_not_trivial(two_nights: Nights) -> None:
    first, second = two_nights.finished
    verdicts = {row.candidate: row.verdict for row in first.outcome.comparisons if row.metric == "ndcg@10"}
    assert verdicts["all-words"] == "regressed, by more than 0.01"
    assert verdicts["general-first"] == "improved, by more than 0.01"
    assert verdicts["name-weighted"].startswith("undecided (MDE 0.0")
    decided = {found.candidate: found.decision for found in first.outcome.decisions}
    assert decided == {"name-weighted": "judge_more", "general-first": "ship", "all-words": "do_not_ship"}
    assert [row.message for row in first.outcome.findings if row.code == "unanswered_query"]
    assert first.outcome.to_json() == second.outcome.to_json(), "the same inputs give the same result"


def test_mlflow_shows_a_parent_and_a_child_per_system(two_nights: Nights) -> None:
    output, finished, _ = two_nights
    client, experiment = logged_to(output)
    runs = client.search_runs([experiment.experiment_id], order_by=["attributes.start_time ASC"])
    parents = [run for run in runs if run.data.tags["kind"] == "comparison"]
    children = [run for run in runs if run.data.tags["kind"] == "system"]
    assert len(parents) == 2
    assert len(children) == 8
    assert {run.info.status for run in runs} == {"FINISHED"}
    assert [run.info.run_name[:16] for run in parents] == ["✓ ship general-f"] * 2
    for run, finish in zip(parents, finished, strict=True):
        bundle = read_bundle(finish.bundle)
        assert run.info.end_time - run.info.start_time == round(1000 * bundle.seconds)
        assert run.data.tags["mlflow.source.name"] == f"ndcg-ab {bundle.program}"
        assert (run.data.tags["mlflow.source.type"], run.data.tags["mlflow.user"]) == ("LOCAL", bundle.user)
    for child in children:
        assert child.data.tags["mlflow.parentRunId"] in {parent.info.run_id for parent in parents}
        assert child.data.tags["role"] == ("baseline" if child.data.tags["system"] == "body-only" else "candidate")
    last = {run.data.tags["system"]: run for run in children if run.data.tags["evaluation"] == "2"}
    expected = {row.system_id: row.mean for row in finished[1].outcome.systems if row.metric == "ndcg@10"}
    assert {name: run.data.metrics["ndcg_at_10"] for name, run in last.items()} == expected
    worst = last["all-words"].data
    assert worst.params["verdict"] == "regressed, by more than 0.01"
    assert worst.params["definition/ndcg_at_10"] == "a9caf641b91c ndcg@10"
    history = client.get_metric_history(last["all-words"].info.run_id, "ndcg_at_10")
    assert [point.step for point in history] == [2]
    by_filter = "tags.`decision/general-first` = 'ship' and tags.metric = 'ndcg@10'"
    assert len(client.search_runs([experiment.experiment_id], by_filter)) == 2, "the obvious filter finds the nights"
    assert "`ndcg_at_10` is ndcg@10" in experiment.tags["mlflow.note.content"]
    names = {item.path for item in client.list_artifacts(parents[1].info.run_id)}
    assert names == {"report.html", "bundle.json", "query_scores.parquet", "comparison.json"}
    digests = {item.dataset.digest for item in parents[1].inputs.dataset_inputs}
    assert digests > {row["digest"] for row in read_bundle(finished[1].bundle).inputs}
    assert [name for name in experiment.tags if name.startswith("mlflow.sharedViewState.")]


def test_versions_are_logged_once_per_judgments(two_nights: Nights) -> None:
    output, *_ = two_nights
    client, experiment = logged_to(output)
    models = client.search_logged_models([experiment.experiment_id])
    assert sorted(model.name for model in models) == sorted(
        ["body-only", "name-weighted", "general-first", "all-words"]
    )
    for model in models:
        keys = [metric.key for metric in model.metrics]
        assert len(keys) == len(set(keys)), "one value for each metric, though there were two nights"
        assert "ndcg_at_10" in keys


def test_publishing_again_adds_nothing(two_nights: Nights) -> None:
    from ndcg_ab.trackers import tracker_for_bundle

    output, finished, _ = two_nights
    client, experiment = logged_to(output)
    before = len(client.search_runs([experiment.experiment_id]))
    again = tracker_for_bundle(None, finished[0].bundle).publish(finished[0].bundle)
    assert not again.new
    assert again.url == finished[0].published["url"]
    assert len(client.search_runs([experiment.experiment_id])) == before


def test_prefect_has_the_decision_as_the_state_of_a_run_without_a_gate(two_nights: Nights) -> None:
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        found = [run for run in client.read_flow_runs() if run.name.startswith("demo 20") and run.state.is_completed()]
    assert len(found) == 2, "by the command, and in this process"
    for run in found:
        assert run.state.message.startswith("✓ ship general-first (")
        assert re.fullmatch(
            r"demo 20\S+ \S+: ✓ ship general-first \+0\.\d{4} ndcg@10; .*; do not ship all-words", run.name
        )


def test_a_half_published_bundle_is_published_whole(two_nights: Nights, tmp_path: Path) -> None:
    from ndcg_ab.trackers import tracker_for_bundle
    from ndcg_ab.trackers.mlflow.values import COMPLETE

    output, finished, _ = two_nights
    client, experiment = logged_to(output)
    key = read_bundle(finished[1].bundle).key
    (parent,) = [
        run
        for run in client.search_runs([experiment.experiment_id], f"tags.bundle_key = '{key}'")
        if run.data.tags["kind"] == "comparison"
    ]
    client.delete_tag(parent.info.run_id, COMPLETE)
    assert tracker_for_bundle(None, finished[1].bundle).publish(finished[1].bundle).new
    found = client.search_runs([experiment.experiment_id], f"tags.bundle_key = '{key}'")
    assert sorted(run.data.tags["kind"] for run in found) == ["comparison"] + ["system"] * 4


@pytest.mark.parametrize("broken", mostly_soaked(["judgments", "parity"], kept=["judgments"]))
def test_a_failed_run_leaves_nothing_behind(
    broken: str, server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes: dict[str, object] = {}
    expected: type[Exception] = InputError
    if broken == "judgments":
        (tmp_path / "bad.tsv").write_text("query_id\tdoc_id\tgrade\nq01\tcsv\tthree\n")
        changes["judgments"] = {"file": tmp_path / "bad.tsv"}
    else:
        expected = ParityError

        def disagree(*_: object) -> int:
            raise ParityError("planted")

        monkeypatch.setattr(stages, "recompute_sample", disagree)
    with pytest.raises(expected) as caught:
        run_evaluation(demo(tmp_path / "results", **changes))
    assert ("bad.tsv, line 2: grade = 'three'" if broken == "judgments" else "planted") in str(caught.value)
    assert not [path for path in (tmp_path / "results").rglob("*") if path.is_file()]


def test_the_command_from_beginning_to_end(two_nights: Nights) -> None:
    said, errors = two_nights.said
    assert "Traceback" not in errors
    for words in ("✗ do not ship", "✓ ship", "regressed", "report.html", "MLflow run  http://127.0.0.1:5000/#/"):
        assert words in said
    start = re.search(r"first start  MLFLOW_\S+ \S*mlflow server --backend-store-uri sqlite:///", said)
    assert start and start.start() < said.index("MLflow run"), "links come after what they need"
    text = (two_nights.finished[0].bundle / "report.html").read_text()
    assert "undecided" in text


@pytest.mark.filterwarnings("ignore:Logger 'prefect.task_runs'")  # `check` is no flow
def test_a_run_leaves_no_secret_anywhere(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not in a file, in MLflow's store, in Prefect's database, on a stream; all are named by reference."""
    from prefect.blocks.system import Secret
    from prefect.settings import PREFECT_API_DATABASE_CONNECTION_URL, PREFECT_API_URL

    Secret(value=PLANTED["block"]).save("planted")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    config = planted_config(tmp_path, str(PREFECT_API_URL.value()), monkeypatch)
    prefect = Path(str(PREFECT_API_DATABASE_CONNECTION_URL.value()).partition(":///")[2]).parent
    streams = {}
    output = with_store(config.parent / "out")

    def invoke(code: int, *arguments: str) -> str:
        found = CliRunner().invoke(app, arguments)
        streams[f"stdout of {arguments}"], streams[f"stderr of {arguments}"] = found.stdout, found.stderr
        assert found.exit_code == code, found.output
        return found.output

    invoke(0, "check", str(config))
    assert "logging is pending" in invoke(75, "run", str(config))
    (folder,) = (output / "planted").glob("2*")
    assert "is not trusted" in invoke(2, "publish", str(folder))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{output / 'mlflow.db'}")
    invoke(0, "publish", str(folder))
    arguments = json.loads((folder / "bundle.json").read_text())["evaluation"]["systems"][1]["arguments"]
    assert arguments["headers"]["X-Key"] == {"env": "PLANTED_ENV"}
    assert "refused" in invoke(2, "run", str(config), "--set", "systems.new.arguments.is_silent=true")
    files = everything_below(output)
    databases = everything_below(prefect)
    assert any("searching with" in text for text in databases.values()), "what was logged is in Prefect's database"
    assert any("mlruns" in place and place.endswith("bundle.json") for place in files)
    assert found_in(files | databases | streams, PLANTED) == []


@pytest.mark.soak
def test_a_database_that_restarts_in_the_midst_of_a_pull_is_asked_again(server: str, tmp_path: Path) -> None:
    rows = [line.split() for line in (DATA / "judgments.qrels").read_text().splitlines()]
    values = ", ".join(f"('{query}', '{document}', {grade})" for query, _, document, grade in rows)
    table = f"create table judgment (query_id text, doc_id text, grade int); insert into judgment values {values}"
    slowly = f"select query_id, doc_id, grade from judgment where pg_sleep({3 / len(rows)}) is not null"
    with servers.postgresql() as folder:
        subprocess.run(["psql", "-h", str(folder), "-U", "postgres", "-c", table], check=True, capture_output=True)
        judgments = {"database": f"postgresql://postgres@/postgres?host={folder}", "query": slowly}
        prefect = {"retries": 2, "retry_seconds": 0.5}
        asked = "query like '%pg_sleep%' and state = 'active' and pid <> pg_backend_pid()"
        running = f"select count(*) from pg_stat_activity where {asked}"
        count = ["psql", "-h", str(folder), "-U", "postgres", "-Atc", running]

        def restart_once_it_runs() -> None:
            while subprocess.run(count, check=True, capture_output=True, text=True).stdout.strip() == "0":
                time.sleep(0.05)
            servers.restart_postgresql(folder, "fast")

        restart = threading.Thread(target=restart_once_it_runs, daemon=True)

        def say(step: str) -> None:
            if step.startswith("pull judgments"):
                restart.start()

        finished = run_evaluation(small(with_store(tmp_path), judgments=judgments, prefect=prefect), say)
        assert "terminating connection due to administrator command" in (folder / "log").read_text()
    assert finished.unobserved is None
    assert read_bundle(finished.bundle).inputs[0]["rows"] == len(rows)
