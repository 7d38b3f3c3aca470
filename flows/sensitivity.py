"""`ndcg-ab sensitivity`: the comparison under many definitions at once. Does the verdict hang on the definition?"""

import dataclasses
import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from flows import pipeline
from flows.checks import by_severity
from flows.config import Evaluation
from flows.families import compare_columns, paired_columns
from flows.order import check_order
from flows.outcome import Finding, replacing
from flows.tables import plain_table, print_findings
from flows.warehouse import Warehouse
from flows.wording import signed
from ndcg_core.comparison import Comparison
from ndcg_core.metric import Metric

GAINS = ("linear", "exponential", "binary")
DISCOUNTS = ("log2", "jarvelin_kekalainen", "reciprocal", "none")
IDEALS = ("global", "local")
CUTOFFS = (5, 10, 20)
SHORT = {"jarvelin_kekalainen": "järvelin-k.", "exponential": "exp."}


@dataclasses.dataclass(frozen=True)
class Sensitivity:
    """Every comparison under every definition.

    Each definition is tested as if it had been the only one (a family of the candidates on it): the question is
    what would have been concluded, had it been chosen.
    """

    baseline: str
    candidates: tuple[str, ...]
    metrics: tuple[Metric, ...]
    comparisons: dict[tuple[str, str], Comparison]  # (candidate, metric name)
    findings: tuple[Finding, ...]

    def of(self, candidate: str) -> list[Comparison]:
        return [self.comparisons[candidate, metric.name] for metric in self.metrics]


def grid(
    gains: Sequence[str] = GAINS,
    discounts: Sequence[str] = DISCOUNTS,
    ideals: Sequence[str] = IDEALS,
    cutoffs: Sequence[int] = CUTOFFS,
) -> list[Metric]:
    """nDCG with every combination of the choices: 72 definitions by default."""
    return [
        Metric(measure="ndcg", cutoff=cutoff, gain=gain, discount=discount, ideal=ideal)
        for gain, discount, ideal, cutoff in itertools.product(gains, discounts, ideals, cutoffs)
    ]


def measure_sensitivity(evaluation: Evaluation, warehouse: Warehouse, say: pipeline.Say) -> Sensitivity:
    """Scores all of the evaluation's metrics together and compares the systems on each."""
    findings, _ = pipeline.score_all(evaluation, warehouse, say)
    columns = paired_columns(warehouse, evaluation)
    found: dict[tuple[str, str], Comparison] = {}
    for metric in evaluation.metrics:
        family = [column for column in columns if column.metric == metric]
        for row in compare_columns(family, evaluation, f"sensitivity: {metric}"):
            found[row.candidate, metric] = row
    candidates = tuple(system.name for system in evaluation.systems if system.name != evaluation.baseline_name)
    noticed = tuple(by_severity([*findings, *check_order(warehouse, evaluation.metric_list)]))
    return Sensitivity(evaluation.baseline_name, candidates, tuple(evaluation.metric_list), found, noticed)


def kind(comparison: Comparison) -> str:
    """improved, regressed, identical, not testable or undecided."""
    for word in ("improved", "regressed", "identical", "not testable"):
        if comparison.verdict.startswith(word):
            return word
    return "undecided"


MARKS = {"improved": "▲", "regressed": "▼", "identical": "=", "not testable": "?", "undecided": "·"}
COLOURS = {"improved": "green", "regressed": "red"}


def summary(sensitivity: Sensitivity, candidate: str) -> str:
    """Whether the verdict hangs on the definition, in a sentence."""
    rows = sensitivity.of(candidate)
    counts = {word: sum(kind(row) == word for row in rows) for word in MARKS}
    told = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    low, high = (pick(row.difference or 0.0 for row in rows) for pick in (min, max))
    head = f"{candidate} against {sensitivity.baseline} under {len(rows)} definitions: {told};"
    spread = f" differences from {low:+.4f} to {high:+.4f}."
    if counts["improved"] and counts["regressed"]:
        return f"{head}{spread} The verdict turns round with the definition: settle the definition first."
    if counts["not testable"] == len(rows):
        return f"{head}{spread} Too few queries differ to test anything."
    if max(counts.values()) == len(rows):
        return f"{head}{spread} The verdict does not hang on the definition."
    if counts["improved"] or counts["regressed"]:
        return f"{head}{spread} Whether the difference is detected hangs on the definition; none turns it round."
    return f"{head}{spread} No definition detects a difference."


def axes(sensitivity: Sensitivity) -> tuple[list[tuple[str, str]], list[tuple[str, int | None]]]:
    """The rows (gain, discount) and columns (ideal, cutoff) of the matrix."""
    rows = dict.fromkeys((str(metric.gain), metric.discount) for metric in sensitivity.metrics)
    columns = dict.fromkeys((metric.ideal, metric.cutoff) for metric in sensitivity.metrics)
    return list(rows), list(columns)


def matrix(sensitivity: Sensitivity, candidate: str) -> list[list[Comparison]]:
    rows, columns = axes(sensitivity)
    found = {
        ((str(metric.gain), metric.discount), (metric.ideal, metric.cutoff)): metric.name
        for metric in sensitivity.metrics
    }
    return [[sensitivity.comparisons[candidate, found[row, column]] for column in columns] for row in rows]


def print_sensitivity(console: Console, sensitivity: Sensitivity) -> None:
    rows, columns = axes(sensitivity)
    for candidate in sensitivity.candidates:
        made = plain_table(f"[bold]{escape(candidate)}[/] against {escape(sensitivity.baseline)}, nDCG")
        made.add_column("gain")
        made.add_column("discount")
        for ideal, cutoff in columns:
            made.add_column(f"{ideal}\n@{cutoff}", justify="right", no_wrap=True)
        for (gain, discount), cells in zip(rows, matrix(sensitivity, candidate), strict=True):
            made.add_row(gain, SHORT.get(discount, discount), *(cell(row) for row in cells))
        console.print(made)
        console.print(escape(summary(sensitivity, candidate)), highlight=False)
        console.print()
    console.print("[dim]" + "  ".join(f"{mark} {word}" for word, mark in MARKS.items()) + "[/]", highlight=False)
    print_findings(console, sensitivity.findings)


def cell(row: Comparison) -> str:
    text = f"{signed(row.difference)} {MARKS[kind(row)]}"
    colour = COLOURS.get(kind(row))
    return f"[{colour}]{text}[/]" if colour else text


def to_json(sensitivity: Sensitivity) -> str:
    content: dict[str, Any] = {
        "schema": 1,
        "baseline": sensitivity.baseline,
        "metrics": [
            {"name": metric.name, "hash": metric.hash, "definition": metric.definition}
            for metric in sensitivity.metrics
        ],
        "findings": [dataclasses.asdict(finding) for finding in sensitivity.findings],
        "comparisons": [dataclasses.asdict(row) for name in sensitivity.candidates for row in sensitivity.of(name)],
        "summary": {name: summary(sensitivity, name) for name in sensitivity.candidates},
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def draw(sensitivity: Sensitivity, path: Path) -> None:
    """The matrices as a picture (PNG, SVG or PDF by the name): colour is the difference, a frame the verdict."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    rows, columns = axes(sensitivity)
    count = len(sensitivity.candidates)
    size = (2.2 + 0.95 * len(columns), count * (1.3 + 0.36 * len(rows)))
    figure, axis_list = plt.subplots(count, 1, figsize=size, squeeze=False, layout="constrained")
    differences = [row.difference or 0.0 for row in sensitivity.comparisons.values()]
    limit = max(map(abs, differences), default=1.0) or 1.0
    for axis, candidate in zip(axis_list[:, 0], sensitivity.candidates, strict=True):
        cells = matrix(sensitivity, candidate)
        values = [[row.difference or 0.0 for row in line] for line in cells]
        image = axis.imshow(values, cmap="RdBu", vmin=-limit, vmax=limit, aspect="auto")
        for y, line in enumerate(cells):
            for x, row in enumerate(line):
                strong = abs(row.difference or 0.0) > 0.6 * limit
                axis.text(
                    x,
                    y,
                    f"{row.difference or 0.0:+.3f} {MARKS[kind(row)]}",
                    ha="center",
                    va="center",
                    fontsize=8,
                    color="white" if strong else "black",
                    fontweight="bold" if kind(row) in COLOURS else "normal",
                )
        axis.set_xticks(range(len(columns)), [f"{ideal}\n@{cutoff}" for ideal, cutoff in columns], fontsize=8)
        axis.set_yticks(range(len(rows)), [f"{gain}, {SHORT.get(name, name)}" for gain, name in rows], fontsize=8)
        axis.set_title(f"{candidate} against {sensitivity.baseline}: difference in nDCG", fontsize=10, loc="left")
        figure.colorbar(image, ax=axis, fraction=0.03)
    figure.supxlabel("▲ improved  ▼ regressed  · no detectable difference  = identical  ? not testable", fontsize=8)
    with replacing(path) as partial:
        figure.savefig(partial, dpi=150, format=path.suffix[1:].lower())
    plt.close(figure)
