"""List reasons to doubt the decisions, remarks about the comparisons, and the findings of the data check as lines."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ndcg_ab.report import words
from ndcg_ab.results.decisions import Choice
from ndcg_ab.results.numbers import format_percent, format_percent_below, signed
from ndcg_ab.results.outcome import Finding, Outcome, SystemSummary
from ndcg_ab.results.wording import FEW_JUDGED, GUARDRAILS, PRIMARY
from ndcg_core.measures.notation import make_metric

HARDLY = "hardly any of {} results is judged"
HARDLY_JUDGED = 0.1  # below this share of judged results a verdict is mostly about what nobody judged
FEW_QUERIES = 10  # equally weighted queries; where weights leave fewer, it is a warning


class Doubt(NamedTuple):
    """A reason to doubt the decisions about some or all systems.

    sentence: the text that reports print above the answer. systems: the names of the systems in doubt; empty if all
    are. reason: a few words about one system, with the placeholder {} for "its" or "the baseline's".
    """

    sentence: str
    systems: frozenset[str]
    reason: str

    def reasons_about(self, candidate: str, baseline: str) -> list[str]:
        """Return the reasons to doubt the decision on a candidate; empty if there are none.

        A reason about the baseline comes first, then the reason about the candidate.
        """
        owners = [name for name in (baseline, candidate) if name in self.systems] if self.systems else [candidate]
        return [self.reason.format("the baseline's" if name == baseline else "its") for name in owners]


def list_doubts(outcome: Outcome) -> list[Doubt]:
    """Return the reasons to doubt decisions; usually none."""
    return [*find_grave_doubts(outcome), *find_hardly_judged(outcome)]


def find_grave_doubts(outcome: Outcome) -> Iterator[Doubt]:
    """Yield one doubt for each code of `GRAVE` that occurs among the warnings and errors.

    The sentence of a doubt describes all systems that have the finding. If a system has it on several metrics, only the
    finding with the largest value counts.
    """
    for code, reason in GRAVE.items():
        most: dict[str, Finding] = {}
        for finding in outcome.findings:
            if finding.code == code and is_grave(finding):
                system = finding.system or ""
                if system not in most or (finding.value or 0.0) > (most[system].value or 0.0):
                    most[system] = finding
        if most:
            systems = len({row.system_id for row in outcome.systems})
            sentences = format_finding_group(code, "", list(most.values()), systems)
            yield Doubt("; ".join(sentences), frozenset(most) - {""}, reason)


def is_grave(finding: Finding) -> bool:
    """Return whether a finding questions every number of a system: a warning or error with a code of `GRAVE`."""
    return finding.code in GRAVE and finding.severity in ("warning", "error")


def find_hardly_judged(outcome: Outcome) -> Iterator[Doubt]:
    """Yield one doubt about all systems with hardly any judged result; yield nothing if there are none.

    The doubt's sentence lists the systems with their judged share for each cutoff of the deciding metrics. "Hardly any"
    is a share below `HARDLY_JUDGED`.
    """
    names = {row.metric for row in outcome.comparisons if row.family in (PRIMARY, GUARDRAILS)} or {
        row.metric for row in outcome.systems
    }
    groups: dict[str, dict[str, SystemSummary]] = {}
    for row in sorted(outcome.systems, key=lambda row: (row.judged or 0.0, row.metric)):
        if row.metric in names and row.judged is not None and row.judged < HARDLY_JUDGED:
            groups.setdefault(words.judged_label(make_metric(row.metric)), {}).setdefault(row.system_id, row)
    each = [
        f"{label}: {join_first([f'{row.system_id} {format_percent(row.judged)}' for row in groups[label].values()])}"
        for label in sorted(groups, key=lambda label: int(label.partition("@")[2] or 0))
    ]
    if each:
        sentence = f"hardly any result is judged ({'; '.join(each)}): the verdicts tell little before more are judged"
        yield Doubt(sentence, frozenset(name for group in groups.values() for name in group), HARDLY)


def warn_of_few_weights(outcome: Outcome) -> list[str]:
    """Return warnings if weights or clusters leave fewer than `FEW_QUERIES` effective queries."""
    counts = [row.effective_queries for row in outcome.main if row.effective_queries is not None]
    clusters = [row.clusters.effective for row in outcome.main if row.clusters is not None]
    pairs = ((counts, words.format_weights(outcome)), (clusters, words.format_clusters(outcome)))
    return [text for numbers, text in pairs if text and numbers and min(numbers) < FEW_QUERIES]


def comparison_notes(outcome: Outcome) -> Iterator[str]:
    """Yield remarks about the comparisons, slices, pairs and sampling.

    Comparisons with equal remarks share a line.
    """
    groups: dict[str, list[str]] = {}
    for row in outcome.main:
        for text in row.notes:
            groups.setdefault(text, []).append(f"{row.candidate} on {row.metric}")
    for text, names in groups.items():
        count_text = f"{len(names)} of {len(outcome.main)} comparisons"
        yield f"{text}: {', '.join(names) if len(names) <= MOST_NOTES else count_text}"
    yield from filter(None, [describe_slices(outcome)])
    if outcome.pairs:
        detected = sum(row.conclusion.is_detected for row in outcome.pairs)
        yield f"{len(outcome.pairs)} pairs of systems, {detected} with a difference that is shown"
    sampled = (
        words.format_weights(outcome),
        words.format_clusters(outcome),
        words.proxy_note(outcome),
        words.completeness_note(outcome),
        words.function_note(outcome),
    )
    yield from [text for text in sampled if text is not None and text not in warn_of_few_weights(outcome)]
    if lacks_smallest_effect(outcome):
        yield f"{ENOUGH}: set {SET_EFFECT} (statistics.smallest_effect)"


def describe_slices(outcome: Outcome) -> str:
    """Return a sentence that lists the slices with a shown difference.

    If no slice has one, the sentence says so. The text is empty without slices.
    """
    rows = [row for row in outcome.slices if row.conclusion.is_detected]
    if not rows:
        count = len({(row.attribute, row.slice) for row in outcome.slices})
        return f"{count} slice{'s' * (count > 1)}: no difference is shown in any" if count else ""
    several = len({row.metric for row in outcome.slices}) > 1
    each = [
        f"{row.attribute} {row.slice}: {row.candidate}{f' on {row.metric}' if several else ''} {row.verdict}"
        f" ({signed(row.difference)})"
        for row in rows
    ]
    more = f"; and {len(each) - MOST_NOTES} more" if len(each) > MOST_NOTES else ""
    return f"slices, where to look: {'; '.join(each[:MOST_NOTES])}{more}"


ENOUGH = "no smallest effect says whether this is enough"
SET_EFFECT = "--smallest-effect 0.01"


def lacks_smallest_effect(outcome: Outcome) -> bool:
    """Return whether no smallest effect is set although setting one could change a decision."""
    has_effects = any(row.smallest_effect is not None for row in outcome.main if row.family == PRIMARY)
    return not has_effects and any(found.decision is Choice.SHIP_IF_CHEAP for found in outcome.decisions)


# code of a finding that questions every number of a system -> in a few words
GRAVE = {"nothing_scored": "nothing is scored", "rank_disagrees": "{} ranks disagree with the scores"}
NAMED = 6  # systems that a finding names; more are counted
MOST_NOTES = 3  # notes of comparisons and slices that are shown


class Line(NamedTuple):
    """One line of a report: a finding, several findings of one kind, or another warning.

    severity: "error", "warning" or "note". code: the code of the findings; empty for another warning. command: the
    command that helps, or empty. more: further lines with the same cause, which short reports leave out.
    """

    severity: str
    text: str
    code: str = ""
    command: str = ""
    more: tuple["Line", ...] = ()

    @property
    def texts(self) -> list[str]:
        """Return the text of this line, then the texts of the further lines in `more`."""
        return [self.text, *(line.text for line in self.more)]


Kind = tuple[str, str, str]  # severity and code of findings of one line, and what they are about, as a metric


def finding_lines(outcome: Outcome) -> list[Line]:
    """Return the findings as lines; findings of one kind share a line over all systems.

    Warnings and errors with a code of `GRAVE` are left out, because they are doubts. Notes on tied results are left
    out, too. The ignored findings are counted in one line.
    """
    groups: dict[Kind, list[Finding]] = {}
    for finding in outcome.findings:
        is_silent = (finding.code, finding.severity) == ("tied_places", "note")
        if not is_grave(finding) and finding.severity != "ignored" and not is_silent:
            about = ABOUT.get(finding.code, str)(finding.metric) if finding.metric else ""
            group = groups.setdefault((finding.severity, finding.code, about), [])
            # Of metrics that look at the same ranks one speaks for all.
            if finding.metric is None or finding.system not in {other.system for other in group}:
                group.append(finding)
    systems = len({row.system_id for row in outcome.systems})
    groups = merge_cutoff_groups(groups)
    lines = [
        Line(severity, text, code)
        for (severity, code, about), group in groups.items()
        for text in format_finding_group(code, about, group, systems)
    ]
    ignored = Counter(finding.code for finding in outcome.findings if finding.severity == "ignored")
    if number := ignored.total():
        each = ", ".join(f"{code} {count}" if count > 1 else code for code, count in ignored.items())
        are = "finding is" if number == 1 else "findings are"
        lines.append(Line("note", f"{number} {are} ignored, as the configuration says: {each}"))
    return lines


# code -> what its findings are grouped by, of the metric that each is about
ABOUT: dict[str, Callable[[str], str]] = {
    "few_judged": lambda metric: words.judged_label(make_metric(metric)),
    "judged_differs": lambda metric: words.judged_label(make_metric(metric)),
    "different_depths": lambda metric: "",
}


def merge_cutoff_groups(groups: Mapping[Kind, list[Finding]]) -> dict[Kind, list[Finding]]:
    """Return the groups of findings, with `few_judged` groups merged if they differ only in the cutoff.

    Groups that differ only in the cutoff have equal systems and equal judged shares. This happens if rankings are
    shorter than the cutoffs.
    """
    alike: dict[tuple[object, ...], list[Kind]] = {}
    for (severity, code, about), group in groups.items():
        shares = frozenset((finding.system, finding.value) for finding in group)
        key = (shares, severity) if code == "few_judged" else (severity, code, about)
        alike.setdefault(key, []).append((severity, code, about))
    return {(*kinds[0][:2], ", ".join(about for _, _, about in kinds)): groups[kinds[0]] for kinds in alike.values()}


def format_finding_group(code: str, about: str, group: Sequence[Finding], systems: int) -> list[str]:
    """Return the lines for a group of findings with one code.

    If every finding names a system, the group is one line. Otherwise each finding is a line. about: what the findings
    are about, such as a metric. systems: number of systems of the evaluation.
    """
    if any(finding.system is None for finding in group):
        return [finding.message for finding in group]
    if code in SHORT:
        return [SHORT[code](about, group, systems)]
    others = list(dict.fromkeys(finding.system for finding in group[1:] if finding.system))
    return [group[0].message + (f" (likewise {join_first(others)})" if others else "")]


def count_formatter(verb: str, verbs: str, noun: str, nouns: str) -> Callable[[str, Sequence[Finding], int], str]:
    """Return a function that formats findings, one per system, as a text with the count of each system.

    The text is ``each of 5 systems answers 81 unjudged queries`` if all systems have equal counts; otherwise it is like
    ``2 of 5 systems answer unjudged queries: bm25 81, ance 80``. For a single finding it is the finding's message. The
    function takes a text that it does not use, the findings and the number of systems.
    verb, verbs: the verb in the singular and in the plural.
    noun, nouns: the noun in the singular and in the plural.
    """

    def text(about: str, group: Sequence[Finding], systems: int) -> str:
        if len(group) == 1:
            return group[0].message
        counts = {finding.count for finding in group}
        if len(counts) == 1 and len(group) == systems > 1:
            count = counts.pop()
            return f"each of {systems} systems {verb} {count} {noun if count == 1 else nouns}"
        ordered = sorted(group, key=lambda finding: -finding.count)
        each = join_first([f"{finding.system} {finding.count}" for finding in ordered])
        return f"{len(group)} of {systems} systems {verbs} {nouns}: {each}"

    return text


def format_judged_shares(about: str, group: Sequence[Finding], systems: int) -> str:
    ordered = sorted(group, key=lambda finding: finding.value or 0.0)
    if len(ordered) > NAMED:
        least = f"{format_judged_share(ordered[0])} ({ordered[0].system})"
        return f"{about}: {len(group)} of {systems} systems from {least} up"
    return f"{about}: {', '.join(f'{finding.system} {format_judged_share(finding)}' for finding in ordered)}"


def format_judged_share(finding: Finding) -> str:
    return format_percent_below(finding.value or 0.0, FEW_JUDGED)


def format_tied_group(about: str, group: Sequence[Finding], systems: int) -> str:
    ordered = sorted(group, key=lambda finding: -(finding.value or 0.0))
    if not about:
        return f"equal scores decide places: {join_first([f'{finding.system} {finding.count}' for finding in ordered])}"
    each = join_first([f"{finding.system} {finding.value or 0.0:.4f}" for finding in ordered])
    return f"the order of equal scores could move {about}: {each}"


SHORT: dict[str, Callable[[str, Sequence[Finding], int], str]] = {
    "few_judged": format_judged_shares,
    "tied_places": format_tied_group,
    "unjudged_query": count_formatter("answers", "answer", "unjudged query", "unjudged queries"),
    "unanswered_query": count_formatter("returns nothing for", "return nothing for", "judged query", "judged queries"),
    "rank_disagrees": count_formatter(
        "gives ranks that disagree with its scores, which decide, in",
        "give ranks that disagree with their scores, which decide, in",
        "query",
        "queries",
    ),
    "repeated_rank": count_formatter("repeats ranks in", "repeat ranks in", "query", "queries"),
    "duplicate_document": count_formatter("holds", "hold", "document more than once", "documents more than once"),
}


def join_first(texts: Sequence[str]) -> str:
    """Return the first `NAMED` texts joined with commas, then the number of the other texts."""
    more = f" and {len(texts) - NAMED} more" if len(texts) > NAMED else ""
    return ", ".join(texts[:NAMED]) + more
