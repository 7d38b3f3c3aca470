"""Define the context of a running evaluation, and its stages."""

import dataclasses
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from ndcg_ab.comparing.since_last import SinceLast
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.operation import Prefect
from ndcg_ab.deadlines import Budget, OverdueError, Say, run_with_timeout
from ndcg_ab.errors import InputError
from ndcg_ab.pipeline.store import Store
from ndcg_ab.results.change_records import Judges
from ndcg_ab.results.ledger import LedgerRow
from ndcg_ab.results.outcome import Finding, LeftOut, Outcome

PUBLISHING = 180.0  # seconds for all attempts to publish a run
UNPUBLISHED = {"url": None, "trend_url": None, "dashboard": None, "delivered": 0}


@dataclasses.dataclass
class Context:
    """The state of one evaluation on its way through the stages.

    evaluation: the configuration; for scores of another tool, systems and metrics are added once scores are read.
    store: the inputs and tables. say: receives progress messages within a long stage. force: whether to read and
    compute again what an earlier evaluation already has.
    start_time: the time for which the evaluation stands. summed_up: whether to compute summaries of each system, beside
    differences. measures: whether to repeat requests to measure costs, if configured.
    publishing: the time limit for publishing, which all attempts share. done: the finished (stage, part) pairs. error:
    the error of the last part of a stage, or None. pending: the reason why the page or the tracker lacks the stored
    evaluation, or None. is_full: whether the reason is a full disk. unobserved: the reason why Prefect has no record of
    the run, or None.
    outcome, since_last: for a run that reuses an earlier evaluation, those of the current night.
    findings, ledger, parity_queries, proxy, judges, left_out, bundle, reused, published: results of the stages.
    """

    evaluation: Evaluation
    store: Store
    say: Say = lambda text: None
    force: bool = False
    start_time: datetime = dataclasses.field(default_factory=lambda: datetime.now(UTC))
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
    """One stage of the pipeline.

    name: displayed to users; ``{name}`` in it is replaced by the part. run: does one part, and returns a message or
    None. parts: returns the names of the parts; a stage without parts has one part with an empty name. applies: returns
    whether the stage must be done. outside: whether it uses the network; if so, it has a time limit and is retried
    after an error. most_retries: the limit of retries for a stage with its own time limit; None: the configured number.
    task: the name of the Prefect tasks of all parts; None: the name of each part.
    """

    name: str
    run: Callable[[Context, str], str | None]
    parts: Callable[[Context], Iterable[str]] = lambda context: ("",)
    applies: Callable[[Context], bool] = lambda context: True
    outside: bool = False
    most_retries: int | None = None
    task: str | None = None

    def part_name(self, part: str) -> str:
        """Return the name of the stage with the name of a part filled in, such as ``pull bm25``."""
        return self.name.format(name=part)

    def retries(self, prefect: Prefect) -> int:
        """Return how often a failed part is run again; 0 for a stage that does not use the network."""
        if not self.outside:
            return 0
        return prefect.retries if self.most_retries is None else min(prefect.retries, self.most_retries)

    def perform(self, context: Context, part: str) -> str | None:
        """Do one part, mark it as done, and return its message or None.

        An error is stored in the context and raised. Raises InputError if the part exceeds the time limit of pulls.
        """
        seconds = context.evaluation.prefect.timeout_seconds
        try:
            if seconds is None or not self.outside or self.most_retries is not None:
                message = self.run(context, part)
            else:
                message = run_with_timeout(seconds, lambda: self.run(context, part))
        except OverdueError:
            context.error = InputError(f"prefect.timeout_seconds = {seconds:g}: a pull took longer and was given up")
            raise context.error from None
        except Exception as error:
            context.error = error
            raise
        context.error = None
        context.done.add((self.name, part))
        return message
