"""A Prefect that hangs, and work that is given up: nobody waits for ever, and nothing is done twice."""

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from ndcg_ab.config.environment import prepare_environment
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.deadlines import OverdueError, run_with_timeout
from ndcg_ab.errors import InputError
from ndcg_ab.flows.unobserved import retrying
from ndcg_ab.history.bundles import bundle as bundles
from ndcg_ab.pipeline import Context, Stage, stages
from ndcg_ab.report import bundle_files
from ndcg_ab.runs.run import finish_run, perform_run
from tests.slow.broken_servers import dripping
from tests.small_evaluation import calling, no_tracker, plain_page, rows_of, small

prepare_environment()
pytestmark = pytest.mark.slow  # imports Prefect


@pytest.fixture
def flow(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of the flow, with a Prefect that is not asked, and little patience."""
    from ndcg_ab.flows import evaluation, watch

    monkeypatch.setattr(evaluation, "server_for_run", lambda: ("http://hangs", None))
    monkeypatch.setattr(watch.Watch.prefects.__wrapped__, "__defaults__", (0.3,))
    monkeypatch.setattr(watch, "PATIENCE", 0.3)
    monkeypatch.setattr(watch, "GRACE", 0.1)
    monkeypatch.setattr(bundle_files, "write_report", plain_page)
    quiet = calling(PUBLISH=no_tracker)
    monkeypatch.setattr(retrying, "__defaults__", (quiet,))
    monkeypatch.setattr(finish_run, "__defaults__", (quiet,))
    return evaluation


def hanging_after(step: str | None) -> Any:
    """A flow that hangs in Prefect's hands after a step, or before the first."""
    from ndcg_ab.flows.watch import WATCH

    def flow(evaluation: Evaluation, force: bool, at: Any, **_: Any) -> None:
        watch = WATCH.get()

        def call(each: Stage, context: Context, part: str) -> str | None:
            with watch.prefects():
                with watch.ours():
                    found = each.run(context, part)
                    if each is stages.KEEP:
                        watch.kept(context)
                if each.name == step:
                    threading.Event().wait(60)
                return found

        if step is None:
            threading.Event().wait(60)
        with watch.ours():
            perform_run(evaluation, call, force=force, at=at, when_kept=watch.kept)

    return flow


@pytest.mark.parametrize("step", [None, pytest.param("score", marks=pytest.mark.soak), "write results and history"])
def test_a_prefect_that_hangs_is_left_behind(
    step: str | None, flow: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flow, "evaluation_flow", hanging_after(step))
    evaluation = small(tmp_path)
    began = time.monotonic()
    finished = flow.run_observed(evaluation, force=True)
    assert time.monotonic() - began < 30
    assert finished.unobserved == "http://hangs has not answered for half a minute"
    assert rows_of(evaluation, "select ordinal from evaluation") == [(1,)], "neither lost nor doubled"
    assert bundles.read_bundle(finished.bundle).outcome == finished.outcome


def test_a_pull_that_prefect_cannot_end_is_given_up(flow: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ndcg_ab.flows.watch import WATCH

    def slow(*_: Any, **__: Any) -> None:
        with WATCH.get().ours(limit=0.1):
            threading.Event().wait(60)

    monkeypatch.setattr(flow, "evaluation_flow", slow)
    evaluation = small(tmp_path, prefect={"timeout_seconds": 0.1})
    with pytest.raises(InputError, match=r"prefect\.timeout_seconds = 0\.1: a pull took longer and was given up"):
        flow.run_observed(evaluation)


def test_a_prefect_that_answers_byte_by_byte_is_not_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    from ndcg_ab.flows import evaluation

    monkeypatch.setattr(evaluation, "PATIENCE", 1.0)
    began = time.monotonic()
    with dripping() as port:
        assert evaluation.explain_no_answer(f"http://127.0.0.1:{port}/api").endswith("does not answer in 1 s")
    assert time.monotonic() - began < 3


def test_work_apart() -> None:
    assert run_with_timeout(5, lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        run_with_timeout(5, lambda: 1 / 0)
    with pytest.raises(OverdueError):
        run_with_timeout(0.1, lambda: threading.Event().wait(2))
