"""The comparison as Markdown and as a table, for MLflow and Prefect."""

from typing import Any

from ndcg_ab.report.answer.answer import make_answer
from ndcg_ab.report.answer.marks import comparison_mark
from ndcg_ab.report.sections.changes import format_changes
from ndcg_ab.report.sections.costs import cost_cells, cost_head, cost_notes, cost_pairs
from ndcg_ab.report.sections.intended import format_intended
from ndcg_ab.report.sections.judges import format_judges_line
from ndcg_ab.report.words.decision_summary import format_choice
from ndcg_ab.report.words.escaping import escape_text
from ndcg_ab.report.words.text import (
    format_comparison,
    format_interval,
    format_percent,
    format_plain,
    format_probability,
    format_verdict,
    format_wins_ties_losses,
    function_note,
    judged_label,
    system_rows,
)
from ndcg_ab.results.decisions import Decision
from ndcg_ab.results.outcome import Outcome, SystemSummary
from ndcg_ab.results.wording import fully_judged_difference, signed
from ndcg_core.statistics.verdicts.record import Comparison


def comparison_table(outcome: Outcome) -> dict[str, list[Any]]:
    """The comparisons as MLflow shows tables ({"columns", "data"}): what to do first, numbers as people read them."""
    columns = ["decision", "candidate", "metric", "verdict", "difference", "interval", "adjusted p"]
    columns += ["wins/ties/losses", "family"]
    decisions = {each.name: f"{each.choice.mark} {each.choice.words}" for each in make_answer(outcome).candidates}
    places = list(decisions)
    data = [
        [
            decisions[row.candidate],
            row.candidate,
            row.metric,
            f"{comparison_mark(row)} {format_verdict(row)}",
            signed(row.difference),
            format_interval(row),
            format_probability(row.p_adjusted),
            format_wins_ties_losses(row),
            row.family,
        ]
        for row in sorted(outcome.main, key=lambda row: places.index(row.candidate))
    ]
    return {"columns": columns, "data": data}


def format_decision(decision: Decision) -> str:
    return f"{decision.decision.mark} {decision.decision.words}"


def comparison_note(outcome: Outcome) -> str:
    """The comparison as Markdown, for the description of a tracker's run: what to do, then the numbers."""
    lines = answer_lines(outcome)
    lines += [f"Baseline {escape_text(outcome.baseline)}, alpha {outcome.alpha:g}; page: artifact `report.html`.", ""]
    for metric in outcome.metrics:
        lines += [f"#### {escape_text(metric.name)}", ""]
        last = [] if outcome.is_given else [judged_label(metric), "fully judged queries", "difference there"]
        head = ["system", "verdict", "mean", "difference", "interval", "adjusted p", "queries", *last]
        lines += [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
        for system, row in system_rows(outcome, metric):
            cells = [
                escape_text(system.system_id),
                f"{comparison_mark(row)} {escape_text(format_verdict(row))}" if row else "baseline",
            ]
            cells += [format_plain(system.mean)]
            cells += (
                [signed(row.difference), format_interval(row), format_probability(row.p_adjusted)] if row else [""] * 3
            )
            cells += [str(system.queries), *([] if outcome.is_given else judged_cells(system, row))]
            lines.append("| " + " | ".join(cells) + " |")
        lines.append("")
    lines += [*cost_lines(outcome), *slice_lines(outcome)]
    return "\n".join([*lines, *finding_items(outcome)])


def cost_lines(outcome: Outcome) -> list[str]:
    """What requests cost: a row for each system and statistic, and how it was measured."""
    if outcome.costs is None:
        return []
    head = cost_head(outcome)
    lines = ["#### What requests cost", "", f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    lines += [f"| {' | '.join(map(escape_text, cost_cells(*pair)))} |" for pair in cost_pairs(outcome.costs)]
    return [*lines, "", *(f"- {escape_text(note)}" for note in cost_notes(outcome.costs)), ""]


def judged_cells(system: SystemSummary, row: Comparison | None) -> list[str]:
    """How much is judged, on how many queries all of both systems' results, and the difference there."""
    found = row.labels if row else None
    return [
        format_percent(system.judged),
        str(found.full_queries) if found else "",
        fully_judged_difference(found) if found else "",
    ]


def system_note(outcome: Outcome, decision: Decision) -> str:
    """One candidate as Markdown, for the description of its run: what to do, then each comparison in words."""
    lines = [f"**{format_decision(decision)}**: {escape_text(decision.reason)}", ""]
    rows = [row for row in outcome.main if row.candidate == decision.candidate]
    lines += [f"- {comparison_mark(row)} {escape_text(format_comparison(row, outcome.alpha))}" for row in rows]
    meant = [format_intended(outcome, decision.candidate, row.metric) for row in rows]
    lines += [f"- {row.metric}: {escape_text(text)}" for row, text in zip(rows, meant, strict=True) if text]
    lines += [f"- {escape_text(format_changes(row))}" for row in outcome.changes if row.candidate == decision.candidate]
    return "\n".join(lines)


def answer_note(outcome: Outcome) -> str:
    """What to do, what questions it, gates and findings, as Markdown."""
    passed = [
        f"- gate {escape_text(gate.name)} passed: {escape_text(gate.message)}" for gate in outcome.gates if gate.passed
    ]
    return "\n".join([*answer_lines(outcome), *passed, *finding_items(outcome)]).strip()


def answer_lines(outcome: Outcome) -> list[str]:
    """The decisions, what questions every verdict, and the gates that failed."""
    answer = make_answer(outcome)
    lines = []
    for each in answer.candidates:
        what = f"{each.choice.mark} {format_choice(each.choice, [each.name])}"
        lines += [f"**{escape_text(what)}**: {escape_text(each.reason)}", ""]
    lines = lines or ["Nothing is compared.", ""]
    for doubt in answer.doubts:
        lines += [f"> **{escape_text(doubt.sentence)}**", ""]
    lines += [f"- gate {escape_text(gate.name)} **failed**: {escape_text(gate.message)}" for gate in outcome.failures]
    return [*lines, ""] if outcome.failures else lines


def finding_items(outcome: Outcome) -> list[str]:
    """What the data check found, how judges differ, and what a function judged."""
    told = [("warning", format_judges_line(outcome)), ("note", function_note(outcome))]
    lines = [*told, *((line.severity, line.text) for line in make_answer(outcome).findings)]
    return [f"- {severity}: {escape_text(text)}" for severity, text in lines if text]


def slice_lines(outcome: Outcome) -> list[str]:
    """The slices in which a difference was detected."""
    found = [row for row in outcome.slices if row.conclusion.is_detected]
    lines = [
        f"- {escape_text(f'{row.attribute} {row.slice}')}: {escape_text(format_comparison(row, outcome.alpha))}"
        " (exploratory)"
        for row in found
    ]
    return ["#### Slices", "", *lines, ""] if lines else []
