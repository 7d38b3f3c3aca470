"""A Prefect that fails or hangs, and work that is given up: nobody waits for ever, and nothing is done twice."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ndcg_ab.config.environment import prepare_environment
from ndcg_ab.errors import InputError
from ndcg_ab.flows import run as flows_run
from ndcg_ab.flows.run import run_evaluation
from ndcg_ab.history import bundle as bundles
from ndcg_ab.pipeline.context import Context
from ndcg_ab.pipeline.pulls import pull_ranking
from ndcg_ab.pipeline.stages import run_stages
from ndcg_ab.report import bundle_files
from ndcg_ab.runs.run import STAGES
from tests.slow.broken_servers import dripping
from tests.small_evaluation import calling, no_tracker, plain_page, rows_of, small

prepare_environment()
pytestmark = pytest.mark.slow  # imports Prefect
URL = "http://127.0.0.1:1/api"


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
    monkeypatch.setattr(flows_run, "perform_patiently", calling(publish=no_tracker))

    def fail_after(step: str | None, error: Exception) -> None:
        def failing(*_: Any, **__: Any) -> None:
            run: Any = evaluation.OPENED.get()
            names = [stage.name for stage in STAGES]
            run_stages(run, STAGES[: names.index(step) + 1] if step else ())
            raise error

        monkeypatch.setattr(observed, "evaluation_flow", failing)

    return fail_after


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
    finished = run_evaluation(evaluation, said.append, force=True)
    assert finished.unobserved == "ConnectionError: nobody there"
    assert "going on without Prefect (ConnectionError: nobody there)" in said
    assert pulled == ["old", "new"], "once, by the flow or without it"
    assert rows_of(evaluation, "select ordinal from evaluation") == [(1,)], "neither lost nor doubled"
    assert bundles.read_bundle(finished.bundle).outcome == finished.outcome


def test_an_error_of_a_stage_is_no_fault_of_prefect(flow: Any, tmp_path: Path) -> None:
    """Whatever Prefect makes of it."""
    (small(tmp_path, prefect={"api_url": URL}).directory / "new.run").write_text("q01 Q0 csv 1 three new\n")
    flow("score", ConnectionError("nobody there"))
    with pytest.raises(InputError, match="three"):
        run_evaluation(small(tmp_path, prefect={"api_url": URL}))


def test_a_prefect_that_answers_byte_by_byte_is_not_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    from ndcg_ab.flows import observed

    monkeypatch.setattr(observed, "PATIENCE", 1.0)
    began = time.monotonic()
    with dripping() as port:
        assert str(observed.explain_no_answer(f"http://127.0.0.1:{port}/api")).endswith("does not answer in 1 s")
    assert time.monotonic() - began < 3
