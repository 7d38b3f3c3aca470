"""The comparison as Markdown and as a table, for MLflow and Prefect."""

from typing import Any

from ndcg_ab.report.answer import banners, finding_lines, mark, ordered_decisions
from ndcg_ab.report.sections.changes import changes_text
from ndcg_ab.report.sections.intended import intended_text
from ndcg_ab.report.sections.judges import judges_line
from ndcg_ab.report.words.decision_summary import choice_text
from ndcg_ab.report.words.escaping import escaped
from ndcg_ab.report.words.text import (
    comparison_text,
    function_note,
    interval,
    judged_label,
    percent,
    plain,
    probability,
    rows_of,
    verdict_text,
    wins_ties_losses,
)
from ndcg_ab.results.decisions import Decision
from ndcg_ab.results.outcome import Outcome, SystemSummary
from ndcg_ab.results.wording import fully_judged_difference, signed
from ndcg_core.statistics.verdicts.record import Comparison


def comparison_table(outcome: Outcome) -> dict[str, list[Any]]:
    """The comparisons as MLflow shows tables ({"columns", "data"}): what to do first, numbers as people read them."""
    columns = ["decision", "candidate", "metric", "verdict", "difference", "interval", "adjusted p"]
    columns += ["wins/ties/losses", "family"]
    decisions = {row.candidate: decision_text(row) for row in ordered_decisions(outcome)}
    places = list(decisions)
    data = [
        [
            decisions[row.candidate],
            row.candidate,
            row.metric,
            f"{mark(row)} {verdict_text(row)}",
            signed(row.difference),
            interval(row),
            probability(row.p_adjusted),
            wins_ties_losses(row),
            row.family,
        ]
        for row in sorted(outcome.main, key=lambda row: places.index(row.candidate))
    ]
    return {"columns": columns, "data": data}


def decision_text(decision: Decision) -> str:
    return f"{decision.decision.mark} {decision.decision.words}"


def note(outcome: Outcome) -> str:
    """The comparison as Markdown, for the description of a tracker's run: what to do, then the numbers."""
    lines = answer_lines(outcome)
    lines += [f"Baseline {escaped(outcome.baseline)}, alpha {outcome.alpha:g}; page: artifact `report.html`.", ""]
    for metric in outcome.metrics:
        lines += [f"#### {escaped(metric.name)}", ""]
        last = [] if outcome.is_given else [judged_label(metric), "fully judged queries", "difference there"]
        head = ["system", "verdict", "mean", "difference", "interval", "adjusted p", "queries", *last]
        lines += [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
        for system, row in rows_of(outcome, metric):
            cells = [escaped(system.system_id), f"{mark(row)} {escaped(verdict_text(row))}" if row else "baseline"]
            cells += [plain(system.mean)]
            cells += [signed(row.difference), interval(row), probability(row.p_adjusted)] if row else [""] * 3
            cells += [str(system.queries), *([] if outcome.is_given else judged_cells(system, row))]
            lines.append("| " + " | ".join(cells) + " |")
        lines.append("")
    lines += slice_lines(outcome)
    return "\n".join([*lines, *finding_items(outcome)])


def judged_cells(system: SystemSummary, row: Comparison | None) -> list[str]:
    """How much is judged, on how many queries all of both systems' results, and the difference there."""
    found = row.labels if row else None
    return [
        percent(system.judged),
        str(found.full_queries) if found else "",
        fully_judged_difference(found) if found else "",
    ]


def system_note(outcome: Outcome, decision: Decision) -> str:
    """One candidate as Markdown, for the description of its run: what to do, then each comparison in words."""
    lines = [f"**{decision_text(decision)}**: {escaped(decision.reason)}", ""]
    rows = [row for row in outcome.main if row.candidate == decision.candidate]
    lines += [f"- {mark(row)} {escaped(comparison_text(row, outcome.alpha))}" for row in rows]
    meant = [intended_text(outcome, decision.candidate, row.metric) for row in rows]
    lines += [f"- {row.metric}: {escaped(text)}" for row, text in zip(rows, meant, strict=True) if text]
    lines += [f"- {escaped(changes_text(row))}" for row in outcome.changes if row.candidate == decision.candidate]
    return "\n".join(lines)


def answer_note(outcome: Outcome) -> str:
    """What to do, what questions it, gates and findings, as Markdown."""
    passed = [f"- gate {escaped(gate.name)} passed: {escaped(gate.message)}" for gate in outcome.gates if gate.passed]
    return "\n".join([*answer_lines(outcome), *passed, *finding_items(outcome)]).strip()


def answer_lines(outcome: Outcome) -> list[str]:
    """The decisions, what questions every verdict, and the gates that failed."""
    lines = []
    for row in ordered_decisions(outcome):
        what = f"{row.decision.mark} {choice_text(row.decision, [row.candidate])}"
        lines += [f"**{escaped(what)}**: {escaped(row.reason)}", ""]
    lines = lines or ["Nothing is compared.", ""]
    for text in banners(outcome):
        lines += [f"> **{escaped(text)}**", ""]
    lines += [f"- gate {escaped(gate.name)} **failed**: {escaped(gate.message)}" for gate in outcome.failures]
    return [*lines, ""] if outcome.failures else lines


def finding_items(outcome: Outcome) -> list[str]:
    """What the data check found, how judges differ, and what a function judged."""
    told = [("warning", judges_line(outcome)), ("note", function_note(outcome))]
    lines = [*told, *((line.severity, line.text) for line in finding_lines(outcome))]
    return [f"- {severity}: {escaped(text)}" for severity, text in lines if text]


def slice_lines(outcome: Outcome) -> list[str]:
    """The slices in which a difference was detected."""
    found = [row for row in outcome.slices if row.conclusion.is_detected]
    lines = [
        f"- {escaped(f'{row.attribute} {row.slice}')}: {escaped(comparison_text(row, outcome.alpha))} (exploratory)"
        for row in found
    ]
    return ["#### Slices", "", *lines, ""] if lines else []
