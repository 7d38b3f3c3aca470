"""What to keep in mind about the comparisons."""

from collections.abc import Sequence

from ndcg_ab.report.answer.doubts import warn_of_few_weights
from ndcg_ab.report.answer.findings import MOST_NOTES
from ndcg_ab.report.words.text import completeness_note, format_clusters, format_weights, function_note, proxy_note
from ndcg_ab.results.decisions import Choice
from ndcg_ab.results.outcome import Outcome
from ndcg_ab.results.wording import PRIMARY, signed


def comparison_notes(outcome: Outcome) -> list[str]:
    """What to keep in mind about the comparisons, those with one note in one line; slices that show something."""
    groups: dict[str, list[str]] = {}
    for row in outcome.main:
        for text in row.notes:
            groups.setdefault(text, []).append(f"{row.candidate} on {row.metric}")
    found = []
    for text, names in groups.items():
        counted = f"{len(names)} of {len(outcome.main)} comparisons"
        found.append(f"{text}: {', '.join(names) if len(names) <= MOST_NOTES else counted}")
    shown = [row for row in outcome.slices if row.conclusion.is_detected]
    if shown:
        several = len({row.metric for row in outcome.slices}) > 1
        each = [
            f"{row.attribute} {row.slice}: {row.candidate}{f' on {row.metric}' if several else ''} {row.verdict}"
            f" ({signed(row.difference)})"
            for row in shown
        ]
        found.append(f"slices, where to look: {'; '.join(each[:MOST_NOTES])}{count_of_others(each)}")
    elif outcome.slices:
        count = len({(row.attribute, row.slice) for row in outcome.slices})
        found.append(f"{count} slice{'s' * (count > 1)}: no difference is shown in any")
    if outcome.pairs:
        detected = sum(row.conclusion.is_detected for row in outcome.pairs)
        found.append(f"{len(outcome.pairs)} pairs of systems, {detected} with a difference that is shown")
    sampled = (
        format_weights(outcome),
        format_clusters(outcome),
        proxy_note(outcome),
        completeness_note(outcome),
        function_note(outcome),
    )
    found += [told for told in sampled if told is not None and told not in warn_of_few_weights(outcome)]
    has_effects = any(row.smallest_effect is not None for row in outcome.main if row.family == PRIMARY)
    if any(found.decision is Choice.SHIP_IF_CHEAP for found in outcome.decisions) and not has_effects:
        found.append("whether an improvement is enough is open: no smallest effect is set (--smallest-effect)")
    return found


def count_of_others(texts: Sequence[str]) -> str:
    return f"; and {len(texts) - MOST_NOTES} more" if len(texts) > MOST_NOTES else ""
