"""A comparison as a comment on a pull request: Markdown as GitHub, GitLab and others read it."""

from collections.abc import Iterator, Sequence
from typing import Any

from ndcg_ab import __version__
from ndcg_ab.report.answer.answer import Answer, make_answer
from ndcg_ab.report.answer.doubts import warn_of_few_weights
from ndcg_ab.report.answer.findings import join_first
from ndcg_ab.report.answer.marks import comparison_mark, describe_metric_role, short_verdict
from ndcg_ab.report.comment.markdown import cost_lines
from ndcg_ab.report.sections.changes import changes_by_candidate
from ndcg_ab.report.sections.intended import format_intended
from ndcg_ab.report.terminal.sparklines import common_scale, draw_strip
from ndcg_ab.report.words.decision_summary import candidates_by_choice, group_decisions
from ndcg_ab.report.words.escaping import escape_text
from ndcg_ab.report.words.explanations import explain_outcome, to_markdown
from ndcg_ab.report.words.text import (
    add_recomputed_count,
    format_confidence_level,
    format_interval,
    format_labels,
    format_plain,
    format_proxy_correction,
    format_tipping,
    order_comparisons,
    query_kind,
    system_rows,
)
from ndcg_ab.results.outcome import Outcome
from ndcg_ab.results.wording import queries_text, signed
from ndcg_core.measures.metric import Metric

STRIP = 21  # characters
EXPLAINED = 3  # candidates, the best decisions first
QUERIES = 10  # that moved most
TOGETHER = "\N{NO-BREAK SPACE}"  # a space that is kept, and at which no line ends


def format_comment(outcome: Outcome, extremes: Sequence[dict[str, Any]] = ()) -> str:
    """The decision, a table for each metric, the queries that moved most, what to keep in mind.

    extremes: as `ndcg_ab.pipeline.conclude.extreme_queries` gives them; of the first metric the largest are shown.
    """
    answer = make_answer(outcome)
    parts = [f"### {format_title(outcome)}"]
    parts += [f"> **{escape_text(doubt.sentence)}**" for doubt in answer.doubts]
    if answer.candidates:
        parts.append(format_table(["", "candidate", "decision", "why"], decision_rows(answer)))
    if answer.gate:
        parts.append(escape_text(answer.gate))
    for metric in outcome.metrics:
        parts += metric_parts(outcome, metric)
    if costs := cost_lines(outcome)[2:]:
        parts.append(format_folded("What requests cost", "\n".join(costs).strip()))
    if moved := list(query_rows(outcome, extremes)):
        head = ["query", *(["text"] if len(moved[0]) == 4 else []), "candidate", "difference"]
        parts.append(
            format_folded(f"The queries that moved most ({outcome.metrics[0].name})", format_table(head, moved))
        )
    parts += [
        format_folded(f"In plain words: {words.candidate}", to_markdown(words))
        for words in explain_outcome(outcome)[:EXPLAINED]
    ]
    if lines := [
        escape_text(text)
        for text in (
            *(line.text for line in answer.findings),
            *warn_of_few_weights(outcome),
            *answer.notes,
        )
    ]:
        parts.append(format_folded(f"What to keep in mind ({len(lines)})", "\n".join(f"- {line}" for line in lines)))
    parts.append(
        f"<sub>alpha {outcome.alpha:g}, seed {outcome.seed}, {outcome.resamples} resamples;"
        f" {add_recomputed_count(outcome, '{} recomputed in Python, equal')}; ndcg-ab {__version__}</sub>"
    )
    return "\n\n".join(parts) + "\n"


def format_title(outcome: Outcome) -> str:
    """Every decision with its candidates, the best first."""
    told = [
        f"{choice.mark} {choice.words}: {escape_text(join_first(names))}"
        for choice, names in group_decisions(candidates_by_choice(outcome))
    ]
    return " · ".join(told) or "Nothing is compared"


def decision_rows(answer: Answer) -> Iterator[list[str]]:
    for found in answer.candidates:
        words = f"**{found.choice.words.replace(' ', TOGETHER)}**"
        yield [found.choice.mark, escape_text(found.name), words, escape_text(found.reason)]


def metric_parts(outcome: Outcome, metric: Metric) -> Iterator[str]:
    """A line about the metric, and a row for each candidate, the largest difference first."""
    means = {system.system_id: system for system, _ in system_rows(outcome, metric)}
    rows = order_comparisons(outcome, metric)
    known = means.get(outcome.baseline)
    about = [f"**{escape_text(metric.name)}**"]
    about += describe_metric_role(outcome, metric.name)
    if known:
        about += [queries_text(known.queries, query_kind(outcome))]
        about += [f"baseline {escape_text(outcome.baseline)} {format_plain(known.mean)}"]
    yield " · ".join(about)
    scale = common_scale(rows)
    cells = [
        [
            f"{comparison_mark(row)}{TOGETHER}{escape_text(row.candidate)}",
            format_plain(means[row.candidate].mean),
            f"{signed(row.difference)} {format_interval(row)}".replace(" ", TOGETHER),
            f"`{draw_strip(row, scale, STRIP).replace(' ', TOGETHER)}`" if scale else "",
            escape_text(short_verdict(outcome, row)),
        ]
        for row in rows
    ]
    if cells:
        yield format_table(
            ["candidate", "mean", f"difference, {format_confidence_level(outcome.alpha)} interval", "", "verdict"],
            cells,
        )
    changed = changes_by_candidate(outcome) if metric == outcome.metrics[0] else {}
    told = []
    for row in rows:
        texts = (
            format_intended(outcome, row.candidate, row.metric),
            format_tipping(row),
            format_labels(row),
            format_proxy_correction(row),
        )
        told += [(row, text) for text in (*texts, changed.get(row.candidate)) if text]
    if beside := [f"- {escape_text(f'{row.candidate} {text}')}" for row, text in told]:
        yield "\n".join(beside)


def query_rows(outcome: Outcome, extremes: Sequence[dict[str, Any]]) -> Iterator[list[str]]:
    """The queries with the largest differences on the first metric, over all candidates; with texts where known."""
    known = [row for row in extremes if row["metric"] == outcome.metrics[0].name]
    has_texts = any(row["text"] for row in known)
    for row in sorted(known, key=lambda row: -abs(row["difference"]))[:QUERIES]:
        texts = [escape_text(row["text"] or "")] if has_texts else []
        yield [escape_text(row["query_id"]), *texts, escape_text(row["candidate"]), signed(row["difference"])]


def format_table(head: Sequence[str], rows: Sequence[Sequence[str]] | Iterator[Sequence[str]]) -> str:
    lines = [head, ["--:" if name == "mean" or name.startswith("difference") else "---" for name in head], *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def format_folded(summary: str, content: str) -> str:
    return f"<details><summary>{escape_text(summary)}</summary>\n\n{content}\n\n</details>"
