"""How a comparison is marked, and what a metric is there for."""

from ndcg_ab.results.decisions import is_turned
from ndcg_ab.results.outcome import Outcome
from ndcg_ab.results.wording import GATE, GUARDRAILS, SECONDARY
from ndcg_core.statistics.verdicts.comparison import Comparison
from ndcg_core.statistics.verdicts.verdict import Verdict

MARKS = {kind: kind.traits.mark for kind in Verdict if kind.traits.mark}
UNDECIDED_MARK = "●"


def comparison_mark(comparison: Comparison) -> str:
    """▲ improved, ▼ regressed, ✓ holds, ? open and ✗ worse of guardrails, ● any other.

    A guardrail that unjudged results could turn is open.
    """
    if comparison.conclusion.holds_margin and is_turned(comparison):
        return MARKS[Verdict.MAY_BE_WORSE]
    return MARKS.get(comparison.conclusion, UNDECIDED_MARK)


def speaks_for_candidate(comparison: Comparison) -> bool | None:
    """Whether a primary metric or a guardrail speaks for the candidate, against it, or (None) neither.

    What unjudged results could turn speaks for nobody.
    """
    if comparison.conclusion.is_harm:
        return None if is_turned(comparison) else False
    favours = comparison.conclusion.holds_margin or comparison.conclusion.direction > 0
    return True if favours and not is_turned(comparison) else None


def gate_margin_tests(outcome: Outcome, metric: str) -> dict[str, Comparison]:
    """Candidate -> the test of the gate's margin on a metric; empty where the gate has none there."""
    return {row.candidate: row for row in outcome.comparisons if row.family == GATE and row.metric == metric}


def describe_metric_role(outcome: Outcome, metric: str) -> list[str]:
    """What a metric is there for, where it is no primary one, and what the gate asks of it."""
    rows = [row for row in outcome.main if row.metric == metric]
    asked = next(iter(gate_margin_tests(outcome, metric).values()), None)
    told = []
    if rows and rows[0].family == GUARDRAILS:
        told.append(f"guardrail: not worse by {rows[0].smallest_effect:g}")
    elif rows and rows[0].family == SECONDARY:
        told.append("secondary" if asked else "secondary, decides nothing")
    if asked:
        told.append(f"gate: not worse by {asked.smallest_effect:g}")
    return told


def short_verdict(outcome: Outcome, row: Comparison) -> str:
    """The verdict in a few words, and that of the gate's margin where there is one."""
    asked = gate_margin_tests(outcome, row.metric).get(row.candidate)
    return f"{row.short_verdict}; {comparison_mark(asked)} {asked.short_verdict}" if asked else row.short_verdict
