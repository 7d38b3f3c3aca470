"""The comment above a query: what it computes, by which definition, and what was tried."""

import shlex
import textwrap

from ndcg_ab.warehouse.dialects import DIALECTS
from ndcg_core.measures.meanings import MEASURE_MEANINGS, TABLE_MEANING, VALUE_MEANINGS
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.writing import written

WIDTH = 117  # so that no line is longer than 120 characters


def format_header(metric: Metric, dialect: str, *, mean: bool) -> str:
    """Every choice of the metric with its meaning, and its hash; ends with a new line."""
    chosen = DIALECTS[dialect]
    grain = "one row per system_id: the mean over its queries" if mean else "one row per (system_id, query_id)"
    tried = ("" if chosen.is_executed else "parsed, but not ") + "executed by the tests of ndcg-ab"
    command = f"ndcg-ab sql --metric {shlex.quote(metric.name)} --dialect {dialect}{' --mean' if mean else ''}"
    lines = [f"{metric.name}, {grain}.", f"Made by: {command}", f"For {chosen.title}: {tried}."]
    lines.append(f"Definition {metric.hash} (docs/definitions.md):")
    lines += [f"  {line}" for line in definition_lines(metric)]
    lines.append(f"A value is null where ndcg-ab refuses the data: {', '.join(refused_inputs(metric))}.")
    return "".join(f"-- {part}\n" for line in lines for part in textwrap.wrap(line, WIDTH, subsequent_indent="    "))


def definition_lines(metric: Metric) -> list[str]:
    """``gain = linear: the grade`` for each choice, those that are at nothing left out."""
    found = [f"measure = {metric.measure}: {MEASURE_MEANINGS[metric.measure]}"]
    found.append(f"cutoff = {metric.cutoff}" if metric.cutoff else "cutoff = none: everything returned")
    for choice in metric.choices():
        value = getattr(metric, choice)
        if value is None:
            continue
        meanings = VALUE_MEANINGS.get(choice, {})
        meaning = TABLE_MEANING if isinstance(value, tuple) else meanings.get(value)
        found.append(f"{choice} = {written(value)}" + (f": {meaning}" if meaning else ""))
    return found


def refused_inputs(metric: Metric) -> list[str]:
    """What stops ndcg-ab, and makes a value null in the query."""
    found = ["judgments that contradict each other", "grades and scores that are no finite numbers, missing scores"]
    if metric.duplicates == "error":
        found.append("a document twice in one ranking")
    if metric.negative == "error":
        found.append("a grade below 0")
    if not isinstance(metric.effective_gain, str):
        found.append("a grade that the gain table lacks")
    if metric.max_grade is not None:
        found.append("a grade above max_grade")
    return found
