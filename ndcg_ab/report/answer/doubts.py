"""What questions the decisions about some systems, or about all, and what to keep in mind about the comparisons."""

from collections.abc import Iterator
from typing import NamedTuple

from ndcg_ab.report.answer.findings import GRAVE, MOST_NOTES, format_finding_group, join_first
from ndcg_ab.report.words.text import (
    completeness_note,
    format_clusters,
    format_weights,
    function_note,
    judged_label,
    proxy_note,
)
from ndcg_ab.results.decisions import Choice
from ndcg_ab.results.numbers import format_percent, signed
from ndcg_ab.results.outcome import Finding, Outcome, SystemSummary
from ndcg_ab.results.wording import GUARDRAILS, PRIMARY
from ndcg_core.measures.external_metric import make_metric

HARDLY = "hardly any of {} results is judged"
HARDLY_JUDGED = 0.1  # below this share of judged results a verdict is mostly about what nobody judged
FEW_QUERIES = 10  # equally weighted queries; where weights leave fewer, it is a warning


class Doubt(NamedTuple):
    """What questions the decisions about some systems, or about all of them.

    sentence: what is above the answer. systems: those that it names; empty: every one. reason: the same in a few
    words about one of them, with {} for "its" or "the baseline's".
    """

    sentence: str
    systems: frozenset[str]
    reason: str

    def about(self, candidate: str, baseline: str) -> str | None:
        """The reason to doubt the decision on a candidate: its own, or its baseline's; None without one."""
        if not self.systems or candidate in self.systems:
            return self.reason.format("its")
        return self.reason.format("the baseline's") if baseline in self.systems else None


def list_doubts(outcome: Outcome) -> list[Doubt]:
    """What questions decisions; most often nothing."""
    return [*grave_findings(outcome), *find_hardly_judged(outcome)]


def reasons_for_doubt(outcome: Outcome) -> dict[str, str]:
    """Candidate -> why the decision on it is in doubt, in a few words; without those that are in none."""
    found = list_doubts(outcome)
    reasons = {
        row.candidate: [told for doubt in found if (told := doubt.about(row.candidate, outcome.baseline))]
        for row in outcome.decisions
    }
    return {candidate: " and ".join(dict.fromkeys(told)) for candidate, told in reasons.items() if told}


def grave_findings(outcome: Outcome) -> Iterator[Doubt]:
    """Findings that question every number of a system; where several metrics tell one, of the one that it moves most.

    Those of many systems share a sentence.
    """
    for code, reason in GRAVE.items():
        most: dict[str, Finding] = {}
        for finding in outcome.findings:
            if finding.code == code and finding.severity != "ignored":
                system = finding.system or ""
                if system not in most or (finding.value or 0.0) > (most[system].value or 0.0):
                    most[system] = finding
        if len(most) <= MOST_NOTES:
            for system, finding in most.items():
                yield Doubt(finding.message, frozenset({system} - {""}), reason)
        else:
            systems = len({row.system_id for row in outcome.systems})
            sentences = format_finding_group(code, "", list(most.values()), systems)
            yield Doubt("; ".join(sentences), frozenset(most), reason)


def find_hardly_judged(outcome: Outcome) -> Iterator[Doubt]:
    """Says of each cutoff that decides which systems have hardly a judged result there."""
    names = {row.metric for row in outcome.comparisons if row.family in (PRIMARY, GUARDRAILS)} or {
        row.metric for row in outcome.systems
    }
    groups: dict[str, dict[str, SystemSummary]] = {}
    for row in sorted(outcome.systems, key=lambda row: (row.judged or 0.0, row.metric)):
        if row.metric in names and row.judged is not None and row.judged < HARDLY_JUDGED:
            groups.setdefault(judged_label(make_metric(row.metric)), {}).setdefault(row.system_id, row)
    each = [
        f"{label}: {join_first([f'{row.system_id} {format_percent(row.judged)}' for row in groups[label].values()])}"
        for label in sorted(groups, key=lambda label: int(label.partition("@")[2] or 0))
    ]
    if each:
        sentence = f"hardly any result is judged ({'; '.join(each)}): the verdicts tell little before more are judged"
        yield Doubt(sentence, frozenset(name for group in groups.values() for name in group), HARDLY)


def warn_of_few_weights(outcome: Outcome) -> list[str]:
    """Warns where weights leave hardly any query that counts, or there are hardly any clusters."""
    counts = [row.effective_queries for row in outcome.main if row.effective_queries is not None]
    clusters = [row.clusters.effective for row in outcome.main if row.clusters is not None]
    pairs = ((counts, format_weights(outcome)), (clusters, format_clusters(outcome)))
    return [told for numbers, told in pairs if told and numbers and min(numbers) < FEW_QUERIES]


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
        more = f"; and {len(each) - MOST_NOTES} more" if len(each) > MOST_NOTES else ""
        found.append(f"slices, where to look: {'; '.join(each[:MOST_NOTES])}{more}")
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
