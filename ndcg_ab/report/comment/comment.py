"""A comparison as a comment on a pull request: Markdown as GitHub, GitLab and others read it."""

from collections.abc import Iterator, Sequence
from typing import Any

from ndcg_ab import __version__
from ndcg_ab.report.answer import (
    about_metric,
    banners,
    few_of_weight,
    finding_lines,
    gate_line,
    listed,
    mark,
    notes,
    ordered_decisions,
    short_verdict,
)
from ndcg_ab.report.sections.changes import told_changes
from ndcg_ab.report.sections.intended import intended_text
from ndcg_ab.report.terminal.sparklines import scale_of, strip
from ndcg_ab.report.words.decision_summary import candidates_by_choice, group_decisions
from ndcg_ab.report.words.escaping import escaped
from ndcg_ab.report.words.explanations import as_markdown, plain_words
from ndcg_ab.report.words.text import bounds_text, cheap_text, labels_text, level, ordered, plain, recomputed, rows_of
from ndcg_ab.results.outcome import Outcome
from ndcg_ab.results.wording import queries_text, signed
from ndcg_core.measures.metric import Metric

STRIP = 21  # characters
EXPLAINED = 3  # candidates, the gravest decisions first
QUERIES = 10  # that moved most
TOGETHER = "\N{NO-BREAK SPACE}"  # a space that is kept, and at which no line ends


def comment(outcome: Outcome, extremes: Sequence[dict[str, Any]] = ()) -> str:
    """The decision, a table for each metric, the queries that moved most, what to keep in mind.

    extremes: as `ndcg_ab.pipeline.conclude.extreme_queries` gives them; of the first metric the largest are shown.
    """
    parts = [f"### {title(outcome)}"]
    parts += [f"> **{escaped(banner)}**" for banner in banners(outcome)]
    if outcome.decisions:
        parts.append(table(["", "candidate", "decision", "why"], decision_rows(outcome)))
    if told := gate_line(outcome):
        parts.append(escaped(told))
    for metric in outcome.metrics:
        parts += metric_parts(outcome, metric)
    if moved := list(query_rows(outcome, extremes)):
        head = ["query", *(["text"] if len(moved[0]) == 4 else []), "candidate", "difference"]
        parts.append(folded(f"The queries that moved most ({outcome.metrics[0].name})", table(head, moved)))
    parts += [
        folded(f"In plain words: {words.candidate}", as_markdown(words)) for words in plain_words(outcome)[:EXPLAINED]
    ]
    if lines := [
        escaped(text)
        for text in (*(line.text for line in finding_lines(outcome)), *few_of_weight(outcome), *notes(outcome))
    ]:
        parts.append(folded(f"What to keep in mind ({len(lines)})", "\n".join(f"- {line}" for line in lines)))
    parts.append(
        f"<sub>alpha {outcome.alpha:g}, seed {outcome.seed}, {outcome.resamples} resamples;"
        f" {recomputed(outcome, '{} recomputed in Python, equal')}; ndcg-ab {__version__}</sub>"
    )
    return "\n\n".join(parts) + "\n"


def title(outcome: Outcome) -> str:
    """Every decision with its candidates, what must not ship first."""
    told = [
        f"{choice.mark} {choice.words}: {escaped(listed(names))}"
        for choice, names in group_decisions(candidates_by_choice(outcome))
    ]
    return " · ".join(told) or "Nothing is compared"


def decision_rows(outcome: Outcome) -> Iterator[list[str]]:
    for found in ordered_decisions(outcome):
        words = f"**{found.decision.words.replace(' ', TOGETHER)}**"
        yield [found.decision.mark, escaped(found.candidate), words, escaped(found.reason)]


def metric_parts(outcome: Outcome, metric: Metric) -> Iterator[str]:
    """A line about the metric, and a row for each candidate, the largest difference first."""
    means = {system.system_id: system for system, _ in rows_of(outcome, metric)}
    rows = ordered(outcome, metric)
    known = means.get(outcome.baseline)
    about = [f"**{escaped(metric.name)}**"]
    about += about_metric(outcome, metric.name)
    if known:
        about += [queries_text(known.queries), f"baseline {escaped(outcome.baseline)} {plain(known.mean)}"]
    yield " · ".join(about)
    scale = scale_of(rows)
    cells = [
        [
            f"{mark(row)}{TOGETHER}{escaped(row.candidate)}",
            plain(means[row.candidate].mean),
            signed(row.difference),
            f"`{strip(row, scale, STRIP).replace(' ', TOGETHER)}`" if scale else "",
            escaped(short_verdict(outcome, row)),
        ]
        for row in rows
    ]
    if cells:
        yield table(["candidate", "mean", "difference", f"{level(outcome.alpha)} interval", "verdict"], cells)
    changed = told_changes(outcome) if metric == outcome.metrics[0] else {}
    told = []
    for row in rows:
        texts = (intended_text(outcome, row.candidate, row.metric), bounds_text(row), labels_text(row), cheap_text(row))
        told += [(row, text) for text in (*texts, changed.get(row.candidate)) if text]
    if beside := [f"- {escaped(f'{row.candidate} {text}')}" for row, text in told]:
        yield "\n".join(beside)


def query_rows(outcome: Outcome, extremes: Sequence[dict[str, Any]]) -> Iterator[list[str]]:
    """The queries with the largest differences on the first metric, over all candidates; with texts where known."""
    known = [row for row in extremes if row["metric"] == outcome.metrics[0].name]
    has_texts = any(row["text"] for row in known)
    for row in sorted(known, key=lambda row: -abs(row["difference"]))[:QUERIES]:
        texts = [escaped(row["text"] or "")] if has_texts else []
        yield [escaped(row["query_id"]), *texts, escaped(row["candidate"]), signed(row["difference"])]


def table(head: Sequence[str], rows: Sequence[Sequence[str]] | Iterator[Sequence[str]]) -> str:
    numbers = ("mean", "difference")
    lines = [head, ["--:" if name in numbers else "---" for name in head], *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def folded(summary: str, content: str) -> str:
    return f"<details><summary>{escaped(summary)}</summary>\n\n{content}\n\n</details>"
