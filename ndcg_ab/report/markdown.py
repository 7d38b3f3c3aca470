"""Write Markdown: the comment on a pull request, and the notes of MLflow and Prefect, with text from data escaped.

A document named ``![x](http://…)`` must not load a picture, which would send the reader's address to a server. Some
renderers make links of bare addresses and of ``@somebody`` even if they are escaped. Only an invisible character
between the signs prevents that, or code, as for a metric that somebody may copy.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from ndcg_ab import __version__
from ndcg_ab.comparing.since_last import SinceLast
from ndcg_ab.report import words
from ndcg_ab.report.answer import Answer, choices_by_candidate, group_decisions, make_answer
from ndcg_ab.report.doubts import join_first
from ndcg_ab.report.explanations import PlainWords, explain_candidate, explain_outcome
from ndcg_ab.report.over_time import since_lines, since_title
from ndcg_ab.report.sections import cost_cells, cost_heads, cost_notes, costs_with_differences, notes_on_metric
from ndcg_ab.results.decisions import Decision
from ndcg_ab.results.numbers import format_plain, signed
from ndcg_ab.results.outcome import Outcome
from ndcg_ab.results.wording import queries_text
from ndcg_ab.visible import visible

EXPLAINED = 3  # candidates, the best decisions first
QUERIES = 10  # that moved most
TOGETHER = "\N{NO-BREAK SPACE}"  # a space that is kept, and at which no line ends
JOINER = "\N{WORD JOINER}"
ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "$": "&#36;", JOINER: "&#8288;"})
METRIC = re.compile(r"((?:--metric )?'?\w+\([\w=.,:/+-]*\)@\d+'?)(?!\w)")  # ndcg(ties=given)@10, to be copied as it is
SIGNS = re.compile(r"([\\`*_\[\]|~#])")
LIST = re.compile(r"^(\d{1,9})?([-+.)])(?=[-+\s]|$)")  # what would begin an item of a list, or a rule, at the start
LIVE = re.compile(
    r"(?<=:)(?=//)"  # http://
    r"|(?<=www)(?=\.)"  # www.example.com
    r"|(?<=mailto:)|(?<=xmpp:)"
    r"|(?<=@)(?=[\w.+-]+\.\w)"  # somebody@example.com
    r"|(?<![^\W_]@)(?<=@)(?=\w)"  # @somebody
    r"|(?<=#)(?=\d)|(?<=!)(?=\d)|(?<=\bGH-)(?=\d)",  # an issue or a merge request
    re.IGNORECASE,
)


def escape_text(text: str) -> str:
    """Return the text on one line, escaped so that Markdown and HTML renderers show it unchanged, also in tables."""
    parts = METRIC.split(" ".join(visible(" ".join(text.split())).split()))
    for index in range(0, len(parts), 2):
        marked = SIGNS.sub(r"\\\1", LIVE.sub(JOINER, parts[index]))
        parts[index] = LIST.sub(r"\1\\\2", marked).translate(ENTITIES)
    return "`".join(parts)


def format_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def format_items(texts: Iterable[str]) -> str:
    return "\n".join(f"- {escape_text(text)}" for text in texts)


def format_folded(summary: str, content: str) -> str:
    title = LIVE.sub(JOINER, visible(summary)).translate(ENTITIES)  # HTML, in which backslashes are shown
    return f"<details><summary>{title}</summary>\n\n{content}\n\n</details>"


def format_words(explanation: PlainWords) -> str:
    """Return an explanation in plain words as Markdown: titles in bold, sentences as lists."""
    return "\n\n".join(
        f"**{title}**\n\n{format_items(sentences)}" for title, sentences in explanation.items() if sentences
    )


# ---- comment and notes


def format_comment(outcome: Outcome, extremes: Sequence[dict[str, Any]] = ()) -> str:
    """Return the comment on a pull request: decisions, matrix, costs, queries that moved most, explanations and notes.

    extremes: rows of `ndcg_ab.pipeline.conclude.extreme_queries`; the comment lists those on the first metric.
    """
    answer = make_answer(outcome)
    parts = answer_parts(outcome, answer)
    if costs := format_costs(outcome):
        parts.append(format_folded("What requests cost", costs))
    if moved := list(query_rows(outcome, extremes)):
        head = ["query", *(["text"] if len(moved[0]) == 4 else []), "candidate", "difference"]
        parts.append(
            format_folded(f"The queries that moved most ({outcome.metrics[0].name})", format_table(head, moved))
        )
    parts += [
        format_folded(f"In plain words: {candidate}", format_words(explanation))
        for candidate, explanation in islice(explain_outcome(outcome).items(), EXPLAINED)
    ]
    if notes := notes_to_keep(answer):
        parts.append(format_folded(f"What to keep in mind ({len(notes)})", format_items(notes)))
    parts.append(
        f"<sub>alpha {outcome.alpha:g}, seed {outcome.seed}, {outcome.resamples} resamples;"
        f" {words.add_recomputed_count(outcome, '{} recomputed in Python, equal')}; ndcg-ab {__version__}</sub>"
    )
    return "\n\n".join(parts) + "\n"


def format_note(outcome: Outcome, since: SinceLast | None = None) -> str:
    """Return the description of a tracker's run: the answer, costs and notes.

    since: the changes since the previous evaluation to include, or None.
    """
    answer = make_answer(outcome)
    parts = answer_parts(outcome, answer)
    if since is not None:
        parts.append(format_since(since))
    if costs := format_costs(outcome):
        parts.append(f"**What requests cost**\n\n{costs}")
    if notes := notes_to_keep(answer):
        parts.append(f"**What to keep in mind**\n\n{format_items(notes)}")
    return "\n\n".join(parts)


def format_since(since: SinceLast) -> str:
    """Return the changes of every system since the previous evaluation as a Markdown list."""
    items = format_items(f"{line.mark} {line.text}".strip() for line in since_lines(since))
    return f"**{escape_text(since_title(since))}**\n\n{items}"


def format_decision_note(outcome: Outcome, decision: Decision) -> str:
    """Return the description of a candidate's run in a tracker: the decision, its reason and the explanation."""
    head = f"**{decision.decision.mark} {decision.decision.words}**: {escape_text(decision.reason)}"
    return f"{head}\n\n{format_words(explain_candidate(outcome, decision.candidate))}"


def answer_parts(outcome: Outcome, answer: Answer) -> list[str]:
    """Return the parts of the answer in Markdown: decisions, doubts, gates and the matrix of systems and metrics."""
    lines = [
        f"{choice.mark} {choice.words}: {escape_text(join_first(names))}"
        for choice, names in group_decisions(choices_by_candidate(outcome))
    ]
    parts = [f"### {' · '.join(lines) or 'Nothing is compared'}"]
    parts += [f"> **{escape_text(' · '.join(doubt.texts))}**" for doubt in answer.doubts]
    if answer.candidates:
        rows = []
        for each in answer.candidates:
            decision = f"**{each.choice.words.replace(' ', TOGETHER)}**"
            rows.append([each.choice.mark, escape_text(each.name), decision, escape_text(each.reason)])
        parts.append(format_table(["", "candidate", "decision", "why"], rows))
    if answer.gate:
        parts.append(escape_text(answer.gate))
    if outcome.failures:
        parts.append(format_items(f"gate {gate.name} failed: {gate.message}" for gate in outcome.failures))
    names = next(iter(answer.matrix.values()))
    roles = [[escape_text(name), *words.describe_metric_role(outcome, name)] for name in names]
    counts = [queries_text(answer.queries, answer.kind)] if answer.queries is not None else []
    parts.append(format_table([", ".join(["system", *counts]), *map(" · ".join, roles)], matrix_rows(answer)))
    level = words.format_confidence_level(outcome.alpha)
    parts.append(f"Mean, difference from {escape_text(answer.baseline)} and its {level} interval.")
    if beside := [lines for metric in outcome.metrics for lines in notes_on_metric(outcome, metric)]:
        parts.append(format_items(beside))
    return parts


def matrix_rows(answer: Answer) -> Iterator[list[str]]:
    """Yield a row per system: its mean on each metric and, for a candidate, the difference with its interval."""
    for name, cells in answer.matrix.items():
        row = [escape_text(name)]
        for cell in cells.values():
            text = format_plain(cell.mean)
            if found := cell.row:
                text += f" {words.format_marked(found, f'{signed(found.difference)} {words.format_interval(found)}')}"
            row.append(text.replace(" ", TOGETHER))
        yield row


def query_rows(outcome: Outcome, extremes: Sequence[dict[str, Any]]) -> Iterator[list[str]]:
    """Yield table rows of the `QUERIES` queries with the largest differences on the first metric, over all candidates.

    A row has the query id, the text (if any query has one), the candidate and the difference. extremes: as for
    `format_comment`.
    """
    rows = [row for row in extremes if row["metric"] == outcome.metrics[0].name]
    has_texts = any(row["text"] for row in rows)
    for row in sorted(rows, key=lambda row: -abs(row["difference"]))[:QUERIES]:
        texts = [escape_text(row["text"] or "")] if has_texts else []
        yield [escape_text(row["query_id"]), *texts, escape_text(row["candidate"]), signed(row["difference"])]


def format_costs(outcome: Outcome) -> str:
    """Return the costs of requests as a Markdown table with notes; empty if no costs are known."""
    if outcome.costs is None:
        return ""
    rows = [[escape_text(cell) for cell in cost_cells(*pair)] for pair in costs_with_differences(outcome.costs)]
    return f"{format_table(cost_heads(outcome), rows)}\n\n{format_items(cost_notes(outcome.costs))}".strip()


def notes_to_keep(answer: Answer) -> list[str]:
    """Return the warnings and notes of an answer as texts that begin with the severity: ``warning: …``.

    Warnings with one cause are one text.
    """
    return [f"{line.severity}: {' · '.join(line.texts)}" for line in answer.findings]


# ---- the table


def comparison_table(outcome: Outcome) -> dict[str, list[Any]]:
    """Return the comparisons as an MLflow table ({"columns", "data"}) of formatted numbers, the best decision first."""
    numbers = ("difference", "interval", "adjusted p", "wins/ties/losses")
    decisions = {each.name: f"{each.choice.mark} {each.choice.words}" for each in make_answer(outcome).candidates}
    order = list(decisions)
    data = [
        [
            decisions[row.candidate],
            row.candidate,
            row.metric,
            f"{words.comparison_mark(row)} {words.format_verdict(row)}",
            *words.comparison_cells(row, numbers),
            row.family,
        ]
        for row in sorted(outcome.main, key=lambda row: order.index(row.candidate))
    ]
    return {"columns": ["decision", "candidate", "metric", "verdict", *numbers, "family"], "data": data}
