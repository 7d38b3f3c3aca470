"""Define the context of a running evaluation, and its stages."""

import dataclasses
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ndcg_ab.comparing.since_last import SinceLast
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.operation import Prefect
from ndcg_ab.deadlines import Budget, OverdueError, Say, run_with_timeout
from ndcg_ab.errors import InputError
from ndcg_ab.labels.proxy_judgments import ProxyColumns
from ndcg_ab.pipeline.store import Store
from ndcg_ab.results.change_records import Judges
from ndcg_ab.results.ledger import LedgerRow
from ndcg_ab.results.outcome import Finding, LeftOut, Outcome

PUBLISHING = 180.0  # seconds for all attempts to publish a run
UNPUBLISHED = {"url": None, "trend_url": None, "dashboard": None, "delivered": 0}


@dataclasses.dataclass
class Context:
    """The state of one evaluation on its way through the stages of the pipeline.

    Attributes
    ----------
    evaluation : Evaluation
        The configuration. For scores of another tool, systems and metrics are added once the scores are read.
    store : Store
        The inputs and tables.
    say : callable
        Receives progress messages, such as the name of each part of a stage.
    force : bool
        True to read and compute again what an earlier evaluation already has.
    start_time : datetime
        The nominal time: the time that the evaluation is about.
    summed_up : bool
        True to compute summaries of each system, in addition to differences.
    measures : bool
        False to send no repeated requests for measuring costs, even if configured.
    findings, ledger, parity_queries, proxy, judges, left_out, since_last, outcome
        Results of the stages. If an earlier evaluation is reused, `since_last` and `outcome` are those of the current
        run.
    bundle : Path or None
        The folder of the stored evaluation, new or reused.
    reused : bool
        True if an earlier evaluation is reused.
    published : dict
        What the trackers returned.
    publishing : Budget
        The time limit for publishing, which all attempts share.
    done : set of tuple
        The finished (stage, part) pairs.
    error : Exception or None
        The error of the part that was done last.
    pending : str or None
        Reason why the page or the tracker lacks the stored evaluation.
    is_full : bool
        True if this reason is a full disk.
    unobserved : str or None
        Reason why Prefect has no record of the run.
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
    proxy: ProxyColumns | None = None
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
    """One stage of the pipeline, which consists of one or several parts, such as one part per system.

    Attributes
    ----------
    name : str
        Name for users, in which ``{name}`` is replaced by the part: ``pull {name}``.
    run : callable
        Does one part, and returns a message for the user or None.
    parts : callable
        Returns the names of the parts; by default a single empty name.
    applies : callable
        Returns whether the stage must be done.
    outside : bool
        True if the stage uses the network. Its parts then have a time limit, and are retried after an error.
    most_retries : int or None
        Limit of retries for a stage that has a time limit of its own; None for the configured number and time limit.
    task : str or None
        Name of the Prefect tasks of all parts; None for the name of each part.
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
        """Do one part, mark it as done, and return its message for the user or None.

        An error is stored in the context and raised. Raises InputError if a part that uses the network exceeds the
        configured time limit.
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


def as_stage(name: str, **traits: Any) -> Callable[[Callable[[Context, str], str | None]], Stage]:
    """Return a decorator that makes a function the stage with a name; traits: other attributes of `Stage`."""
    return lambda run: Stage(name, run, **traits)
