"""Compare systems under many definitions of a metric, to see if the verdict depends on it: `ndcg-ab sensitivity`."""

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

from ndcg_ab.checks.findings import apply_severities, refuse_errors
from ndcg_ab.checks.order_checks import check_order
from ndcg_ab.checks.score_checks import no_gain_finding
from ndcg_ab.comparing.families import compare_columns, metric_columns
from ndcg_ab.comparing.sampling import add_drawn_findings, read_sampling
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.deadlines import Say
from ndcg_ab.engines.base import Engine
from ndcg_ab.pipeline.stages import score_systems
from ndcg_ab.results.codec import encode, json_text
from ndcg_ab.results.numbers import signed
from ndcg_ab.results.outcome import Finding
from ndcg_core.measures.metric import Metric
from ndcg_core.statistics.verdicts.comparison import Comparison

GAINS = ("linear", "exponential", "binary")
DISCOUNTS = ("log2", "jarvelin_kekalainen", "reciprocal", "none")
IDEALS = ("global", "local")
CUTOFFS = (5, 10, 20)
TRIED = 8  # definitions for which ties and ranks are checked: smallest cutoffs first, then by name
KINDS = ("improved", "regressed", "identical", "not testable", "undecided")  # kinds of verdicts that are counted


@dataclasses.dataclass(frozen=True)
class Sensitivity:
    """The comparisons of every candidate under every definition of a metric.

    comparisons: (candidate, metric name) -> comparison. In each comparison the definition is tested as if it were the
    only metric, with all candidates as its family, to show the verdict that this definition alone would give.
    """

    baseline: str
    candidates: tuple[str, ...]
    metrics: tuple[Metric, ...]
    comparisons: dict[tuple[str, str], Comparison]  # (candidate, metric name)
    findings: tuple[Finding, ...]

    def comparisons_of(self, candidate: str) -> list[Comparison]:
        return [self.comparisons[candidate, metric.name] for metric in self.metrics]


def metric_grid(
    gains: Sequence[str] | None = None,
    discounts: Sequence[str] | None = None,
    ideals: Sequence[str] | None = None,
    cutoffs: Sequence[int] | None = None,
) -> list[Metric]:
    """Return nDCG metrics with every combination of the choices: 72 definitions by default."""
    choices = (gains or GAINS, discounts or DISCOUNTS, ideals or IDEALS, cutoffs or CUTOFFS)
    return [
        Metric(measure="ndcg", cutoff=cutoff, gain=gain, discount=discount, ideal=ideal)
        for gain, discount, ideal, cutoff in itertools.product(*choices)
    ]


def measure_sensitivity(evaluation: Evaluation, engine: Engine, say: Say) -> Sensitivity:
    """Score all metrics of an evaluation at once, and compare the systems on each metric by itself.

    Raises InputError if the data are invalid or a finding has the severity error.
    """
    findings = score_systems(evaluation, engine, say)
    sampling = read_sampling(engine, evaluation)
    columns = metric_columns(engine, evaluation, sampling)
    comparisons: dict[tuple[str, str], Comparison] = {}
    for metric in evaluation.metrics:
        of_metric = [column for column in columns if column.metric == metric]
        rows = compare_columns(of_metric, evaluation, f"sensitivity: {metric}")
        comparisons |= {(row.candidate, metric): row for row in rows}
    candidates = tuple(system.name for system in evaluation.systems if system.name != evaluation.baseline_name)
    few = sorted(evaluation.metric_list, key=lambda metric: (metric.cutoff or 0, metric.name))[:TRIED]
    all_findings = add_drawn_findings(findings, engine, evaluation, sampling.log)
    all_findings += check_order(engine, few, sampling.weights)
    if comparisons and not any(comparison.queries for comparison in comparisons.values()):
        all_findings += [no_gain_finding(evaluation)]
    refuse_errors(all_findings, evaluation)
    reported = tuple(apply_severities(all_findings, evaluation))
    return Sensitivity(evaluation.baseline_name, candidates, tuple(evaluation.metric_list), comparisons, reported)


def verdict_kind(comparison: Comparison) -> str:
    """Return the kind of a verdict, one of KINDS; a verdict with another word counts as "undecided"."""
    word = comparison.conclusion.words
    return word if word in KINDS else "undecided"


def format_summary(sensitivity: Sensitivity, candidate: str) -> str:
    """Return a sentence on whether a candidate's verdict depends on the definition of the metric."""
    rows = sensitivity.comparisons_of(candidate)
    counts = {word: sum(verdict_kind(row) == word for row in rows) for word in KINDS}
    counts_text = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    low, high = (pick(row.difference or 0.0 for row in rows) for pick in (min, max))
    head = f"{candidate} against {sensitivity.baseline} under {len(rows)} definitions: {counts_text};"
    spread = f" differences from {signed(low)} to {signed(high)}."
    if counts["improved"] and counts["regressed"]:
        return f"{head}{spread} The verdict reverses with the definition: settle the definition first."
    if counts["not testable"] == len(rows):
        return f"{head}{spread} Nothing can be tested, as with {rows[0].metric}: {rows[0].verdict}."
    if max(counts.values()) == len(rows):
        return f"{head}{spread} The verdict does not depend on the definition."
    if counts["improved"] or counts["regressed"]:
        return f"{head}{spread} Whether the difference is detected depends on the definition; none reverses it."
    return f"{head}{spread} No definition detects a difference."


def matrix_axes(sensitivity: Sensitivity) -> tuple[list[tuple[str, str]], list[tuple[str, int | None]]]:
    """Return the labels of the matrix of definitions: a (gain, discount) per row, an (ideal, cutoff) per column."""
    rows = dict.fromkeys((str(metric.gain), metric.discount) for metric in sensitivity.metrics)
    columns = dict.fromkeys((metric.ideal, metric.cutoff) for metric in sensitivity.metrics)
    return list(rows), list(columns)


def comparison_matrix(sensitivity: Sensitivity, candidate: str) -> list[list[Comparison]]:
    """Return the comparisons of a candidate as a matrix: a row per (gain, discount), a column per (ideal, cutoff)."""
    rows, columns = matrix_axes(sensitivity)
    names = {
        ((str(metric.gain), metric.discount), (metric.ideal, metric.cutoff)): metric.name
        for metric in sensitivity.metrics
    }
    return [[sensitivity.comparisons[candidate, names[row, column]] for column in columns] for row in rows]


def sensitivity_to_json(sensitivity: Sensitivity) -> str:
    content: dict[str, Any] = {
        "baseline": sensitivity.baseline,
        "metrics": [
            {"name": metric.name, "hash": metric.hash, "definition": metric.definition}
            for metric in sensitivity.metrics
        ],
        "findings": encode(sensitivity.findings),
        "comparisons": [encode(row) for name in sensitivity.candidates for row in sensitivity.comparisons_of(name)],
        "summary": {name: format_summary(sensitivity, name) for name in sensitivity.candidates},
    }
    return json_text(content)
