"""Decisions in a line: for lists of evaluations, where there is room for little else."""

from collections.abc import Mapping

from ndcg_ab.report.answer.answer import make_answer
from ndcg_ab.results.decisions import Choice
from ndcg_ab.results.outcome import Outcome

BEST_FIRST = sorted(Choice, key=lambda choice: choice.traits.place)
NAMED = 2  # candidates that one decision names; more are counted


def group_decisions(decisions: Mapping[str, Choice]) -> list[tuple[Choice, list[str]]]:
    """Each decision with the candidates that it is about, the best first."""
    groups = [(choice, [name for name, found in decisions.items() if found is choice]) for choice in BEST_FIRST]
    return [(choice, names) for choice, names in groups if names]


def candidates_by_choice(outcome: Outcome) -> dict[str, Choice]:
    """Candidate, with a word where its decision is in doubt -> decision."""
    return {
        f"{each.name} (in doubt)" if each.doubt else each.name: each.choice for each in make_answer(outcome).candidates
    }


def format_choice(choice: Choice, names: list[str]) -> str:
    """``do not ship dense, ance and 3 more``; ``judge more queries: dense``."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    verb = choice.words if choice.words.endswith("ship") else f"{choice.words}:"
    return f"{verb} {', '.join(names[:NAMED])}{more}"


def format_decisions(decisions: Mapping[str, Choice]) -> str:
    """All decisions in one line: ``do not ship dense; ship hybrid``."""
    return (
        "; ".join(format_choice(choice, names) for choice, names in group_decisions(decisions)) or "nothing is compared"
    )


def format_run_name(outcome: Outcome, ordinal: int) -> str:
    """What a list of evaluations calls one: ``✗ 12 do not ship dense``, ``✗ gate failed 12: do not ship dense``."""
    found = candidates_by_choice(outcome)
    if outcome.gate == "failed":
        return f"✗ gate failed {ordinal}: {format_decisions(found)}"
    groups = group_decisions(found)
    return (
        f"{groups[0][0].mark} {ordinal} {format_decisions(found)}" if groups else f"{ordinal} {format_decisions(found)}"
    )


def format_reasons(outcome: Outcome) -> str:
    """The decisions with their reasons, in one line."""
    each = [
        f"{each.choice.mark} {format_choice(each.choice, [each.name])} ({each.reason})"
        for each in make_answer(outcome).candidates
    ]
    return "; ".join(each) or "nothing is compared"
