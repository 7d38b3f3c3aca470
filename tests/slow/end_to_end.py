"""An evaluation in the hands of a real Prefect server and a real worker, step by step:

    python tests/slow/end_to_end.py [STORES] [--daily]

--daily: one run, and another that is cancelled beside it; without what other tests show of functions or repeats for
confidence: a pool that is not there, a gate that passes, deployed again while paused, `serve`.
STORES: a folder with an empty prefect.db and mlflow.db to begin with; without it they are made, which takes seconds.
Everything lives on loopback and in a temporary folder, and is ended and removed whatever happens.
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parent.parent / "data"
PATIENCE = 60.0  # seconds that anything may take
FINAL = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}

ENGINE = '''"""An engine that fails twice, and then answers with a file, as soon as the file `go` is there."""
import time
from pathlib import Path

HERE = Path(__file__).parent


def search(queries, file="old.run"):
    tries = HERE / "tries"
    tries.write_text(tries.read_text() + "x" if tries.exists() else "x")
    if len(tries.read_text()) < 3:
        raise TimeoutError("nobody there")
    (HERE / "asked").touch()
    for _ in range(600):
        if (HERE / "go").exists():
            break
        time.sleep(0.1)
    rows = [line.split() for line in (HERE / file).read_text().splitlines()]
    return {query: [(row[2], float(row[4])) for row in rows if row[0] == query] for query in queries}
'''
CONFIG = """
name: {name}
judgments: judgments.qrels
queries: queries.tsv
systems: [{{name: old, file: old.run}}, {{name: new, version: "7", {source}}}]
metrics: [ndcg@5]
output: results
gate: {{no_regression: true}}
prefect: {{retries: 2, retry_seconds: 0.2}}
{schedule}
"""
NIGHTLY = "schedule: {cron: 0 2 * * *, timezone: Europe/Berlin}"


class Lab:
    """The temporary folder, the environment of every process in it, and the server's API."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = str(free.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}/api"
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "MLFLOW_"))}
        self.environment = clean | {
            "PREFECT_HOME": str(folder / "prefect"),
            "PREFECT_API_URL": self.url,
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "PREFECT_SERVER_DATABASE_CONNECTION_TIMEOUT": "60",  # of SQLite: on a busy machine it is locked for longer
            "PREFECT_SERVER_DATABASE_TIMEOUT": "60",
            "PREFECT_SERVER_UI_ENABLED": "false",
            "PREFECT_RUNNER_POLL_FREQUENCY": "1",
            "PREFECT_WORKER_QUERY_SECONDS": "0.5",
            "DO_NOT_TRACK": "true",
            "PYTHONUNBUFFERED": "1",
        }

    def api(self, path: str, body: Any = None) -> Any:
        """What the server answers; a server that is busy is asked again."""
        content = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, content, {"content-type": "application/json"})
        for left in reversed(range(10)):
            try:
                with urllib.request.urlopen(request, timeout=30) as answer:
                    return json.loads(answer.read() or b"null")
            except (urllib.error.HTTPError, TimeoutError) as error:
                if getattr(error, "code", 503) != 503 or not left:
                    raise
                time.sleep(1)
        return None

    def command(self, *words: str, code: int = 0) -> str:
        """Runs a module's command; its output. Another exit code than expected ends everything."""
        shown = ["ndcg-ab" if word == "ndcg_ab.flows.cli.main" else word for word in words]
        print(f"  $ {' '.join(shown)}")
        found = subprocess.run(
            [sys.executable, "-m", *words],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE,
            check=False,
        )
        expect(f"exit code {code}", found.returncode == code, found.stdout + found.stderr)
        return found.stdout + found.stderr

    @contextlib.contextmanager
    def process(self, *words: str) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
        """A process that runs meanwhile, and its output; ended at the end with all that it started."""
        log = self.folder / f"{words[-1].strip('-')}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", *words],
                cwd=self.folder,
                env=self.environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            yield process, log
        except BaseException:
            print(f"--- the end of {log.name}:\n" + "\n".join(log.read_text().splitlines()[-30:]))
            raise
        finally:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def deployment(self, name: str) -> Any:
        return self.api(f"/deployments/name/ndcg-ab/{name}")

    def trigger(self, name: str, parameters: Any) -> str:
        """Asks for a run, as the button in Prefect's pages does; its id."""
        body = {"parameters": parameters, "state": {"type": "SCHEDULED"}}
        return str(self.api(f"/deployments/{self.deployment(name)['id']}/create_flow_run", body)["id"])

    def ended(self, run: str) -> Any:
        wait_until(f"run {run[:8]}", lambda: self.api(f"/flow_runs/{run}")["state"]["type"] in FINAL)
        return self.api(f"/flow_runs/{run}")

    def events(self, name: str) -> list[Any]:
        body = {"filter": {"event": {"name": [name]}, "occurred": {"since": "2020-01-01T00:00:00Z"}}}
        found = self.api("/events/filter", body)["events"]
        return [event for event in found if event["event"] == name]


def expect(what: str, holds: bool, seen: object = "") -> None:
    if not holds:
        raise SystemExit(f"  NO  {what}\n{seen}")
    print(f"  ok  {what}")


def wait_until(what: str, until: Callable[[], Any]) -> Any:
    """What `until` gives as soon as that is something."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            if found := until():
                return found
        time.sleep(0.3)
    raise SystemExit(f"  NO  {what}: nothing in {PATIENCE:.0f} seconds")


def prepare(folder: Path) -> None:
    """Candidates that regressed or are as good, with and without a schedule."""
    for path in DATA.iterdir():
        shutil.copy(path, folder)
    rows = [line.split() for line in (folder / "old.run").read_text().splitlines()]
    found_last = ("", "unknown-")  # of five documents the last is judged
    lost = [f"{row[0]} Q0 {found_last[row[3] != '5']}{row[2]} {row[3]} {row[4]} new" for row in rows]
    (folder / "lost.run").write_text("\n".join(lost) + "\n")
    (folder / "waiting_engine.py").write_text(ENGINE)
    (folder / "flows").mkdir()
    (folder / "flows" / "__init__.py").write_text('raise ImportError("somebody else\'s flows")\n')
    waiting = 'python: "waiting_engine:search"'
    losing = f"{waiting}, arguments: {{file: lost.run}}"
    for name, source, schedule in (("worse", losing, NIGHTLY), ("same", waiting, NIGHTLY), ("laptop", waiting, "")):
        (folder / f"{name}.yaml").write_text(CONFIG.format(name=name, source=source, schedule=schedule))


def check_deployment(lab: Lab) -> None:
    print("The deployment, as the server has it")
    found = lab.deployment("worse")
    (schedule,) = found["schedules"]
    expect("cron 0 2 * * *", schedule["schedule"]["cron"] == "0 2 * * *", schedule)
    expect("in the time zone Europe/Berlin", schedule["schedule"]["timezone"] == "Europe/Berlin", schedule)
    limit, strategy = found["global_concurrency_limit"]["limit"], found["concurrency_options"]["collision_strategy"]
    expect("one run at a time, a second is cancelled", (limit, strategy) == (1, "CANCEL_NEW"), found)
    expect("tags ndcg-ab and baseline:old", set(found["tags"]) == {"ndcg-ab", "baseline:old"}, found["tags"])
    schema = found["parameter_openapi_schema"]
    expect("parameters evaluation, force, at", set(schema["properties"]) == {"evaluation", "force", "at"}, schema)
    entrypoint = "ndcg_ab.flows.evaluation.evaluation_flow"
    expect(f"entrypoint {entrypoint}", found["entrypoint"] == entrypoint, found["entrypoint"])

    def planned() -> list[Any]:
        only = {
            "deployments": {"id": {"any_": [found["id"]]}},
            "flow_runs": {"state": {"type": {"any_": ["SCHEDULED"]}}},
        }
        return list(lab.api("/flow_runs/filter", only))

    nights = wait_until("planned nights", planned)
    expect(f"the server has planned the next {len(nights)} nights", len(nights) >= 3, nights)

    print("A run with parameters that cannot be")
    evaluation = found["parameters"]["evaluation"]
    try:
        lab.trigger("worse", {"evaluation": evaluation | {"metrics": []}})
        said = "nothing"
    except urllib.error.HTTPError as error:
        said = error.read().decode()
    expect("is refused, and the field is named", "evaluation.metrics" in said, said)
    print(f"      {json.loads(said).get('detail', said)}")


def check_overlap(lab: Lab) -> Any:
    """The first run, when it has ended."""
    print("A night that is still at work when it is due again")
    first = lab.trigger("worse", {"force": True})
    wait_until("the engine to be asked", (lab.folder / "asked").exists)
    tries = (lab.folder / "tries").read_text()
    expect("the engine that timed out twice was asked a third time", tries == "xxx", tries)
    second = lab.ended(lab.trigger("worse", {"force": True}))
    expect("the second run is Cancelled", second["state_name"] == "Cancelled", second)
    print(f"      {second['state']['message']}")
    (lab.folder / "go").touch()
    return lab.ended(first)


def check_gate(lab: Lab, run: Any) -> None:
    print("In it the candidate regressed")
    expect(
        "the state is GateFailed, of type Failed",
        (run["state_name"], run["state_type"]) == ("GateFailed", "FAILED"),
        run["state"],
    )
    expect("its message says why", "new against old, ndcg@5: regressed" in run["state"]["message"], run["state"])
    expect(f"the run is called {run['name']}", run["name"].startswith("worse 20"), run["name"])
    expect("it has the deployment's tags", {"ndcg-ab", "baseline:old"} <= set(run["tags"]), run["tags"])
    expect("and the parameter that was asked for", run["parameters"]["force"] is True, run["parameters"])
    rows = lab.api("/artifacts/filter", {"artifacts": {"flow_run_id": {"any_": [run["id"]]}}})
    artifacts = {row["key"]: row["data"] for row in rows}
    keys = {"worse-verdicts", "worse-decisions", "worse-mlflow"}
    expect(f"artifacts {', '.join(sorted(keys))}", set(artifacts) == keys, list(artifacts))
    (verdict,) = json.loads(artifacts["worse-verdicts"])
    expect("the table begins with the decision", list(verdict.values())[:2] == ["? judge more results", "new"], verdict)
    expect("and has the verdict", verdict["verdict"].startswith("▼ regressed"), verdict)
    note = artifacts["worse-decisions"]
    begin = "### ? judge more results: new\n"
    expect("the note begins with the decision", note.startswith(begin), note)
    expect("and has the gate", "✗ gate failed: no regression" in note, note)
    expect("the link leads to MLflow", "workflowType=machine_learning" in artifacts["worse-mlflow"])
    (failed,) = wait_until("event", lambda: lab.events("ndcg-ab.gate.failed"))
    expect("event ndcg-ab.gate.failed", "no regression" in failed["payload"]["gates"], failed)
    expect("of the evaluation", failed["resource"]["prefect.resource.id"] == "ndcg-ab.evaluation.worse", failed)
    (regressed,) = wait_until("event", lambda: lab.events("ndcg-ab.verdict.regressed"))
    expect("event ndcg-ab.verdict.regressed", regressed["payload"]["difference"] < 0, regressed)
    expect("of the system", regressed["resource"]["prefect.resource.id"] == "ndcg-ab.system.worse.new", regressed)
    related = {row["prefect.resource.id"] for row in regressed["related"]}
    expect("both know their flow run", f"prefect.flow-run.{run['id']}" in related, related)


def deploy(lab: Lab, is_daily: bool) -> None:
    if not is_daily:
        said = lab.command("ndcg_ab.flows.cli.main", "deploy", "worse.yaml", code=2)
        expect("a pool that is not there: how to make it", "prefect work-pool create local" in said, said)
    lab.api("/work_pools/", {"name": "local", "type": "process"})  # as `prefect work-pool create` asks for it
    print("Two deployments")
    print(lab.command("ndcg_ab.flows.cli.main", "deploy", "worse.yaml", "same.yaml").rstrip())


def check_pause(lab: Lab) -> None:
    print("Deployed again, while it is paused")
    found = lab.deployment("same")
    lab.api(f"/deployments/{found['id']}/pause_deployment", {})
    said = lab.command("ndcg_ab.flows.cli.main", "deploy", "same.yaml")
    expect("deploy says that it stays paused", "paused as it was" in said, said)
    expect("and so it is", lab.deployment("same")["paused"], said)
    lab.api(f"/deployments/{found['id']}/resume_deployment", {})


def check_serve(lab: Lab) -> None:
    print("Without a worker: ndcg-ab serve laptop.yaml")
    (lab.folder / "asked").unlink()
    with lab.process("ndcg_ab.flows.cli.main", "serve", "laptop.yaml") as (process, log):
        wait_until("serve", lambda: "Ctrl-C ends it" in log.read_text())
        expect("it says that there is no schedule", "it has no schedule and waits to be asked" in log.read_text())
        (lab.folder / "prefect.toml").write_text("no settings")  # a run that read it would not begin
        run = lab.trigger("laptop", {})
        wait_until("the engine to be asked", (lab.folder / "asked").exists)
        (lab.folder / "prefect.toml").unlink()
        expect("a run that is asked for runs", lab.api(f"/flow_runs/{run}")["state_name"] == "Running")
        process.send_signal(signal.SIGTERM)
        expect("SIGTERM ends it with exit code 0", process.wait(PATIENCE) == 0, log.read_text())
        expect("without a traceback", "Traceback" not in log.read_text(), log.read_text())
        state = lab.api(f"/flow_runs/{run}")["state_name"]
        expect("what was running is Cancelled", state == "Cancelled", state)
        expect("the schedule is paused", lab.deployment("laptop")["paused"])
    left = [path.name for path in (lab.folder / "results").rglob("*.partial")]
    expect("nothing half-done is left", not left, left)


def main() -> None:
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="ndcg-ab-") as name:
        lab = Lab(Path(name))
        prepare(lab.folder)
        is_daily = "--daily" in sys.argv
        for stores in (Path(word) for word in sys.argv[1:] if word != "--daily"):
            for store, place in (("prefect.db", "prefect"), ("mlflow.db", "results")):
                (lab.folder / place).mkdir()
                shutil.copy(stores / store, lab.folder / place)
        print(f"A Prefect server on {lab.url}, and a worker")
        with lab.process("prefect", "server", "start", "--host", "127.0.0.1", "--port", lab.port):
            wait_until("the server", lambda: lab.api("/health"))
            deploy(lab, is_daily)
            with lab.process("prefect", "worker", "start", "--pool", "local"):
                check_deployment(lab)
                check_gate(lab, check_overlap(lab))
                if not is_daily:
                    check_pause(lab)
            if not is_daily:
                check_serve(lab)
    print(f"all as expected, in {time.monotonic() - began:.0f} seconds")


if __name__ == "__main__":
    main()
