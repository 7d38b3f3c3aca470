"""Decide on each candidate from the states of its comparisons and from the gates (docs/verdicts.md, "Deciding").

The first rule that applies decides: harm that unjudged results cannot reverse, or a failed gate; harm that they could
reverse; an undecided comparison; another result that they could reverse; an undecided cost; a gain; no change. A value
that was not computed decides nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from ndcg_ab.results.cost_records import CostDifference
from ndcg_ab.results.ledger import SCORED_GATE
from ndcg_ab.results.numbers import signed
from ndcg_ab.results.wording import GATE, GUARDRAILS, PRIMARY
from ndcg_core.statistics.verdicts.comparison import Comparison
from ndcg_core.statistics.verdicts.verdict import Size, State, Tone, Verdict, state_of

# Names of gates whose failures are verdicts of the candidate, and told as such.
NO_REGRESSION, GUARDRAILS_GATE, NOT_WORSE = "no regression", "guardrails", "not worse"
SLICE_REGRESSION, UNANSWERED = "slice regression", "unanswered"
JUDGED = "judged"  # the gate that asks for more judgments, and for nothing else
NO_DROP = "no drop"  # the gate on a system's own ranking: if the baseline's dropped, that is no failure of a candidate
TOLD_BY_VERDICTS = (NO_REGRESSION, GUARDRAILS_GATE, NOT_WORSE)
FAILURES = {  # a gate -> what a system did for which it fails
    NO_REGRESSION: "regressed",
    GUARDRAILS_GATE: "fails a guardrail",
    NOT_WORSE: "has a loss that is not ruled out",
    NO_DROP: "dropped",
    JUDGED: "is too little judged",
    SCORED_GATE: "has too few scored queries",
    SLICE_REGRESSION: "regressed on a slice",
    UNANSWERED: "leaves too many queries unanswered",
}
NAMED = 2  # comparisons that a reason names; more are counted


class Choice(StrEnum):
    """The recommended decision on a candidate."""

    SHIP = "ship"
    """Better by more than the smallest effect, and guardrails hold."""
    SHIP_IF_CHEAP = "ship_if_cheap"
    """Better, but it is open by how much, or no smallest effect is set; guardrails hold."""
    DO_NOT_SHIP = "do_not_ship"
    """A primary metric or a guardrail is shown to be worse, or another gate failed."""
    JUDGE_MORE = "judge_more"
    """The queries do not settle the comparison."""
    MEASURE_MORE = "measure_more"
    """The queries do not settle the costs, and settle everything else."""
    JUDGE_RESULTS = "judge_results"
    """The queries settle the comparison as far as results are judged, but unjudged results could reverse it."""
    NOTHING_CHANGED = "nothing_changed"
    """Every primary metric has equal values, or a difference shown to be smaller than the smallest effect."""

    @property
    def traits(self) -> "Traits":
        """The presentation of the decision in all reports."""
        return TRAITS[self]

    @property
    def words(self) -> str:
        """The decision in words for people: ``judge more queries``."""
        return self.traits.words or self.replace("_", " ")

    @property
    def mark(self) -> str:
        """The one-character symbol of the decision."""
        return self.traits.mark


class Traits(NamedTuple):
    """The presentation of a decision.

    position: place in the order of decisions, 1 for the best. mark: one-character symbol. tone: colour class.
    advice: a sentence. words: the decision in words; "" if the words are the name of the decision.
    """

    position: int
    mark: str
    tone: Tone
    advice: str
    words: str = ""


WAIT = "Keep the baseline for now"
TRAITS = {
    Choice.SHIP: Traits(1, "✓", Tone.GOOD, "Ship it."),
    Choice.SHIP_IF_CHEAP: Traits(2, "✓", Tone.GOOD, "Ship it if it costs little."),
    Choice.DO_NOT_SHIP: Traits(6, "✗", Tone.BAD, "Do not ship it."),
    Choice.JUDGE_MORE: Traits(4, "?", Tone.OPEN, f"{WAIT}: these queries do not settle it.", "judge more queries"),
    Choice.MEASURE_MORE: Traits(
        4, "?", Tone.OPEN, f"{WAIT}: measure the costs of more queries.", "measure more queries"
    ),
    Choice.JUDGE_RESULTS: Traits(
        3,
        "?",
        Tone.OPEN,
        "Judge the unjudged top results: they could change the result (ndcg-ab judge-next).",
        "judge more results",
    ),
    Choice.NOTHING_CHANGED: Traits(
        5, "=", Tone.DIM, "Nothing that matters. If something should have changed: are these the right files?"
    ),
}


@dataclass(frozen=True)
class Decision:
    """The recommended decision on one candidate.

    Attributes
    ----------
    candidate : str
        Name of the system.
    decision : Choice
        The recommendation.
    reason : str
        Why, in one line.
    """

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
    """Return the decision on one candidate.

    comparisons: the comparisons of all candidates. failures: failed gates that concern the candidate, in words, without
    gates that only repeat verdicts (TOLD_BY_VERDICTS). few_judged: failures of the gates on judged results and scored
    queries, in words. costs: the candidate's guardrails on costs of requests.
    """
    rows = [row for row in comparisons if row.candidate == candidate]
    guarded = [row for row in rows if row.family in (GUARDRAILS, GATE)]
    primary = [row for row in rows if row.family == PRIMARY]
    harmed = [row for row in [*guarded, *primary] if measured_state(row).is_harm]
    turned = [row for row in harmed if can_be_reversed(row)]
    certain = [row for row in harmed if not can_be_reversed(row)]
    broken = [row.sentence for row in costs if row.conclusion is Verdict.WORSE]
    if certain or failures or broken:
        return Decision(candidate, Choice.DO_NOT_SHIP, "; ".join([*list_verdicts(certain), *broken, *failures]))
    if turned:
        return Decision(candidate, Choice.JUDGE_RESULTS, "; ".join([*list_verdicts(turned), *few_judged]))
    open_rows = [row for row in guarded if measured_state(row).is_undecided]
    open_primary = [row for row in primary if measured_state(row).is_undecided]
    open_costs = [row.sentence for row in costs if row.conclusion is Verdict.MAY_BE_WORSE]
    if open_rows or open_primary or not primary:
        why = [*list_verdicts([*open_rows, *open_primary]), *open_costs, *few_judged]
        return Decision(candidate, Choice.JUDGE_MORE, "; ".join(why) or "no primary metric is compared")
    turned = [row for row in [*primary, *guarded] if can_be_reversed(row)]
    if turned or few_judged:
        return Decision(candidate, Choice.JUDGE_RESULTS, "; ".join([*list_verdicts(turned), *open_costs, *few_judged]))
    if open_costs:
        return Decision(candidate, Choice.MEASURE_MORE, "; ".join(open_costs))
    better = [row for row in primary if state_despite_unjudged(row).is_gain]
    if enough := [row for row in better if state_despite_unjudged(row) is State.BETTER_BY_MORE]:
        return Decision(candidate, Choice.SHIP, "; ".join(list_verdicts(enough)))
    if better:
        return Decision(candidate, Choice.SHIP_IF_CHEAP, "; ".join(list_verdicts(better)))
    reason = "; ".join(list_verdicts([row for row in primary if measured_state(row) is not State.SAME]))
    same = f"every query has the same value on {' and '.join(row.metric for row in primary)}"
    return Decision(candidate, Choice.NOTHING_CHANGED, reason or same)


def measured_state(row: Comparison) -> State:
    """Return the state of a comparison as measured, that is with unjudged results counted as not relevant."""
    return state_of(row.conclusion, row.size)


def state_despite_unjudged(row: Comparison) -> State:
    """Return the state of a comparison that holds whatever the unjudged results are worth, within limits.

    The limits are those of the label factor f >= 1: unjudged results may gain up to f times more or less often than
    judged ones. UNKNOWN if the effect of unjudged results was not computed.
    """
    return State.UNKNOWN if row.unjudged is None else row.unjudged.state


def can_be_reversed(row: Comparison) -> bool:
    """Return whether a comparison is decided on judged results, but unjudged results could reverse it.

    If the effect of unjudged results is unknown, they are assumed to reverse it. False for an undecided comparison.
    """
    return not measured_state(row).is_undecided and state_despite_unjudged(row).is_undecided


def list_verdicts(rows: Sequence[Comparison]) -> Iterator[str]:
    """Yield the verdict of each of the first `NAMED` comparisons in words, then "and N more" if there are others."""
    for row in rows[:NAMED]:
        is_shown = row.conclusion.traits.tells_difference and row.difference is not None
        number = f" ({signed(row.difference)})" if is_shown else ""
        tipping = f"; {describe_tipping(row)}" if can_be_reversed(row) else ""
        yield f"{row.metric} {row.verdict}{number}{tipping}{size_doubt_text(row)}{needed_queries_text(row)}"
    if len(rows) > NAMED:
        yield f"and {len(rows) - NAMED} more"


def needed_queries_text(row: Comparison) -> str:
    """Return in words how many queries would decide an undecided comparison with 80 % power.

    Empty if this number is unknown or not above the present number. For clustered queries the text counts clusters.
    """
    count, many = (row.queries, "queries") if row.clusters is None else (row.clusters.count, "clusters")
    if row.queries_needed is None or row.queries_needed <= count:
        return ""
    return f": {count} {many}, about {row.queries_needed:,} needed"


def size_doubt_text(row: Comparison) -> str:
    """Return a clause which says that a gain is not shown to exceed the smallest effect, or "".

    The text is "" if the gain is shown to exceed the smallest effect, if there is no gain or no smallest effect, and if
    unjudged results could reverse the gain.
    """
    if not measured_state(row).is_gain or measured_state(row) is state_despite_unjudged(row) is State.BETTER_BY_MORE:
        return ""
    if row.smallest_effect is None:
        return ""
    by_labels = ", if unjudged results are considered" if row.size is Size.BY_MORE_THAN else ""
    return f", not shown to be by more than {row.smallest_effect:g}{by_labels}" if not can_be_reversed(row) else ""


def describe_tipping(row: Comparison) -> str:
    """Return a clause on how good unjudged results must be to turn a verdict.

    Such as ``turns if unjudged results of old are 1.3 times as good as …``. The clause says so if this is not known.
    """
    factor = row.unjudged.tipping_factor if row.unjudged else None
    if factor is None:
        return "it is not known what unjudged results could do to it"
    if row.unjudged and not row.unjudged.documents:
        return "turns if queries of the log that were not drawn differ enough"
    if factor == 1:
        return "turns if unjudged results are as good as judged ones"
    measured = measured_state(row)
    worse, better = (row.baseline, row.candidate) if measured.is_harm else (row.candidate, row.baseline)
    if measured in (State.SAME, State.SMALLER):  # no system is favoured, and either direction turns it
        worse, better = "the other", "one system"
    good, bad = f"{factor:g} times as good as judged ones", f"{factor:g} times as bad"
    return f"turns if unjudged results of {better} are {good}, and those of {worse} {bad}"
