"""An evaluation on its way through the stages, and what a stage is."""

import dataclasses
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from ndcg_ab.comparing.since_last import SinceLast
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.operation import Prefect
from ndcg_ab.deadlines import Budget, OverdueError, run_with_timeout
from ndcg_ab.errors import InputError
from ndcg_ab.pipeline.store import Store
from ndcg_ab.results.change_records import Judges
from ndcg_ab.results.ledger import LedgerRow
from ndcg_ab.results.outcome import Finding, LeftOut, Outcome

Say = Callable[[str], object]
PUBLISHING = 180.0  # seconds that all publishing of a run may take, however often it is tried
UNPUBLISHED = {"url": None, "trend_url": None, "dashboard": None, "delivered": 0}


@dataclasses.dataclass
class Context:
    """One evaluation on its way through the stages.

    evaluation: scores of another tool settle its systems and metrics once they are read.  store: its inputs and tables.
    say: told what goes on inside a long stage.  force: read and compute again what an earlier evaluation has already.
    moment: that it stands for.  summed_up: say something of each system by itself, beside the differences.
    measures: ask again for what requests cost, where the configuration says so.
    publishing: the time for it, which all attempts share.  done: the parts of stages that need not be done again.
    error: what the last part of a stage raised.  pending: why the page or the tracker lacks the kept evaluation.
    is_full: that is because a disk is full.  unobserved: why Prefect has no record of the run, if it has none.
    outcome, since_last: of a run that reuses an earlier evaluation, as they are of the night that runs.
    The rest is what stages found: see those of these names.
    """

    evaluation: Evaluation
    store: Store
    say: Say = lambda text: None
    force: bool = False
    moment: datetime = dataclasses.field(default_factory=lambda: datetime.now(UTC))
    summed_up: bool = True
    measures: bool = True
    findings: list[Finding] = dataclasses.field(default_factory=list)
    ledger: tuple[LedgerRow, ...] = ()
    parity_queries: int | None = None
    proxy: pa.Table | None = None
    judges: Judges | None = None
    left_out: tuple[LeftOut, ...] = ()
    since_last: SinceLast | None = None
    outcome: Outcome | None = None
    bundle: Path | None = None
    reused: bool = False
    published: dict[str, Any] = dataclasses.field(default_factory=lambda: dict(UNPUBLISHED))
    publishing: Budget = dataclasses.field(default_factory=lambda: Budget(PUBLISHING))
    done: set[tuple[str, str]] = dataclasses.field(default_factory=set)
    error: Exception | None = None
    pending: str | None = None
    is_full: bool = False
    unobserved: str | None = None


@dataclasses.dataclass(frozen=True)
class Stage:
    """One stage.

    name: what people see of it; ``{name}`` in it stands for the part.  run: does one part of it, and returns what there
    is to say of the result, or None.  parts: the names of its parts; one without a name where it has none.
    applies: whether it is to be done, as far as is known by now.
    outside: whether it talks to the outside world: then it is tried again when it fails, and given up after a time.
    most_retries: how often at the most, of a stage with a time of its own; None: as the configuration says.
    task: what Prefect calls all of its parts; None: each by its own name.
    """

    name: str
    run: Callable[[Context, str], str | None]
    parts: Callable[[Context], Iterable[str]] = lambda context: ("",)
    applies: Callable[[Context], bool] = lambda context: True
    outside: bool = False
    most_retries: int | None = None
    task: str | None = None

    def shown(self, part: str) -> str:
        """``pull bm25``: the name of this stage with a part of it."""
        return self.name.format(name=part)

    def parts_left(self, context: Context) -> list[str]:
        """The parts that are to be done; none where the stage does not apply."""
        parts = self.parts(context) if self.applies(context) else ()
        return [part for part in parts if (self.name, part) not in context.done]

    def retries(self, prefect: Prefect) -> int:
        """Return how often a part that failed is tried again."""
        if not self.outside:
            return 0
        return prefect.retries if self.most_retries is None else min(prefect.retries, self.most_retries)

    def perform(self, context: Context, part: str) -> str | None:
        """Do one part and note that it is done; raise InputError if a pull takes longer than it may."""
        seconds = context.evaluation.prefect.timeout_seconds
        try:
            if seconds is None or not self.outside or self.most_retries is not None:
                found = self.run(context, part)
            else:
                found = run_with_timeout(seconds, lambda: self.run(context, part))
        except OverdueError:
            context.error = InputError(f"prefect.timeout_seconds = {seconds:g}: a pull took longer and was given up")
            raise context.error from None
        except Exception as error:
            context.error = error
            raise
        context.error = None
        context.done.add((self.name, part))
        return found
