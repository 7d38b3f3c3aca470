"""What the one who started a flow sees of it, and how long Prefect may keep it waiting."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.pipeline import Context
from ndcg_ab.runs.run import Performed

PATIENCE = 30.0  # seconds that Prefect may take for one thing: after that the run goes on without it
GRACE = 5.0  # seconds after its time limit that Prefect may take to end a pull


class GivenUp(BaseException):
    """Nobody waits for this flow any more."""


@dataclass
class Watch:
    """What the caller of a flow in this process must know, whatever becomes of Prefect.

    say: gets what begins.  evaluation: with what is in plain text and Prefect, which keeps its parameters, is not
    told.  context: as soon as the evaluation is safe on disk.  performed: when all is done.
    error: what a step raised.  api_url, flow_run: Prefect's address, and its name for the run.  is_over: nobody waits
    for the flow any more, so that no step of it may begin.
    limit, deadline: when the step at work, or Prefect, will have taken too long, on the
    monotonic clock; None where nobody counts.
    """

    say: Callable[[str], None] = lambda step: None
    evaluation: Evaluation | None = None
    context: Context | None = None
    performed: Performed | None = None
    error: BaseException | None = None
    api_url: str = ""
    flow_run: Any = None
    is_over: bool = False
    limit: float | None = None
    deadline: float | None = None

    def kept(self, context: Context) -> None:
        self.context = context

    @contextlib.contextmanager
    def prefects(self, patience: float = PATIENCE) -> Iterator[None]:
        """Prefect is at work."""
        self.deadline = time.monotonic() + patience
        try:
            yield
        finally:
            self.deadline = None

    @contextlib.contextmanager
    def ours(self, limit: float | None = None, pause: float = 0.0) -> Iterator[None]:
        """Context: our code runs inside a Prefect task; enforces `limit` seconds; after an error Prefect may pause."""
        self.refuse_if_over()
        self.deadline = None
        self.limit = None if limit is None else time.monotonic() + limit + GRACE
        patience = PATIENCE + pause
        try:
            yield
            patience = PATIENCE
        finally:
            self.limit = None
            self.deadline = time.monotonic() + patience
        self.refuse_if_over()

    def refuse_if_over(self) -> None:
        if self.is_over:
            raise GivenUp

    def is_overdue(self) -> bool:
        return any(moment is not None and time.monotonic() > moment for moment in (self.limit, self.deadline))


WATCH: ContextVar[Watch] = ContextVar("watch")


@contextlib.contextmanager
def hide_late_cancellations() -> Iterator[None]:
    """Prefect ends what takes too long by an exception in its thread; one that meets a finaliser is not printed."""
    before = sys.unraisablehook

    def hook(unraisable: Any) -> None:
        if unraisable.exc_type.__module__.partition(".")[0] != "prefect":
            before(unraisable)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before
