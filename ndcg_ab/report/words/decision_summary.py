"""Decisions in a line: for lists of evaluations, where there is room for little else."""

from collections.abc import Mapping

from ndcg_ab.report.answer.answer import make_answer
from ndcg_ab.results.decisions import (
    GUARDRAILS_GATE,
    JUDGED,
    NO_DROP,
    NO_REGRESSION,
    NOT_WORSE,
    SLICE_REGRESSION,
    UNANSWERED,
    Choice,
)
from ndcg_ab.results.ledger import SCORED_GATE
from ndcg_ab.results.numbers import signed
from ndcg_ab.results.outcome import Outcome
from ndcg_ab.results.wording import PRIMARY

BEST_FIRST = sorted(Choice, key=lambda choice: choice.traits.place)
NAMED = 2  # candidates that one decision names; more are counted
FAILURES = {  # a gate -> what a system did for which it fails
    NO_REGRESSION: "regressed",
    GUARDRAILS_GATE: "fails a guardrail",
    NOT_WORSE: "may be too much worse",
    NO_DROP: "dropped",
    JUDGED: "is too little judged",
    SCORED_GATE: "has too few scored queries",
    SLICE_REGRESSION: "regressed on a slice",
    UNANSWERED: "leaves too many queries unanswered",
}


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


def format_headline(outcome: Outcome) -> str:
    """The evaluation in a few words: why a gate failed, the best candidate with its difference, the others in short.

    ``✗ dense regressed (gate failed); ship hybrid +0.0762 ndcg@10``.
    """
    groups = group_decisions(candidates_by_choice(outcome))
    parts = [format_best(outcome, *groups[0])] if groups else ["nothing is compared"]
    for choice, names in groups[1:]:
        parts.append(format_choice(choice, names) if len(names) == 1 else f"{choice.words} {len(names)}")
    text = "; ".join(parts)
    if outcome.gate == "failed":
        return f"✗ {format_gate_failure(outcome)} (gate failed); {text}"
    return f"{groups[0][0].mark} {text}" if groups else text


def format_best(outcome: Outcome, choice: Choice, names: list[str]) -> str:
    """``ship hybrid +0.0762 ndcg@10 and 1 more``: the first of those that share the best decision.

    ``hybrid: judge more results +0.0732 ndcg@10``: of long words the name comes first, since MLflow cuts a run's name.
    """
    best = next(each for each in make_answer(outcome).candidates if each.choice is choice)
    rows = [row for row in best.deciding if row.comparison.family == PRIMARY and row.difference is not None]
    figure = f" {signed(rows[0].difference)} {rows[0].metric}" if rows else ""
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    said = f"{choice.words} {best.name}" if choice.words.endswith("ship") else f"{best.name}: {choice.words}"
    return f"{said}{figure}{more}"


def format_gate_failure(outcome: Outcome) -> str:
    """Of the failed gates the first, by what happened: ``dense and 1 more regressed``, and how many others failed."""
    first, *others = outcome.failures
    systems = list(dict.fromkeys(first.systems))
    more = f" and {len(systems) - 1} more" if len(systems) > 1 else ""
    what = f"{systems[0]}{more} {FAILURES[first.name]}" if systems and first.name in FAILURES else first.name
    return f"{what}, {len(others)} more" if others else what


def format_reasons(outcome: Outcome) -> str:
    """The decisions with their reasons, in one line."""
    each = [
        f"{each.choice.mark} {format_choice(each.choice, [each.name])} ({each.reason})"
        for each in make_answer(outcome).candidates
    ]
    return "; ".join(each) or "nothing is compared"
