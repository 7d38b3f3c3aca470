"""What became of every system since the previous evaluation: each compared with itself, and what had changed for it."""

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
STILL = 1e-9  # a part that is no larger moved nothing
WHY_NONE = "there is no previous evaluation to compare with"


@dataclass(frozen=True)
class LostQuery:
    """A query on which a system fell; before, now: values of its rankings then and now, by the judgments of now.

    text: null where it is not known.
    """

    system_id: str
    metric: str
    query_id: str
    text: str | None
    before: float
    now: float


@dataclass(frozen=True)
class SystemSince:
    """What has changed for one system.

    changed: ranking, judgments, queries; configuration or program where nothing else did and its values are others;
        `new system` where it was not there; empty: nothing did, and it is not tested.
    unknown: why it cannot be told whether its ranking dropped, where ranking and judgments changed; else null.
    """

    system_id: str
    changed: tuple[str, ...]
    unknown: str | None = None

    @property
    def is_mixed(self) -> bool:
        """Whether more than its ranking changed."""
        return RANKING in self.changed and len(self.changed) > 1


@dataclass(frozen=True)
class ChangedMeanQuery:
    """A query behind a part; part: `ranking`, `judgments` or `queries`; amount: what it adds to that part."""

    part: str
    query_id: str
    text: str | None
    amount: float


@dataclass(frozen=True)
class MeanChange:
    """What moved a system's mean of a metric since the previous evaluation.

    before, now: the means, each over the queries of its evaluation. ranking, judgments, queries: the parts of now -
        before; null where they cannot be told, for the reason `unknown`. new_judgments, changed_judgments: how many on
        the queries of both are new; have another grade, or are gone; null where they are not known.
    behind: of each part at most five queries, those that add most to it, up or down.
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
        """The parts that moved it, by their causes, the largest first; empty where they are not known."""
        told = {cause: getattr(self, cause) for cause in CAUSES}
        moved = {cause: part for cause, part in told.items() if part is not None and abs(part) > STILL}
        return dict(sorted(moved.items(), key=lambda item: -abs(item[1])))


@dataclass(frozen=True)
class SinceLast:
    """Every system against itself in the previous evaluation, on the primary metrics that both have alike.

    ordinal, began: of the previous evaluation, and of the night that it stands for. systems: in the order given.
    comparisons: now - before on the queries of both; baseline and candidate are the system. Family `since last` where
        its ranking changed: both rankings by the judgments of now. `since last, same ranking` (exploratory) where only
        something else did.
    lost: of each system and metric the queries with the largest falls, where its ranking changed.
    new_queries, gone_queries: scored now only, and before only.
    moved: of each system with another ranking, judgments or queries, what moved its means.
    is_drawn: whether the queries are drawn ones of a log; of its others nothing is known here.
    scored: the rows of the ledger about the judged queries that each metric scored in the previous evaluation.
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
        """The systems whose ranking got worse, metric by metric, but for falls shown to be too small to matter."""
        return [row for row in self.fallen if not is_small(row)]

    @property
    def fallen(self) -> list[Comparison]:
        """The same with those that are too small to matter."""
        return [row for row in self.comparisons if row.family == SINCE_LAST and row.conclusion is Verdict.REGRESSED]

    @property
    def unchanged(self) -> list[str]:
        """The systems for which nothing changed."""
        return [system.system_id for system in self.systems if not system.changed]

    def of(self, system_id: str) -> list[Comparison]:
        return [row for row in self.comparisons if row.candidate == system_id]

    def moved_of(self, system_id: str, metric: str) -> MeanChange | None:
        return next((row for row in self.moved if (row.system_id, row.metric) == (system_id, metric)), None)


def is_small(row: Comparison) -> bool:
    """Whether a fall is shown to be smaller than the smallest effect: a note, and no drop."""
    return row.conclusion is Verdict.REGRESSED and row.size is Size.SMALLER_THAN


def is_note(row: Comparison) -> bool:
    """Whether it says nothing that a ranker has to answer for: a small fall, or another judgment's."""
    return row.family == SAME_RANKING or is_small(row)


def check_drops(evaluation: Evaluation, since: SinceLast | None) -> tuple[GateResult, ...]:
    """The result of the gate `no_drop_result`; nothing where it is not asked for."""
    return () if evaluation.gate is None or evaluation.gate.no_drop is False else (no_drop_result(evaluation, since),)


def no_drop_result(evaluation: Evaluation, since: SinceLast | None) -> GateResult:
    if since is None:
        return GateResult(NO_DROP, True, WHY_NONE)
    failed = list(disallowed_drops(evaluation, since))
    messages = [drop_text(row, since.ordinal, evaluation.baseline_name) for row in failed]
    passed = "; ".join(passed_parts(since))
    return GateResult(
        NO_DROP, not failed, "; ".join(messages) or passed, tuple(row.candidate for row in failed), tuple(messages)
    )


def disallowed_drops(evaluation: Evaluation, since: SinceLast) -> Iterator[Comparison]:
    """Yield the drops, every fall, or the falls of named metrics by more than a difference; and what has no query."""
    asked = evaluation.gate.no_drop if evaluation.gate else False
    yield from (row for row in since.comparisons if row.family == SINCE_LAST and not row.queries)
    for row in since.dropped if asked is True else since.fallen:
        limit = asked.get(row.metric) if isinstance(asked, dict) else 0.0
        if limit is not None and row.difference is not None and row.difference < -limit:
            yield row


def passed_parts(since: SinceLast) -> Iterator[str]:
    """What holds where the gate passed: a fall that is none of its concern, and what cannot be told, are said."""
    yield (
        f"no system dropped since evaluation {since.ordinal}" if not since.dropped else "no drop that the gate forbids"
    )
    for row in since.fallen:
        yield f"{row.candidate}, {row.metric}: {row.verdict} ({signed(row.difference)})"
    for system in since.systems:
        if system.unknown:
            yield f"{system.system_id}: cannot be told, {system.unknown}"


def without_drops(gates: Sequence[GateResult], ordinal: int) -> tuple[GateResult, ...]:
    """The gates of an evaluation in a later night that found nothing changed: nothing dropped since then."""
    passed = GateResult(NO_DROP, True, f"nothing changed since evaluation {ordinal}")
    return tuple(passed if gate.name == NO_DROP else gate for gate in gates)


def drop_text(row: Comparison, ordinal: int, baseline: str) -> str:
    name = f"{row.candidate} (the baseline)" if row.candidate == baseline else row.candidate
    where = f"{name} against itself in evaluation {ordinal}, {row.metric}"
    return f"{where}: {row.verdict} ({signed(row.difference)})"
