"""What a person reads elsewhere: the page `report.html`, and the comparison as Markdown and as a table for MLflow."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flows.outcome import Outcome
from flows.wording import (
    change,
    family_text,
    interval,
    judged_label,
    level,
    percent,
    plain,
    probability,
    rows_of,
    sentence,
    signed,
    together,
    verdict_text,
    weighted_text,
    wins_ties_losses,
)


def write_page(path: Path, outcome: Outcome, extremes: Sequence[dict[str, Any]], about: dict[str, Any]) -> None:
    """`report.html`: one file that needs nothing else; every text from data is escaped."""
    from jinja2 import Environment, FileSystemLoader

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"signed": signed, "plain": plain, "percent": percent, "probability": probability}
    page = environment.get_template("report.html").render(
        outcome=outcome,
        about=about,
        extremes=extremes,
        change=change,
        families=lambda outcome: list(dict.fromkeys(row.family for row in outcome.comparisons)),
        slice_tables=lambda outcome: list(dict.fromkeys((row.attribute, row.metric) for row in outcome.slices)),
        family_text=family_text,
        interval=interval,
        level=level(outcome.alpha),
        judged_label=judged_label,
        rows_of=rows_of,
        sentence=sentence,
        verdict_text=verdict_text,
        weighted_text=weighted_text,
        together=together,
        wins_ties_losses=wins_ties_losses,
    )
    path.write_text(page, encoding="utf-8")


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


def note(outcome: Outcome) -> str:
    """The comparison as Markdown, for the description of a tracker's run."""
    first = outcome.metrics[0].name
    lines = [f"- {cell_text(sentence(row, outcome.alpha))}" for row in outcome.main if row.metric == first]
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
    found = [row for row in outcome.slices if row.verdict.startswith(("improved", "regressed"))]
    lines = [
        f"- {cell_text(f'{row.attribute} {row.slice}')}: {cell_text(sentence(row, outcome.alpha))} (exploratory)"
        for row in found
    ]
    return ["#### Slices", "", *lines, ""] if lines else []


def cell_text(text: str) -> str:
    """Text that stays inside its cell of a Markdown table."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
