"""The comparison as Markdown and as a table, for MLflow and Prefect."""

from typing import Any

from ndcg_ab.evaluation.outcome import Outcome
from ndcg_ab.evaluation.phrases import signed
from ndcg_ab.report.text import (
    comparison_text,
    interval,
    judged_label,
    percent,
    plain,
    probability,
    rows_of,
    verdict_text,
    wins_ties_losses,
)
from ndcg_core.statistics.verdict import Verdict


def comparison_table(outcome: Outcome) -> dict[str, list[Any]]:
    """The comparisons as MLflow shows tables ({"columns", "data"}); p-values as text, since it rounds numbers."""
    columns = ["candidate", "metric", "difference", "low", "high", "p", "adjusted p", "wins/ties/losses", "verdict"]
    data = [
        [
            row.candidate,
            row.metric,
            row.difference,
            row.low,
            row.high,
            probability(row.p_value),
            probability(row.p_adjusted),
            wins_ties_losses(row),
            verdict_text(row),
        ]
        for row in outcome.main
    ]
    return {"columns": columns, "data": data}


def headline(outcome: Outcome) -> str:
    """Who regressed (▼) or improved (▲) on the first metric, for a list of evaluations: `` ▼ new``; else nothing."""
    rows = [row for row in outcome.main if row.metric == outcome.metrics[0].name]
    named = [f"▼ {row.candidate}" for row in rows if row.conclusion is Verdict.REGRESSED]
    named += [f"▲ {row.candidate}" for row in rows if row.conclusion is Verdict.IMPROVED]
    more = f" and {len(named) - 4} more" if len(named) > 4 else ""
    return f" {' '.join(named[:4])}{more}" if named else ""


def note(outcome: Outcome) -> str:
    """The comparison as Markdown, for the description of a tracker's run."""
    first = outcome.metrics[0].name
    lines = [f"- {cell_text(comparison_text(row, outcome.alpha))}" for row in outcome.main if row.metric == first]
    lines += [f"- gate {gate.name} **failed**: {cell_text(gate.message)}" for gate in outcome.gates if not gate.passed]
    lines += ["", f"Baseline {cell_text(outcome.baseline)}, alpha {outcome.alpha:g}; page: artifact `report.html`.", ""]
    for metric in outcome.metrics:
        lines += [f"#### {metric.name} (definition {metric.hash})", ""]
        lines += [
            f"| system | mean | queries | {judged_label(metric)} | difference | interval | adjusted p | verdict |"
        ]
        lines += ["|---|---|---|---|---|---|---|---|"]
        for system, row in rows_of(outcome, metric):
            cells = [cell_text(system.system_id), plain(system.mean), str(system.queries), percent(system.judged)]
            if row is None:
                cells += ["", "", "", "baseline"]
            else:
                cells += [signed(row.difference), interval(row), probability(row.p_adjusted), verdict_text(row)]
            lines.append("| " + " | ".join(cells) + " |")
        lines.append("")
    lines += slice_lines(outcome)
    lines += [f"- {finding.severity}: {cell_text(finding.message)}" for finding in outcome.findings]
    return "\n".join(lines)


def findings_note(outcome: Outcome) -> str:
    """Gates and findings as Markdown."""
    lines = [
        f"- gate {gate.name}: {'passed' if gate.passed else '**failed**'}: {gate.message}" for gate in outcome.gates
    ]
    lines += [f"- {finding.severity}: {finding.message}" for finding in outcome.findings]
    return "\n".join(map(cell_text, lines)) or "Nothing to report."


def slice_lines(outcome: Outcome) -> list[str]:
    """The slices in which a difference was detected."""
    found = [row for row in outcome.slices if row.conclusion.is_detected]
    lines = [
        f"- {cell_text(f'{row.attribute} {row.slice}')}: {cell_text(comparison_text(row, outcome.alpha))} (exploratory)"
        for row in found
    ]
    return ["#### Slices", "", *lines, ""] if lines else []


def cell_text(text: str) -> str:
    """Text that stays inside its cell of a Markdown table."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
