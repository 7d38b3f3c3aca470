"""The findings of the data check in lines, those of one kind over all systems in one."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ndcg_ab.report.words.text import judged_label
from ndcg_ab.results.numbers import percent_below
from ndcg_ab.results.outcome import Finding, Outcome
from ndcg_ab.results.wording import FEW_JUDGED
from ndcg_core.measures.external_metric import make_metric

# code of a finding that questions every number of a system -> in a few words
GRAVE = {"nothing_scored": "nothing is scored", "rank_disagrees": "{} ranks disagree with the scores"}
NAMED = 6  # systems that a finding names; more are counted
MOST_NOTES = 3  # notes of comparisons and slices that are shown


class Line(NamedTuple):
    """A finding, or several of one kind, in one line. severity, code: as of the findings."""

    severity: str
    text: str
    code: str = ""


class Kind(NamedTuple):
    """What findings of one line have in common; about: a metric, or the label of judged results at a cutoff."""

    severity: str
    code: str
    about: str


def finding_lines(outcome: Outcome) -> list[Line]:
    """The findings that say something, those of one kind over all systems in one line; not those in `banner_sentences`.

    Left out are ties whose order moves no value by enough to matter.
    """
    groups: dict[Kind, list[Finding]] = {}
    for finding in outcome.findings:
        is_silent = (finding.code, finding.severity) == ("tied_places", "note")
        if finding.code not in GRAVE and finding.severity != "ignored" and not is_silent:
            about = ABOUT.get(finding.code, str)(finding.metric) if finding.metric else ""
            group = groups.setdefault(Kind(finding.severity, finding.code, about), [])
            # Of metrics that look at the same places one speaks for all.
            if finding.metric is None or finding.system not in {other.system for other in group}:
                group.append(finding)
    systems = len({row.system_id for row in outcome.systems})
    groups = merge_cutoff_groups(groups)
    lines = [
        Line(severity, text, code)
        for (severity, code, about), group in groups.items()
        for text in format_finding_group(code, about, group, systems)
    ]
    return [*lines, *(Line("note", text) for text in format_ignored(outcome.findings))]


def cutoff_metric_name(metric: str) -> str:
    return judged_label(make_metric(metric))


# code -> what its findings are grouped by, of the metric that each is about
ABOUT: dict[str, Callable[[str], str]] = {
    "few_judged": cutoff_metric_name,
    "judged_differs": cutoff_metric_name,
    "different_depths": lambda metric: "",
}


def format_ignored(findings: Sequence[Finding]) -> list[str]:
    """How many findings the configuration says to ignore, by their codes; nothing where there are none."""
    counts = Counter(finding.code for finding in findings if finding.severity == "ignored")
    if not counts:
        return []
    number = counts.total()
    each = ", ".join(f"{code} {count}" if count > 1 else code for code, count in counts.items())
    return [f"{number} finding{'s are' if number > 1 else ' is'} ignored, as the configuration says: {each}"]


def merge_cutoff_groups(groups: Mapping[Kind, list[Finding]]) -> dict[Kind, list[Finding]]:
    """Few judged results of several cutoffs as one group, where they are the same shares of the same systems.

    They are where rankings are shorter than the cutoffs.
    """
    alike: dict[tuple[object, ...], list[Kind]] = {}
    for kind, group in groups.items():
        shares = frozenset((finding.system, finding.value) for finding in group)
        alike.setdefault((shares, kind.severity) if kind.code == "few_judged" else (kind,), []).append(kind)
    return {
        Kind(kinds[0].severity, kinds[0].code, ", ".join(kind.about for kind in kinds)): groups[kinds[0]]
        for kinds in alike.values()
    }


def format_finding_group(code: str, about: str, group: Sequence[Finding], systems: int) -> list[str]:
    """One line for a kind of finding, where it has a short form; else a line for each."""
    if code not in SHORT or any(finding.system is None for finding in group):
        return [finding.message for finding in group]
    return [SHORT[code](about, group, systems)]


def count_formatter(verb: str, verbs: str, noun: str, nouns: str) -> Callable[[str, Sequence[Finding], int], str]:
    """Return a formatter of counts that belong to one system each, never to all systems together.

    ``each of 5 systems answers 81 unjudged queries``; ``2 of 5 systems answer unjudged queries: bm25 81, ance 80``.
    verb, noun: of one system, and of a count of 1. verbs, nouns: of several.
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


def format_judged_group(about: str, group: Sequence[Finding], systems: int) -> str:
    ordered = sorted(group, key=lambda finding: finding.value or 0.0)
    if len(ordered) > NAMED:
        least = f"{format_judged_share(ordered[0])} ({ordered[0].system})"
        return f"{about}: {len(group)} of {systems} systems from {least} up"
    return f"{about}: {', '.join(f'{finding.system} {format_judged_share(finding)}' for finding in ordered)}"


def format_judged_share(finding: Finding) -> str:
    return percent_below(finding.value or 0.0, FEW_JUDGED)


def format_tied_group(about: str, group: Sequence[Finding], systems: int) -> str:
    ordered = sorted(group, key=lambda finding: -(finding.value or 0.0))
    if not about:
        return f"equal scores decide places: {join_first([f'{finding.system} {finding.count}' for finding in ordered])}"
    each = join_first([f"{finding.system} {finding.value or 0.0:.4f}" for finding in ordered])
    return f"the order of equal scores could move {about}: {each}"


SHORT: dict[str, Callable[[str, Sequence[Finding], int], str]] = {
    "few_judged": format_judged_group,
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
    """The first few, and how many more there are."""
    more = f" and {len(texts) - NAMED} more" if len(texts) > NAMED else ""
    return ", ".join(texts[:NAMED]) + more
