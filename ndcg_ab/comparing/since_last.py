"""Compare every system with itself in the previous evaluation, and record which of its inputs changed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.results.decisions import NO_DROP
from ndcg_ab.results.ledger import LedgerRow
from ndcg_ab.results.numbers import signed
from ndcg_ab.results.outcome import GateResult
from ndcg_core.statistics.over_time import CAUSES
from ndcg_core.statistics.verdicts.comparison import Comparison
from ndcg_core.statistics.verdicts.verdict import Size, Verdict

SINCE_LAST = "since last"
SAME_RANKING = "since last, same ranking"
RANKING, JUDGMENTS, QUERIES = CAUSES
NEW_SYSTEM = "new system"
STILL = 1e-9  # a smaller part of a change counts as 0
WHY_NONE = "there is no previous evaluation to compare with"


@dataclass(frozen=True)
class LostQuery:
    """A query on which a system's value fell since the previous evaluation.

    Attributes
    ----------
    system_id, metric, query_id : str
        Names of the system and of the metric, and id of the query.
    text : str or None
        Text of the query; None if it is unknown.
    before, now : float
        Values of the previous and of the current ranking, both by the current judgments.
    """

    system_id: str
    metric: str
    query_id: str
    text: str | None
    before: float
    now: float


@dataclass(frozen=True)
class SystemSince:
    """The changes in the inputs of one system since the previous evaluation.

    Attributes
    ----------
    system_id : str
        Name of the system.
    changed : tuple of str
        Changed inputs: `ranking`, `judgments` or `queries`; `configuration or program` if values differ and no input
        does; `new system` if the system was not compared before. A system without a change is not tested.
    unknown : str or None
        If ranking and judgments changed, the reason why a drop cannot be detected; None if it can.
    """

    system_id: str
    changed: tuple[str, ...]
    unknown: str | None = None

    @property
    def is_mixed(self) -> bool:
        """Return whether the ranking and another input changed."""
        return RANKING in self.changed and len(self.changed) > 1


@dataclass(frozen=True)
class ChangedMeanQuery:
    """A query that contributed to the change of a mean.

    Attributes
    ----------
    part : str
        Cause of the change: `ranking`, `judgments` or `queries`.
    query_id : str
        Id of the query.
    text : str or None
        Text of the query; None if it is unknown.
    amount : float
        Contribution of the query to the change by this cause, in the metric's unit.
    """

    part: str
    query_id: str
    text: str | None
    amount: float


@dataclass(frozen=True)
class MeanChange:
    """The change of a system's mean of a metric since the previous evaluation, split by cause.

    Attributes
    ----------
    system_id, metric : str
        Names of the system and of the metric.
    before, now : float or None
        Means, each over the queries of its evaluation.
    ranking, judgments, queries : float or None
        Part of now - before that is due to each cause; None if it cannot be determined.
    new_judgments : int or None
        Number of new judgments on queries of both evaluations; None if unknown.
    changed_judgments : int or None
        Number of removed judgments, and of judgments with another grade, on queries of both evaluations; None if
        unknown.
    unknown : str or None
        Reason why the parts cannot be determined; None if they can.
    behind : tuple of ChangedMeanQuery
        For each cause at most five queries with the largest contributions, positive or negative.
    """

    system_id: str
    metric: str
    before: float | None
    now: float | None
    ranking: float | None = None
    judgments: float | None = None
    queries: float | None = None
    new_judgments: int | None = None
    changed_judgments: int | None = None
    unknown: str | None = None
    behind: tuple[ChangedMeanQuery, ...] = ()

    @property
    def parts(self) -> dict[str, float]:
        """Return {cause: part of the change}, the largest magnitude first.

        Parts that are 0 or unknown are left out.
        """
        told = {cause: getattr(self, cause) for cause in CAUSES}
        moved = {cause: part for cause, part in told.items() if part is not None and abs(part) > STILL}
        return dict(sorted(moved.items(), key=lambda item: -abs(item[1])))


@dataclass(frozen=True)
class SinceLast:
    """The comparison of every system with itself in the previous evaluation, on the common primary metrics.

    Attributes
    ----------
    ordinal : int
        Number of the previous evaluation, or, if that evaluation reused results, of the one that computed them.
    began : str
        Start of the evaluation with the number `ordinal`.
    systems : tuple of SystemSince
        Changed inputs of each system, in the configured order.
    comparisons : tuple of Comparison
        One per system and metric, with the system as baseline and as candidate: the difference now - before on the
        queries of both evaluations. If the ranking changed, the family is `since last`, and the current judgments score
        both rankings. If only other inputs changed, the family is `since last, same ranking`, which is exploratory.
    lost : tuple of LostQuery
        For each system with a changed ranking and each metric, the queries with the largest falls.
    new_queries, gone_queries : int
        Number of queries scored only now, and number of queries scored only before.
    moved : tuple of MeanChange
        Changes of the means of each system whose ranking, judgments or queries changed.
    is_drawn : bool
        True if the queries were drawn from a log; the comparisons are then about the drawn queries alone.
    scored : tuple of LedgerRow
        Number and share of the judged queries that each metric scored in the previous evaluation.
    """

    ordinal: int
    began: str
    systems: tuple[SystemSince, ...]
    comparisons: tuple[Comparison, ...] = ()
    lost: tuple[LostQuery, ...] = ()
    new_queries: int = 0
    gone_queries: int = 0
    moved: tuple[MeanChange, ...] = ()
    is_drawn: bool = False
    scored: tuple[LedgerRow, ...] = ()

    @property
    def dropped(self) -> list[Comparison]:
        """Return the comparisons in which a system's ranking is shown to have got worse, by a loss that may matter.

        A loss that is shown to be smaller than the smallest effect is left out.
        """
        return [row for row in self.regressions if not is_shown_small(row)]

    @property
    def regressions(self) -> list[Comparison]:
        """Return the comparisons in which a system's ranking is shown to have got worse, by whatever amount."""
        return [row for row in self.comparisons if row.family == SINCE_LAST and row.conclusion is Verdict.REGRESSED]

    @property
    def unchanged(self) -> list[str]:
        """Return the systems for which nothing changed."""
        return [system.system_id for system in self.systems if not system.changed]

    def comparisons_of(self, system_id: str) -> list[Comparison]:
        return [row for row in self.comparisons if row.candidate == system_id]

    def moved_of(self, system_id: str, metric: str) -> MeanChange | None:
        return next((row for row in self.moved if (row.system_id, row.metric) == (system_id, metric)), None)


def is_shown_small(row: Comparison) -> bool:
    """Return whether a comparison shows a loss, and shows that the loss is smaller than the smallest effect."""
    return row.conclusion is Verdict.REGRESSED and row.size is Size.SMALLER_THAN


def is_note(row: Comparison) -> bool:
    """Return whether a comparison with the previous evaluation can be reported as a note only, not as a drop.

    This holds if the ranking is unchanged, or if the value fell and the fall is shown to be smaller than the smallest
    effect.
    """
    return row.family == SAME_RANKING or is_shown_small(row)


def check_drops(evaluation: Evaluation, since: SinceLast | None) -> tuple[GateResult, ...]:
    """Return the result of the gate `no_drop`; empty if the gate is not configured.

    The gate passes if there is no previous evaluation.
    """
    if evaluation.gate is None or evaluation.gate.no_drop is False:
        return ()
    if since is None:
        return (GateResult(NO_DROP, True, WHY_NONE),)
    failed = list(disallowed_drops(evaluation.gate.no_drop, since))
    reasons = tuple(drop_text(row, since.ordinal, evaluation.baseline_name) for row in failed)
    message = "; ".join(reasons or passed_parts(since))
    return (GateResult(NO_DROP, not failed, message, tuple(row.candidate for row in failed), reasons),)


def disallowed_drops(condition: bool | str | dict[str, float], since: SinceLast) -> Iterator[Comparison]:
    """Yield the comparisons with the previous evaluation for which the gate `no_drop` fails.

    If the condition is True, the gate fails for drops: losses that are shown, and not shown to be smaller
    than the smallest effect. If it is "any", the gate fails for every shown loss. If it is a mapping metric -> number,
    the gate fails for shown losses of these metrics that are larger than the number. In each case it also fails for
    comparisons without a query.
    """
    yield from (row for row in since.comparisons if row.family == SINCE_LAST and not row.queries)
    for row in since.dropped if condition is True else since.regressions:
        limit = condition.get(row.metric) if isinstance(condition, dict) else 0.0
        if limit is not None and row.difference is not None and row.difference < -limit:
            yield row


def passed_parts(since: SinceLast) -> Iterator[str]:
    """Yield the parts of the message of the passed gate: a summary, permitted losses, and systems not compared."""
    yield (
        f"no system dropped since evaluation {since.ordinal}" if not since.dropped else "no drop that the gate forbids"
    )
    for row in since.regressions:
        yield f"{row.candidate}, {row.metric}: {row.verdict} ({signed(row.difference)})"
    for system in since.systems:
        if system.unknown:
            yield f"{system.system_id}: cannot be told, {system.unknown}"


def pass_no_drop_gate(gates: Sequence[GateResult], ordinal: int) -> tuple[GateResult, ...]:
    """Return gate results with the gate `no_drop` passed, for a night in which nothing changed.

    ordinal: number of the evaluation since which nothing changed.
    """
    passed = GateResult(NO_DROP, True, f"nothing changed since evaluation {ordinal}")
    return tuple(passed if gate.name == NO_DROP else gate for gate in gates)


def drop_text(row: Comparison, ordinal: int, baseline: str) -> str:
    name = f"{row.candidate} (the baseline)" if row.candidate == baseline else row.candidate
    where = f"{name} against itself in evaluation {ordinal}, {row.metric}"
    return f"{where}: {row.verdict} ({signed(row.difference)})"
