"""Decisions: one for each candidate, from its verdicts and from the gates (docs/verdicts.md, "Deciding").

The first rule that matches decides: harm that is shown, or a failed gate; then what these queries leave open; then what
unjudged results could turn; then what is gained.  A guardrail that is not shown to hold is an open question, no harm.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, assert_never

from ndcg_ab.results.cost_records import CostDifference
from ndcg_ab.results.wording import GATE, GUARDRAILS, PRIMARY, signed
from ndcg_core.statistics.verdicts.comparison import Comparison
from ndcg_core.statistics.verdicts.verdict import Size, Tone, Verdict

# Names of gates whose failures are verdicts of the candidate, and told as such.
NO_REGRESSION, GUARDRAILS_GATE, NOT_WORSE = "no regression", "guardrails", "not worse"
SLICE_REGRESSION, UNANSWERED = "slice regression", "unanswered"
JUDGED = "judged"  # the gate that asks for more judgments, and for nothing else
NO_DROP = (
    "no drop"  # the gate that says of a system what its own ranking did: of the baseline's, nothing of a candidate
)
TOLD_BY_VERDICTS = (NO_REGRESSION, GUARDRAILS_GATE, NOT_WORSE)
NAMED = 2  # comparisons that a reason names; more are counted


class Choice(StrEnum):
    """What to do with a candidate."""

    SHIP = "ship"
    """Better by more than the smallest effect; guardrails hold, and unjudged results cannot turn it."""
    SHIP_IF_CHEAP = "ship_if_cheap"
    """Better, by how much is open (or no smallest effect is set); the rest as for `ship`."""
    DO_NOT_SHIP = "do_not_ship"
    """A primary metric or a guardrail is shown to be worse, or another gate failed."""
    JUDGE_MORE = "judge_more"
    """These queries cannot settle it."""
    JUDGE_RESULTS = "judge_results"
    """These queries settle it as far as it is judged; unjudged results could turn it."""
    NOTHING_CHANGED = "nothing_changed"
    """No query has another value on any primary metric, or both are shown to be equivalent."""

    @property
    def traits(self) -> "Traits":
        """What it means wherever it is shown: a new member is described here, and nowhere else."""
        match self:
            case Choice.SHIP:
                return Traits(1, "✓", Tone.GOOD, "Ship it.")
            case Choice.SHIP_IF_CHEAP:
                return Traits(2, "✓", Tone.GOOD, "Ship it if it costs little.")
            case Choice.DO_NOT_SHIP:
                return Traits(6, "✗", Tone.BAD, "Do not ship it.")
            case Choice.JUDGE_MORE:
                advice = "Keep the baseline for now: these queries do not settle it."
                return Traits(4, "?", Tone.OPEN, advice, "judge more queries")
            case Choice.JUDGE_RESULTS:
                advice = "Judge the unjudged top results: they could change the result (ndcg-ab judge-next)."
                return Traits(3, "?", Tone.OPEN, advice, "judge more results")
            case Choice.NOTHING_CHANGED:
                advice = "Nothing that matters. If something should have changed: are these the right files?"
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
    """What a decision means. place: where it is in lists, 1 first, the best one. mark: one letter. advice: a sentence.
    words: for people, where they are not its name."""

    place: int
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


def decide(
    candidate: str,
    comparisons: Sequence[Comparison],
    failures: Sequence[str] = (),
    few_judged: Sequence[str] = (),
    costs: Sequence[CostDifference] = (),
) -> Decision:
    """The decision on one candidate.

    comparisons: of the whole evaluation. failures: failed gates that concern the candidate, in words; those that are
    verdicts of the comparisons themselves (TOLD_BY_VERDICTS) need not be named. few_judged: the same of the gate
    JUDGED, which asks for judgments. costs: the candidate's guardrails on what requests cost.
    """
    own = [row for row in comparisons if row.candidate == candidate]
    guarded = [row for row in own if row.family in (GUARDRAILS, GATE)]
    primary = [row for row in own if row.family == PRIMARY]
    harmed = [row for row in [*guarded, *primary] if row.conclusion.is_harm]
    broken = [row.sentence for row in costs if row.conclusion is Verdict.WORSE]
    if harmed or failures or broken:
        return Decision(candidate, Choice.DO_NOT_SHIP, "; ".join([*reason_parts(harmed), *broken, *failures]))
    open_rows = [row for row in guarded if row.conclusion.fails_margin]
    open_costs = [row.sentence for row in costs if row.conclusion is Verdict.MAY_BE_WORSE]
    if open_rows or open_costs:
        return Decision(candidate, Choice.JUDGE_MORE, "; ".join([*reason_parts(open_rows), *open_costs, *few_judged]))
    choice, why = by_primary_metrics(primary)
    if choice is Choice.JUDGE_MORE:
        return Decision(candidate, choice, why)
    unsettled = [row for row in [*primary, *guarded] if row.label_settled is False]
    if few_judged or unsettled:
        return Decision(candidate, Choice.JUDGE_RESULTS, "; ".join([*reason_parts(unsettled), *few_judged]))
    return Decision(candidate, choice, why)


def by_primary_metrics(rows: Sequence[Comparison]) -> tuple[Choice, str]:
    """The decision where every guardrail holds and no harm is shown, and its reason."""
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
        return Choice.NOTHING_CHANGED, format_reason(differing)
    return Choice.NOTHING_CHANGED, f"every query has the same value on {' or '.join(row.metric for row in rows)}"


def format_reason(rows: Sequence[Comparison]) -> str:
    return "; ".join(reason_parts(rows))


def reason_parts(rows: Sequence[Comparison]) -> Iterator[str]:
    """The first few in words, and how many more there are."""
    for row in rows[:NAMED]:
        is_shown = row.conclusion.traits.tells_difference and row.difference is not None
        number = f" ({signed(row.difference)})" if is_shown else ""
        words = row.short_verdict if row.conclusion is Verdict.UNDECIDED else row.verdict
        yield f"{row.metric} {words}{number}{whether_settled(row)}{whether_enough(row)}{how_many(row)}"
    if len(rows) > NAMED:
        yield f"and {len(rows) - NAMED} more"


def how_many(row: Comparison) -> str:
    """How many queries settle what is open, with a chance of 80 %; empty where that is not known."""
    count, many = (row.queries, "queries") if row.clusters is None else (row.clusters.count, "clusters")
    if row.queries_needed is None or row.queries_needed <= count:
        return ""
    return f": {count} {many}, about {row.queries_needed:,} needed"


def whether_enough(row: Comparison) -> str:
    """What keeps an improvement from being enough, where it is open whether it is."""
    if row.conclusion.direction <= 0 or row.size is not None:
        return ""
    if row.smallest_effect is None:
        return "; set a smallest effect to decide whether this is enough"
    return f", not shown to be by more than {row.smallest_effect:g}"


def whether_settled(row: Comparison) -> str:
    """What keeps a verdict from being final, where grades of unjudged documents could turn it; else empty."""
    if row.label_settled is not False or row.conclusion.traits.is_open:
        return ""
    if row.bound_low is None or row.bound_high is None:
        return "; unjudged results could turn it, how far was not computed"
    could = "could" if row.bound_exact else "could at most"
    return f"; unjudged results {could} move it to between {signed(row.bound_low)} and {signed(row.bound_high)}"
