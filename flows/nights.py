"""`ndcg-ab history`: the evaluations of one configuration, night by night, and what changed between them."""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from flows import history
from flows.config import Evaluation
from flows.errors import InputError
from flows.tables import COLOURS, plain_table
from flows.wording import plain, signed
from ndcg_core.metric import parse

BARS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True)
class Evaluated:
    """One evaluation of the history, on one metric.

    values: system_id -> mean. differences, verdicts: candidate -> difference, verdict.
    changed: what is not as in the evaluation before: judgments, ranking NAME, queries, configuration, baseline.
    """

    ordinal: int
    key: str
    began: str
    baseline: str
    gate: str | None
    values: dict[str, float | None]
    differences: dict[str, float | None]
    verdicts: dict[str, str]
    changed: tuple[str, ...]


@dataclass(frozen=True)
class Nights:
    """The evaluations, the oldest first; systems in the order in which they came."""

    name: str
    metric: str
    systems: tuple[str, ...]
    evaluations: tuple[Evaluated, ...]
    comparisons_so_far: int


def read_nights(evaluation: Evaluation, metric: str | None, last: int | None) -> Nights:
    """What the history holds; InputError where there is none, or not of this metric."""
    path = history.path_of(evaluation)
    if not path.exists():
        raise InputError(f"{path}: there is no history yet; `ndcg-ab run` makes it")
    with history.opened(path) as past:
        rows = past.rows(
            "select ordinal, key, began, baseline, gate, configuration_key, query_set from evaluation order by ordinal"
        )
        if not rows:
            raise InputError(f"{path}: holds no evaluation yet; `ndcg-ab run` makes one")
        name = known_metric(past, metric or evaluation.metrics[0], path)
        values, tests = defaultdict[int, dict[str, Any]](dict), defaultdict[int, dict[str, Any]](dict)
        for ordinal, system, mean in past.rows(
            "select ordinal, system_id, mean from system_summary where metric = $metric order by ordinal",
            {"metric": name},
        ):
            values[ordinal][system] = mean
        for ordinal, candidate, difference, verdict in past.rows(
            "select ordinal, candidate, difference, verdict from comparison where metric = $metric"
            " and family in ('primary', 'secondary', 'guardrails')",
            {"metric": name},
        ):
            tests[ordinal][candidate] = (difference, verdict)
        inputs = defaultdict[int, dict[str, str]](dict)
        for ordinal, kind, of, digest in past.rows("select ordinal, kind, name, digest from input"):
            inputs[ordinal][f"{kind} {of}" if kind == "ranking" else kind] = digest
        so_far = history.comparisons_so_far(past, rows[-1][-1]) if rows[-1][-1] else 0
    found, before = [], None
    for ordinal, key, began, baseline, gate, configuration, _ in rows:
        state = {**inputs[ordinal], "configuration": configuration, "baseline": baseline}
        found.append(
            Evaluated(
                ordinal,
                key,
                began,
                baseline,
                gate,
                values[ordinal],
                {candidate: difference for candidate, (difference, _) in tests[ordinal].items()},
                {candidate: verdict for candidate, (_, verdict) in tests[ordinal].items()},
                () if before is None else changes(before, state),
            )
        )
        before = state
    shown = found[-last:] if last else found
    systems = dict.fromkeys(system for each in shown for system in each.values)
    return Nights(evaluation.name, name, tuple(systems), tuple(shown), so_far)


def known_metric(past: Any, metric: str, path: Path) -> str:
    name = parse(metric).name
    known = [found for (found,) in past.rows("select distinct metric from system_summary order by metric")]
    if name not in known:
        raise InputError(f"--metric {metric!r}: {path} has only {', '.join(known)}")
    return name


def changes(before: dict[str, str], now: dict[str, str]) -> tuple[str, ...]:
    """What differs between the inputs and configurations of two evaluations."""
    found = []
    for name in dict.fromkeys([*before, *now]):
        if name not in now:
            found.append(f"{name} gone")
        elif name not in before:
            found.append(f"{name} new")
        elif before[name] != now[name]:
            found.append(name)
    return tuple(found)


def print_nights(console: Console, nights: Nights) -> None:
    """One line for each evaluation; then each system's values as a row of bars."""
    made = plain_table(f"[bold]{escape(nights.name)}[/], {escape(nights.metric)}")
    for name in ("", "began", *nights.systems, "verdicts", "gate", "changed since the one before"):
        made.add_column(Text(name), justify="right" if name in nights.systems or not name else "left")
    for each in nights.evaluations:
        cells = [value_cell(each, system) for system in nights.systems]
        verdicts = ", ".join(f"{name} {mark(verdict)}" for name, verdict in each.verdicts.items() if mark(verdict))
        changed = ", ".join(each.changed) or ("" if each is nights.evaluations[0] else "nothing")
        made.add_row(
            str(each.ordinal),
            when(each.began),
            *cells,
            verdicts or "–",
            each.gate or "–",
            escape(changed),
        )
    console.print(made)
    width = max(map(len, nights.systems))
    for system in nights.systems:
        row = bars([each.values.get(system) for each in nights.evaluations])
        console.print(f"{system:>{width}}  {row}", markup=False, highlight=False)
    console.print(f"[dim]comparisons so far on these queries: {nights.comparisons_so_far}[/]", highlight=False)


def when(began: str) -> str:
    """2026-11-20 02:00, in UTC."""
    return began[:16].replace("T", " ")


def value_cell(each: Evaluated, system: str) -> str:
    """The mean, with the difference of a candidate behind it, coloured by its verdict."""
    if system not in each.values:
        return ""
    text = plain(each.values[system])
    if system in each.differences:
        text += f" {signed(each.differences[system])}"
    word = mark(each.verdicts.get(system, ""))
    return f"[{COLOURS[word]}]{text}[/]" if word in COLOURS else text


def mark(verdict: str) -> str:
    return next((word for word in ("improved", "regressed", "may be worse") if verdict.startswith(word)), "")


def bars(values: Sequence[float | None]) -> str:
    """One sign for each value, from the lowest to the highest of them; a dot where there is none."""
    known = [value for value in values if value is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    span = (high - low) or 1.0
    return "".join("·" if value is None else BARS[round((len(BARS) - 1) * (value - low) / span)] for value in values)


QueryValue = tuple[int, str, str, float]  # ordinal, began, system_id, value


def read_query(evaluation: Evaluation, query_id: str, metric: str | None, last: int | None) -> list[QueryValue]:
    """One query's values over the evaluations, the latest `last` of them; InputError where it is in none."""
    path = history.path_of(evaluation)
    if not path.exists():
        raise InputError(f"{path}: there is no history yet; `ndcg-ab run` makes it")
    with history.opened(path) as past:
        name = known_metric(past, metric or evaluation.metrics[0], path)
        rows = past.rows(
            "select ordinal, began, system_id, value from query_score inner join evaluation using (ordinal)"
            " where query_id = $query_id and metric = $metric order by ordinal, system_id",
            {"query_id": query_id, "metric": name},
        )
        if not rows:
            near = past.rows(
                "select query_id from query_score group by query_id"
                " order by levenshtein(query_id, $query_id), query_id limit 3",
                {"query_id": query_id},
            )
            names = ", ".join(repr(found) for (found,) in near)
            raise InputError(f"--query {query_id!r}: is in no evaluation of {path} (near: {names})")
    ordinals = sorted({row[0] for row in rows})
    return [row for row in rows if last is None or row[0] in ordinals[-last:]]


def query_json(query_id: str, rows: Sequence[QueryValue]) -> str:
    names = ("ordinal", "began", "system_id", "value")
    content = {"schema": 1, "query_id": query_id, "values": [dict(zip(names, row, strict=True)) for row in rows]}
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def print_query(console: Console, query_id: str, rows: Sequence[QueryValue]) -> None:
    systems = list(dict.fromkeys(system for _, _, system, _ in rows))
    made = plain_table(f"query [bold]{escape(query_id)}[/]")
    for name in ("", "began", *systems):
        made.add_column(Text(name), justify="right" if name not in ("began",) else "left")
    values: dict[tuple[int, str], dict[str, float]] = defaultdict(dict)
    for ordinal, began, system, value in rows:
        values[ordinal, began][system] = value
    for (ordinal, began), found in values.items():
        made.add_row(str(ordinal), when(began), *(plain(found.get(system)) for system in systems))
    console.print(made)
    width = max(map(len, systems))
    for system in systems:
        row = bars([found.get(system) for found in values.values()])
        console.print(f"{system:>{width}}  {row}", markup=False, highlight=False)


def nights_json(nights: Nights) -> str:
    content = {
        "schema": 1,
        "name": nights.name,
        "metric": nights.metric,
        "comparisons_so_far": nights.comparisons_so_far,
        "evaluations": [
            {
                "ordinal": each.ordinal,
                "key": each.key,
                "began": each.began,
                "baseline": each.baseline,
                "gate": each.gate,
                "changed": list(each.changed),
                "systems": [
                    {
                        "system_id": system,
                        "mean": value,
                        "difference": each.differences.get(system),
                        "verdict": each.verdicts.get(system),
                    }
                    for system, value in each.values.items()
                ],
            }
            for each in nights.evaluations
        ],
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"
