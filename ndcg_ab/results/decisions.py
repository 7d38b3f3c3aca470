"""Decisions: one for each candidate, from its verdicts and from the gates (docs/verdicts.md, "Deciding").

The first rule that matches decides, and what must not get worse comes first: a failed gate or a guardrail that is not
shown to hold, then a regression, then what is gained. A guardrail that so few queries could never show, and that points
at no loss, asks for more of them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, assert_never

from ndcg_ab.results.wording import GATE, GUARDRAILS, PRIMARY, signed
from ndcg_core.statistics.verdicts.comparison import Comparison
from ndcg_core.statistics.verdicts.verdict import Obstacle, Size, Tone, Verdict

# Names of gates whose failures are verdicts of the candidate, and told as such.
NO_REGRESSION, GUARDRAILS_GATE, NOT_WORSE = "no regression", "guardrails", "not worse"
TOLD_BY_VERDICTS = (NO_REGRESSION, GUARDRAILS_GATE, NOT_WORSE)
NAMED = 2  # comparisons that a reason names; more are counted


class Choice(StrEnum):
    """What to do with a candidate."""

    SHIP = "ship"
    """Better by more than the smallest effect, and nothing that must hold is in doubt."""
    SHIP_IF_CHEAP = "ship_if_cheap"
    """Better, but whether by enough is open; or equivalent: the cheaper one."""
    DO_NOT_SHIP = "do_not_ship"
    """Worse, or it is not shown that nothing that matters got worse."""
    JUDGE_MORE = "judge_more"
    """These queries cannot settle it."""
    NOTHING_CHANGED = "nothing_changed"
    """No query has another value on any primary metric."""

    @property
    def traits(self) -> "Traits":
        """What it means wherever it is shown: a new member is described here, and nowhere else."""
        match self:
            case Choice.SHIP:
                return Traits(2, "✓", Tone.GOOD, "Ship it.")
            case Choice.SHIP_IF_CHEAP:
                return Traits(3, "✓", Tone.GOOD, "Ship it if it costs little.")
            case Choice.DO_NOT_SHIP:
                return Traits(1, "✗", Tone.BAD, "Do not ship it.")
            case Choice.JUDGE_MORE:
                advice = "Keep the baseline for now: these queries do not settle it."
                return Traits(4, "?", Tone.OPEN, advice, "judge more queries")
            case Choice.NOTHING_CHANGED:
                advice = "Nothing to see. If something should have changed: are these the right files?"
                return Traits(5, "=", Tone.DIM, advice)
            case _:
                assert_never(self)

    @property
    def words(self) -> str:
        """For people: ``judge more queries``."""
        return self.traits.words or self.replace("_", " ")

    @property
    def mark(self) -> str:
        """One letter, the first thing that a person sees."""
        return self.traits.mark


class Traits(NamedTuple):
    """What a decision means. gravity: where it stands in lists, 1 first. mark: one letter. advice: a sentence.
    words: for people, where they are not its name."""

    gravity: int
    mark: str
    tone: Tone
    advice: str
    words: str = ""


@dataclass(frozen=True)
class Decision:
    """What to do with one candidate; reason: why, in one line."""

    candidate: str
    decision: Choice
    reason: str


def decide(candidate: str, comparisons: Sequence[Comparison], failures: Sequence[str] = ()) -> Decision:
    """The decision on one candidate.

    comparisons: of the whole evaluation. failures: failed gates that concern the candidate, in words; those that are
    verdicts of the comparisons themselves (TOLD_BY_VERDICTS) need not be named.
    """
    own = [row for row in comparisons if row.candidate == candidate]
    margins = [row for row in own if row.family in (GUARDRAILS, GATE) and row.conclusion.fails_margin]
    harmful = [row for row in margins if not is_open(row)]
    primary = [row for row in own if row.family == PRIMARY]
    regressed = [row for row in primary if row.conclusion.is_harm]
    if margins and not (harmful or failures or regressed):
        return Decision(candidate, Choice.JUDGE_MORE, format_reason(margins))
    if margins or failures or regressed:
        return Decision(candidate, Choice.DO_NOT_SHIP, "; ".join([*reason_parts([*margins, *regressed]), *failures]))
    choice, why = by_primary_metrics(primary)
    return Decision(candidate, choice, why)


def is_open(row: Comparison) -> bool:
    """Whether a guardrail points at no loss, and there are too few queries for any data to rule one out."""
    return row.obstacle is Obstacle.FEW_TO_RULE_OUT and row.difference is not None and row.difference >= 0


def by_primary_metrics(rows: Sequence[Comparison]) -> tuple[Choice, str]:
    """The decision where everything holds that must hold and nothing regressed, and its reason."""
    open_rows = [row for row in rows if row.conclusion.traits.is_open]
    better = [row for row in rows if row.conclusion.direction > 0]
    differing = [row for row in rows if row.conclusion is not Verdict.IDENTICAL]
    enough = [row for row in better if row.size is Size.BY_MORE_THAN]
    if not rows:
        return Choice.JUDGE_MORE, "no primary metric is compared"
    if enough and not open_rows:
        return Choice.SHIP, format_reason(enough)
    if better:
        undecided = f"; open: {', '.join(row.metric for row in open_rows)}" if open_rows else ""
        return Choice.SHIP_IF_CHEAP, format_reason(better) + undecided
    if open_rows:
        return Choice.JUDGE_MORE, format_reason(open_rows)
    if differing:  # and shown to be equal, as nothing else is left
        return Choice.SHIP_IF_CHEAP, format_reason(differing)
    unsettled = "".join(f"; {row.metric} identical{whether_settled(row)}" for row in rows if whether_settled(row))
    names = " or ".join(row.metric for row in rows)
    return Choice.NOTHING_CHANGED, f"no query has another value on {names}{unsettled}"


def format_reason(rows: Sequence[Comparison]) -> str:
    return "; ".join(reason_parts(rows))


def reason_parts(rows: Sequence[Comparison]) -> Iterator[str]:
    """The first few in words, and how many more there are."""
    for row in rows[:NAMED]:
        is_shown = row.conclusion.traits.tells_difference and row.difference is not None
        number = f" ({signed(row.difference)})" if is_shown else ""
        words = row.short_verdict if row.conclusion is Verdict.UNDECIDED else row.verdict
        beside = f"{whether_settled(row)}{whether_enough(row)}{too_few(row)}"
        yield f"{row.metric} {words}{number}{beside}"
    if len(rows) > NAMED:
        yield f"and {len(rows) - NAMED} more"


def too_few(row: Comparison) -> str:
    """What keeps a guardrail from holding where nothing points at a loss."""
    if row.conclusion is not Verdict.MAY_BE_WORSE or not is_open(row):
        return ""
    units = f"{row.queries} queries" if row.clusters is None else f"{row.clusters.count} clusters"
    return f": {units} cannot rule it out, {row.needed} could"


def whether_enough(row: Comparison) -> str:
    """What keeps an improvement from being enough, where it is open whether it is."""
    if row.conclusion.direction <= 0 or row.size is not None:
        return ""
    if row.smallest_effect is None:
        return "; enough? no smallest effect is set"
    return f", not shown to be by more than {row.smallest_effect:g}"


def whether_settled(row: Comparison) -> str:
    """What keeps a verdict from being final, where grades of unjudged documents could turn it; else empty."""
    if row.label_settled is not False or row.conclusion.traits.is_open:
        return ""
    between = f"difference between {signed(row.bound_low)} and {signed(row.bound_high)}"
    verb = "cannot" if row.bound_exact else "may not"
    return f", but the labels {verb} settle it ({between})"
