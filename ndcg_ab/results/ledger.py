"""The records of how many rows or queries each stage of an evaluation read, used and left out, with reasons."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

JUDGMENTS, CLICKS, RANKING = "judgments", "click log", "ranking"  # stages that read rows
DRAWN, ANSWERED, SCORED = "judged queries", "answered queries", "scored queries"
SCORED_GATE = "scored"  # the gate on the share of scored queries
FEW_SCORED = 0.5  # below this share of the judged queries, an evaluation is about the exceptions


@dataclass(frozen=True)
class Omission:
    """The number of rows or queries that a stage left out for one reason."""

    reason: str
    count: int


@dataclass(frozen=True)
class LedgerRow:
    """The counts of one stage: read = used + the sum of the counts in left_out.

    Attributes
    ----------
    stage : str
        Name of the stage, a constant of this module.
    about : str or None
        The system of a ranking or of answers, or the metric of scores; else None.
    read : int
        Number of rows of files and logs in the stages JUDGMENTS, CLICKS and RANKING; number of judged queries in the
        other stages. SCORED starts from the queries that DRAWN uses.
    used : int
        Number of rows or queries that the stage used.
    left_out : tuple of Omission
        The numbers of rows or queries that were left out, by reason.
    """

    stage: str
    about: str | None
    read: int
    used: int
    left_out: tuple[Omission, ...] = ()

    @property
    def reasons(self) -> str:
        """The numbers left out, with their reasons, as one text: ``of unjudged queries: 18; comments: 2``."""
        return "; ".join(f"{each.reason}: {each.count}" for each in self.left_out)

    @property
    def share(self) -> float:
        """The share of the read rows or queries that is used, 0 to 1; 0 if nothing was read."""
        return self.used / self.read if self.read else 0.0


def make_row(stage: str, about: str | None, read: int, left_out: Mapping[str, int]) -> LedgerRow:
    """Return the ledger row of a stage that uses all rows that it does not leave out.

    read: number of rows or queries. left_out: reason -> number; zeros are dropped.
    """
    reasons = tuple(Omission(reason, count) for reason, count in left_out.items() if count)
    return LedgerRow(stage, about, read, read - sum(each.count for each in reasons), reasons)


def scored_rows(ledger: Iterable[LedgerRow]) -> tuple[LedgerRow, ...]:
    """Return the rows of the stage SCORED, one per metric, in the order of the metrics."""
    return tuple(row for row in ledger if row.stage == SCORED)


def scored_queries_text(row: LedgerRow) -> str:
    """Return in words how many of the judged queries are scored: ``1 of 12 judged queries is scored``."""
    return f"{row.used or 'none'} of {row.read} judged queries {'is' if row.used < 2 else 'are'} scored"
