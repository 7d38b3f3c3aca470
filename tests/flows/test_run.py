"""A run: what is tried again or given up, when Prefect is asked for, one that fails or hangs, and the events of a run.

Nobody waits for ever, and nothing is done twice. The `message` that automations are sent can be posted as it is.
"""

import dataclasses
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ndcg_ab.config.environment import prepare_environment
from ndcg_ab.config.model.operation import Prefect
from ndcg_ab.errors import InputError, ParityError, UnavailableError
from ndcg_ab.flows import run
from ndcg_ab.flows.events import events_of
from ndcg_ab.history import bundle as bundles
from ndcg_ab.pipeline.context import Context, Stage
from ndcg_ab.pipeline.pulls import pull_ranking
from ndcg_ab.pipeline.stages import run_stages, score_all
from ndcg_ab.pipeline.store import Store
from ndcg_ab.report import bundle_files
from ndcg_ab.results.outcome import GateResult
from ndcg_ab.results.wording import SECONDARY
from ndcg_ab.runs.run import STAGES, perform_patiently, publish
from tests.commands import invoke
from tests.ndcg_ab.comparing.test_since_last import moved_system
from tests.ndcg_ab.report.test_decision_summary import outcome
from tests.paths import ROOT
from tests.repeated import mostly_soaked
from tests.slow.broken_servers import configuration, dripping
from tests.small_evaluation import calling, no_tracker, plain_page, rows_of, small

prepare_environment()
URL = "http://127.0.0.1:1/api"


def pull(tmp_path: Path, errors: list[Exception], **prefect: Any) -> tuple[list[str], list[str], str | None]:
    """A pull that raises these errors one after the other and then answers: what was called and said, what it gave."""
    called: list[str] = []
    said: list[str] = []

    def ask(_: Context, part: str) -> str:
        called.append(part)
        if len(called) <= len(errors):
            raise errors[len(called) - 1]
        return "42 results"

    evaluation = small(tmp_path, prefect={"retry_seconds": 0, **prefect})
    context = Context(evaluation, Store(evaluation), said.append)
    try:
        found = perform_patiently(Stage("pull {name}", ask, outside=True), context, "bm25")
        assert context.done == {("pull {name}", "bm25")} and context.error is None
    except Exception as error:
        assert context.error is error and not context.done
        assert type(error) is type(errors[-1]) and str(error) == str(errors[-1])
        found = None
    return called, said, found


def test_a_place_that_does_not_answer_is_asked_again(tmp_path: Path) -> None:
    silent = [UnavailableError("the server does not answer"), TimeoutError("later")]
    assert pull(tmp_path, silent) == (
        ["bm25"] * 3,
        ["pull bm25: tried again in 0 s (the server does not answer)", "pull bm25: tried again in 0 s (later)"],
        "42 results",
    )


@pytest.mark.parametrize(
    ("errors", "calls"),
    [([InputError("grade = 'three'")], 1), ([ParityError("they differ")], 1), ([UnavailableError("away")] * 9, 3)],
)
def test_what_will_not_mend_itself_is_raised(errors: list[Exception], calls: int, tmp_path: Path) -> None:
    called, _, found = pull(tmp_path, errors)
    assert (len(called), found) == (calls, None)


def test_what_stays_inside_is_called_once(tmp_path: Path) -> None:
    called: list[str] = []

    def fail(_: Context, part: str) -> None:
        called.append(part)
        raise OSError("a disk")

    evaluation = small(tmp_path)
    with pytest.raises(OSError, match="a disk"):
        perform_patiently(Stage("score", fail), Context(evaluation, Store(evaluation)), "")
    assert called == [""]


def test_publishing_is_tried_again_once() -> None:
    assert [publish.retries(Prefect(retries=retries)) for retries in (0, 1, 5)] == [0, 1, 1]
    assert (pull_ranking.retries(Prefect(retries=5)), score_all.retries(Prefect(retries=5))) == (5, 0)


def test_a_pull_that_takes_too_long_is_given_up_at_once(tmp_path: Path) -> None:
    """It may still be at work, so that it is not called again."""
    calls: list[str] = []

    def hang(_: Context, part: str) -> None:
        calls.append(part)
        threading.Event().wait(2)

    evaluation = small(tmp_path, prefect={"timeout_seconds": 0.05})
    context = Context(evaluation, Store(evaluation))
    with pytest.raises(InputError, match=r"prefect\.timeout_seconds = 0\.05: a pull took longer and was given up"):
        perform_patiently(Stage("pull {name}", hang, outside=True), context, "bm25")
    assert calls == ["bm25"]


def test_stages_that_talk_to_the_outside_say_so() -> None:
    assert publish in STAGES
    assert sum(stage.outside for stage in STAGES) > 4


# ---- whether a Prefect server is named

NAMED = {
    "nowhere": ({}, {}, {}, False),
    "in the configuration": ({"api_url": "http://127.0.0.1:1/api"}, {}, {}, True),
    "temporary": ({"server": "temporary"}, {}, {}, True),
    "in the environment": ({}, {"PREFECT_API_URL": "http://127.0.0.1:1/api"}, {}, True),
    "by an empty variable": ({}, {"PREFECT_API_URL": ""}, {}, False),
    "in the profile that is used": (
        {},
        {},
        {"home/profiles.toml": 'active = "a"\n[profiles.a]\nPREFECT_API_URL = "http://127.0.0.1:1/api"\n'},
        True,
    ),
    "in another profile": (
        {},
        {},
        {
            "home/profiles.toml": 'active = "b"\n[profiles.a]\nPREFECT_API_URL = "http://127.0.0.1:1/api"\n'
            "[profiles.b]\n"
        },
        False,
    ),
    "in .env": ({}, {}, {".env": "PREFECT_API_URL=http://127.0.0.1:1/api\n"}, False),
}
ASK = (
    "import sys\nfrom ndcg_ab.config.loading.file import read_config\nfrom pathlib import Path\n"
    "from ndcg_ab.flows.run import is_server_named\n"
    "print(is_server_named(read_config(Path(sys.argv[1]), ())), 'prefect' in sys.modules)"
)


@pytest.mark.parametrize("case", [name for name in NAMED if "profile" not in name])
def test_a_server_is_named(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prefect, environment, _, named = NAMED[case]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "home"))
    monkeypatch.delitem(sys.modules, "prefect", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert run.is_server_named(small(tmp_path, prefect=prefect)) == named


def test_files_of_a_prefect_that_is_not_installed_name_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "prefect.toml").write_text('[api]\nurl = "http://127.0.0.1:1/api"\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(run, "find_spec", lambda name: None)
    assert not run.is_server_named(small(tmp_path))
    assert run.is_server_named(small(tmp_path, prefect={"api_url": "http://127.0.0.1:1/api"}))


@pytest.mark.parametrize(
    ("name", "text", "may"),
    [
        ("profiles.toml", 'PREFECT_API_URL = "http://127.0.0.1:4200/api"', True),
        ("profiles.toml", 'active = "ephemeral"\n[profiles.ephemeral]\n', False),
        ("prefect.toml", "[logging]\n", False),
    ],
)
def test_a_file_may_name_a_server(name: str, text: str, may: bool, tmp_path: Path) -> None:
    assert not run.may_name_server(tmp_path / name)
    (tmp_path / name).write_text(text)
    assert run.may_name_server(tmp_path / name) == may


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", mostly_soaked([name for name in NAMED if "profile" in name], kept=["in the profile that is used"])
)
def test_prefect_is_asked_where_its_files_may_name_one(case: str, tmp_path: Path) -> None:
    _, _, files, named = NAMED[case]
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    config = configuration(small(tmp_path), tmp_path)
    environment = os.environ | {"PREFECT_HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", ASK, str(config)]
    found = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert found.stdout.split()[0] == str(named), found.stderr


@pytest.mark.slow
def test_the_flow_does_every_stage_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    from ndcg_ab.flows import evaluation

    done: list[Any] = []
    monkeypatch.setattr("ndcg_ab.runs.run.run_stages", lambda _run, stages, _call: done.extend(stages))
    evaluation.perform_remaining_stages(type("Run", (), {"bundle": Path()})(), evaluation.perform_as_task)
    assert "perform_remaining_stages" in evaluation.evaluation_flow.fn.__code__.co_names and done == list(STAGES)


@pytest.fixture
def flow(monkeypatch: pytest.MonkeyPatch) -> Callable[[str | None, Exception], None]:
    """Puts a flow in the place of ours, which performs the stages until one of a name and fails then."""
    from ndcg_ab.flows import evaluation, observed

    monkeypatch.setattr(observed, "server_for_run", lambda: (URL, None))
    monkeypatch.setattr(observed, "report_if_stopped", lambda run, _: run)
    monkeypatch.setattr(bundle_files, "write_report", plain_page)
    monkeypatch.setattr(run, "perform_patiently", calling(publish=no_tracker))

    def fail_after(step: str | None, error: Exception) -> None:
        def failing(*_: Any, **__: Any) -> None:
            run: Any = evaluation.OPENED.get()
            names = [stage.name for stage in STAGES]
            run_stages(run, STAGES[: names.index(step) + 1] if step else ())
            raise error

        monkeypatch.setattr(observed, "evaluation_flow", failing)

    return fail_after


@pytest.mark.slow
@pytest.mark.parametrize("step", [None, "score", "write results and history"])
def test_what_is_done_when_prefect_fails_stays_done(
    step: str | None, flow: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pulled: list[str] = []
    pull = pull_ranking.run

    def counting(context: Context, part: str) -> str | None:
        pulled.append(part)
        return pull(context, part)

    monkeypatch.setitem(pull_ranking.__dict__, "run", counting)
    flow(step, ConnectionError("nobody there"))
    evaluation = small(tmp_path, prefect={"api_url": URL})
    said: list[str] = []
    finished = run.run_evaluation(evaluation, said.append, force=True)
    assert finished.unobserved == "ConnectionError: nobody there"
    assert "going on without Prefect (ConnectionError: nobody there)" in said
    assert pulled == ["old", "new"], "once, by the flow or without it"
    assert rows_of(evaluation, "select ordinal from evaluation") == [(1,)], "neither lost nor doubled"
    assert bundles.read_bundle(finished.bundle).outcome == finished.outcome


@pytest.mark.slow
def test_an_error_of_a_stage_is_no_fault_of_prefect(flow: Any, tmp_path: Path) -> None:
    """Whatever Prefect makes of it."""
    (small(tmp_path, prefect={"api_url": URL}).directory / "new.run").write_text("q01 Q0 csv 1 three new\n")
    flow("score", ConnectionError("nobody there"))
    with pytest.raises(InputError, match="three"):
        run.run_evaluation(small(tmp_path, prefect={"api_url": URL}))


@pytest.mark.slow
def test_a_prefect_that_answers_byte_by_byte_is_not_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    from ndcg_ab.flows import observed

    monkeypatch.setattr(observed, "PATIENCE", 1.0)
    began = time.monotonic()
    with dripping() as port:
        assert str(observed.explain_no_answer(f"http://127.0.0.1:{port}/api")).endswith("does not answer in 1 s")
    assert time.monotonic() - began < 3


FAILED = (
    GateResult("no regression", False, "new against old, ndcg@2: regressed (-0.3691)", ("new",)),
    GateResult("judged", False, "new: 20 % judged on ndcg@2, 50 % must be", ("new",)),
    GateResult("unanswered", True, "no system leaves more than 3 queries unanswered"),
)


def test_failed_gates_stand_one_a_line(tmp_path: Path) -> None:
    found = dataclasses.replace(outcome("good", new="bad"), gates=FAILED)
    failed, regressed = events_of(small(tmp_path), {"bundle": "b"}, found, None)
    assert failed["payload"]["message"].splitlines() == [
        "small: ✗ new regressed, 1 more (gate failed); do not ship new -0.3691 ndcg@2",
        "no regression: new against old, ndcg@2: regressed (-0.3691)",
        "judged: new: 20 % judged on ndcg@2, 50 % must be",
    ]
    assert list(failed["payload"]["gates"]) == ["no regression", "judged"]
    assert regressed["payload"]["message"].startswith("small: new regressed against old, ndcg@2 -0.3691 [")
    assert failed["payload"]["bundle"] == regressed["payload"]["bundle"] == "b"


def test_of_what_only_describes_nothing_is_sent(tmp_path: Path) -> None:
    found = outcome("good", new="bad")
    described = [dataclasses.replace(row, family=SECONDARY, exploratory=True) for row in found.comparisons]
    assert list(events_of(small(tmp_path), {}, dataclasses.replace(found, comparisons=tuple(described)), None)) == []


def test_a_drop_says_what_caused_it(tmp_path: Path) -> None:
    found = moved_system(-0.3)
    wide = {"simultaneous_low": -0.5, "simultaneous_high": -0.1}  # together with other systems
    found = dataclasses.replace(found, comparisons=tuple(dataclasses.replace(row, **wide) for row in found.comparisons))
    *_, drop = events_of(small(tmp_path), {}, outcome("good"), found)
    row = found.dropped[0]
    figures = f"{row.metric} {row.difference:+.4f} [-0.5000, -0.1000]"
    assert drop["payload"]["message"] == f"small: new dropped since evaluation 6, {figures}; changed: ranking"


@pytest.mark.parametrize(("failed", "code"), [([GateResult("no_regression", False, "new regressed")], 1), ([], 75)])
def test_a_failed_gate_is_told_before_what_is_pending(
    failed: list[GateResult], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = SimpleNamespace(failures=failed, to_json=dict)
    done = SimpleNamespace(bundle=tmp_path, outcome=outcome, pending="away", is_full=False, unobserved=None)
    monkeypatch.setattr(run, "run_evaluation", lambda *_, **__: done)
    assert invoke(["run", str(configuration(small(tmp_path), tmp_path)), "--quiet"]).exit_code == code
