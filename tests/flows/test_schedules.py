"""serve and deploy: what is registered, what is refused in one sentence, and all of it against a real server."""

import contextlib
import os
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock
from zoneinfo import ZoneInfo

import pytest
import yaml

from ndcg_ab.config.environment import prepare_environment
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.inputs.sources import PythonSource
from ndcg_ab.errors import InputError, UnavailableError
from ndcg_ab.sources import RANKING, pull_source
from tests.commands import invoke
from tests.paths import ROOT
from tests.repeated import mostly_soaked

prepare_environment()

CONFIG = """
name: {name}
judgments: {root}/tests/data/judgments.qrels
systems: [{{name: old, file: {root}/tests/data/old.run}}, {{name: new, file: {root}/tests/data/new.run}}]
guardrails: {{recall@5: 0.02}}
{more}
"""


def config(folder: Path, name: str = "t", more: str = "") -> str:
    path = folder / f"{name}.yaml"
    path.write_text(CONFIG.format(root=ROOT, name=name, more=more))
    return str(path)


def evaluation(**schedule: str) -> Evaluation:
    systems = [{"name": "old", "file": "old.run"}, {"name": "new", "file": "new.run"}]
    content: dict[str, object] = {"name": "t", "judgments": {"file": "q"}, "systems": systems}
    return Evaluation.model_validate(content | ({"schedule": schedule} if schedule else {}))


@pytest.mark.parametrize("command", ["serve", "deploy", "check", "run"])
@pytest.mark.parametrize("cron", ["99 2 * * *", "a b c d e", "0 25 * * *"])
def test_a_cron_that_never_comes_is_told_in_one_sentence(command: str, cron: str, tmp_path: Path) -> None:
    found = invoke([command, config(tmp_path, more=f"schedule: {{cron: {cron!r}}}")])
    assert found.exit_code == 2
    assert found.stderr.startswith(f"ndcg-ab: {tmp_path / 't.yaml'}: schedule.cron = {cron!r}: no moment fits it")
    assert found.stderr.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize("command", ["serve", "deploy"])
def test_a_server_is_needed(command: str, tmp_path: Path) -> None:
    found = invoke([command, config(tmp_path)])
    assert found.exit_code == 2
    assert "this needs a Prefect server: start one with `prefect server start`" in found.stderr
    assert found.stderr.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize("command", mostly_soaked(["serve", "deploy"], kept=["deploy"]))
def test_a_server_that_is_away_is_told_in_one_sentence(command: str, tmp_path: Path) -> None:
    path = config(tmp_path, more="prefect: {api_url: 'http://127.0.0.1:9/api'}")
    words = [sys.executable, "-m", "ndcg_ab.flows.cli.main", command, path]
    environment = os.environ | {"PREFECT_HOME": str(tmp_path / "prefect")}
    found = subprocess.run(words, capture_output=True, text=True, env=environment, cwd=ROOT, timeout=60, check=False)
    assert found.returncode == 2
    assert found.stderr.startswith("ndcg-ab: Prefect server: http://127.0.0.1:9/api does not answer")
    assert found.stderr.count("\n") == 1


def test_two_of_one_name_are_refused(tmp_path: Path) -> None:
    path = config(tmp_path)
    found = invoke(["deploy", path, path])
    assert found.exit_code == 2
    assert "another configuration has it too" in found.stderr


def test_two_servers_are_refused(tmp_path: Path) -> None:
    more = "prefect: {{api_url: 'http://127.0.0.1:{}/api'}}"
    found = invoke(["serve", config(tmp_path, "a", more.format(9)), config(tmp_path, "b", more.format(10))])
    assert found.exit_code == 2
    assert "name different servers" in found.stderr


def test_what_is_deployed() -> None:
    from ndcg_ab.flows.schedules import make_deployment

    made = make_deployment(evaluation(cron="0 2 * * *", timezone="Europe/Berlin"), "local")
    (schedule,) = made.schedules or ()
    assert (schedule.schedule.cron, schedule.schedule.timezone) == ("0 2 * * *", "Europe/Berlin")
    assert schedule.slug, "Prefect refuses to change a schedule without"
    assert (made.name, made.work_pool_name, made.entrypoint) == (
        "t",
        "local",
        "ndcg_ab.flows.evaluation.evaluation_flow",
    )
    assert made.tags == ["ndcg-ab", "baseline:old"]
    assert (made.concurrency_limit, made.concurrency_options.collision_strategy) == (1, "CANCEL_NEW")
    assert Evaluation.model_validate(made.parameters["evaluation"]) == evaluation(
        cron="0 2 * * *", timezone="Europe/Berlin"
    )
    assert "new against old" in (made.description or "")
    assert not make_deployment(evaluation()).schedules


def test_a_deployment_keeps_what_each_run_finds_for_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dates, patterns and secrets as they are written; other variables have the values of now."""
    from ndcg_ab.config.loading.file import read_config
    from ndcg_ab.flows.schedules import make_deployment

    monkeypatch.setenv("RUNS", "runs")
    monkeypatch.setenv("KEY", "s3cret")
    path = tmp_path / "c.yaml"
    path.write_text(
        "name: t\njudgments: q-{date}\nqueries: q.tsv\nbaseline: bm25\nsystems:\n"
        '- {name: "{stem}", file: "${RUNS}/{date}/*.run"}\n- {name: a, python: "a:b", arguments: {key: "${KEY}"}}\n'
    )
    given = make_deployment(read_config(path)).parameters["evaluation"]
    assert given["judgments"]["file"] == "q-{date}"
    assert [given["systems"][0][key] for key in ("name", "file")] == ["{stem}", "runs/{date}/*.run"]
    assert given["systems"][1]["arguments"] == {"key": "${KEY}"}
    assert Evaluation.model_validate(given) == read_config(path)


def test_a_server_that_does_not_answer_is_named_without_its_password() -> None:
    from ndcg_ab.flows.observed import explain_no_answer

    said = str(explain_no_answer("http://me:pl4in-w0rd@127.0.0.1:9/api?api_key=a1b2c3d4"))
    assert said.startswith("http://127.0.0.1:9/api?api_key=••• does not answer: ")
    assert "pl4in" not in said


def test_when_it_is_due_next() -> None:
    from ndcg_ab.flows.schedules import next_scheduled_time

    time = next_scheduled_time(evaluation(cron="0 2 * * *", timezone="Europe/Berlin"))
    now = datetime.now(ZoneInfo("Europe/Berlin"))
    assert time is not None
    assert now < time < now + timedelta(days=1, hours=2)
    assert (time.hour, time.minute, str(time.tzinfo)) == (2, 0, "Europe/Berlin")
    assert next_scheduled_time(evaluation()) is None
    with pytest.raises(InputError, match="no moment fits it"):
        next_scheduled_time(evaluation(cron="0 0 30 2 *"))


def test_prefect_yaml_says_what_the_demo_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parameters as Prefect fills them in, against the configuration; and what `deploy` makes of it."""
    from prefect.utilities.templating import apply_values

    from ndcg_ab.config.loading.file import read_config
    from ndcg_ab.flows.schedules import make_deployment

    monkeypatch.setenv("PWD", str(ROOT))
    content = yaml.safe_load((ROOT / "configs" / "prefect.yaml").read_text())
    (written,) = apply_values(content, os.environ)["deployments"]
    demo = read_config(ROOT / "configs" / "demo.yaml")
    given = Evaluation.model_validate(written["parameters"]["evaluation"])
    assert given == demo
    made = make_deployment(demo)
    assert (written["name"], set(written["tags"])) == (made.name, set(made.tags))
    assert written["concurrency_limit"] == {"limit": made.concurrency_limit, "collision_strategy": "CANCEL_NEW"}
    assert written["entrypoint"] == made.entrypoint


# what a function raises: whether the flow should ask again
RAISED = {
    "TimeoutError('nobody there')": True,
    "ConnectionResetError('gone')": True,
    "OSError('gone')": True,
    "__import__('urllib.error').error.URLError('gone')": True,
    "FileNotFoundError('index.bin')": False,
    "PermissionError('index.bin')": False,
    "KeyError('title')": False,
    "ValueError('title')": False,
}


@pytest.mark.parametrize("error", RAISED)
def test_a_place_that_does_not_answer_is_asked_again(error: str, tmp_path: Path) -> None:
    from prefect.states import Failed

    from ndcg_ab.flows.evaluation import should_retry

    name = f"silent{list(RAISED).index(error)}"
    (tmp_path / f"{name}.py").write_text(f"def search(queries):\n    raise {error}\n")
    with pytest.raises(InputError) as caught:
        pull_source(PythonSource(python=f"{name}:search"), RANKING, tmp_path, {"q": "text"})
    assert isinstance(caught.value, UnavailableError) == RAISED[error]
    assert str(caught.value).startswith(f"python = '{name}:search' failed: ")
    assert should_retry(None, None, Failed(data=caught.value)) == RAISED[error]


def client_of(monkeypatch: pytest.MonkeyPatch, there: object) -> None:
    """Put a server that has one deployment, or none, and no pool in the place of Prefect's."""
    from prefect.exceptions import ObjectNotFound

    from ndcg_ab.flows import schedules

    client = MagicMock()
    missing = ObjectNotFound(KeyError("none"))
    client.read_deployment_by_name.side_effect = [there] if there is not None else missing
    client.read_work_pool.side_effect = missing
    monkeypatch.setattr(schedules, "get_client", lambda **_: contextlib.nullcontext(client))


def test_a_pool_that_is_not_there_is_told_with_how_to_make_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is registered then: what has no workers would wait for ever."""
    from ndcg_ab.flows import schedules

    monkeypatch.setattr(schedules, "find_server", contextlib.nullcontext)
    client_of(monkeypatch, None)
    monkeypatch.setattr(schedules.RunnerDeployment, "apply", lambda *_: pytest.fail("it was registered"))
    with pytest.raises(InputError) as caught:
        schedules.deploy([evaluation()], "local")
    told = "--pool local: the Prefect server has no such work pool; create it with: prefect work-pool create local"
    assert str(caught.value) == f"{told} --type process"


@pytest.mark.parametrize(("paused", "active"), [(True, True), (False, False), (False, True), (None, None)])
def test_what_somebody_paused_is_not_made_active(
    paused: bool | None, active: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the deployment or of its schedule alone; against a real server: tests/slow/end_to_end.py."""
    from ndcg_ab.flows import schedules

    planned = SimpleNamespace(slug=schedules.SLUG, active=active)
    there = None if paused is None else SimpleNamespace(paused=paused, schedules=[planned])
    client_of(monkeypatch, there)
    made = schedules.make_deployment(evaluation(cron="0 2 * * *"), "local")
    assert schedules.preserve_pause(made) == (paused is True or active is False)
    assert bool(made.paused) == (paused is True)
    assert [schedule.active for schedule in made.schedules or ()] == [active is not False]
