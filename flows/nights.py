"""`ndcg-ab history`: the evaluations of one configuration, night by night, and what changed between them."""

import json
import string
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from flows import history, store
from flows.compare import picture_path as picture_path
from flows.config import Evaluation
from flows.errors import InputError
from flows.nights_picture import draw as draw
from flows.nights_picture import draw_query as draw_query
from flows.tables import COLOURS, plain_table
from flows.wording import plain, signed
from ndcg_core.metric import parse

BARS = "▁▂▃▄▅▆▇█"
MARKS = {"improved": "▲", "regressed": "▼", "may be worse": "▽"}
WIDE = 120  # columns from which differences are shown beside the values
LONG = 14  # letters of a system's name; a longer one gets a letter, which the bars below explain


@dataclass(frozen=True)
class Evaluated:
    """One evaluation of the history, on one metric.

    values: system_id -> mean. differences, verdicts: candidate -> difference, verdict.
    changed: what is not as in the evaluation before: judgments, ranking NAME, queries, configuration (its keys),
        baseline, definition (the metric's hash).
    pending: its bundle is there, and no tracker has it.
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
    pending: bool = False


@dataclass(frozen=True)
class Nights:
    """The evaluations, the oldest first; systems in the order in which they came."""

    name: str
    metric: str
    systems: tuple[str, ...]
    evaluations: tuple[Evaluated, ...]
    comparisons_so_far: int


@dataclass
class Past:
    """What the history holds of one metric, by ordinal."""

    metric: str
    evaluations: list[tuple[Any, ...]]
    values: defaultdict[int, dict[str, float | None]] = field(default_factory=lambda: defaultdict(dict))
    tests: defaultdict[int, dict[str, tuple[Any, str]]] = field(default_factory=lambda: defaultdict(dict))
    states: defaultdict[int, dict[str, Any]] = field(default_factory=lambda: defaultdict(dict))
    so_far: int = 0


def read_nights(evaluation: Evaluation, metric: str | None, last: int | None) -> Nights:
    """What the history holds; InputError where there is none, or not of this metric."""
    past = read_past(evaluation, metric)
    pending = {f"{evaluation.name}/{folder.name}" for folder in store.unpublished(evaluation)}
    found: list[Evaluated] = []
    before: dict[str, Any] | None = None
    for ordinal, key, began, baseline, gate, *_ in past.evaluations:
        state, tests = past.states[ordinal], past.tests[ordinal]
        found.append(
            Evaluated(
                ordinal,
                key,
                began,
                baseline,
                gate,
                past.values[ordinal],
                {candidate: difference for candidate, (difference, _) in tests.items()},
                {candidate: verdict for candidate, (_, verdict) in tests.items()},
                () if before is None else changes(before, state),
                key in pending,
            )
        )
        before = state
    shown = found[-last:] if last else found
    systems = dict.fromkeys(system for each in shown for system in each.values)
    return Nights(evaluation.name, past.metric, tuple(systems), tuple(shown), past.so_far)


def read_past(evaluation: Evaluation, metric: str | None) -> Past:
    path = history.path_of(evaluation)
    if not path.exists():
        raise InputError(f"{path}: there is no history yet; `ndcg-ab run` makes it")
    with history.opened(path) as tables:
        rows = tables.rows(
            "select ordinal, key, began, baseline, gate, configuration, query_set from evaluation order by ordinal"
        )
        if not rows:
            raise InputError(f"{path}: holds no evaluation yet; `ndcg-ab run` makes one")
        past = Past(known_metric(tables, metric or evaluation.metrics[0], path), rows)
        named = {"metric": past.metric}
        for ordinal, system, mean in tables.rows(
            "select ordinal, system_id, mean from system_summary where metric = $metric order by ordinal", named
        ):
            past.values[ordinal][system] = mean
        for ordinal, candidate, difference, verdict in tables.rows(
            "select ordinal, candidate, difference, verdict from comparison where metric = $metric"
            " and family in ('primary', 'secondary', 'guardrails')",
            named,
        ):
            past.tests[ordinal][candidate] = (difference, verdict)
        for ordinal, kind, name, digest in tables.rows("select ordinal, kind, name, digest from input"):
            past.states[ordinal][f"{kind} {name}" if kind == "ranking" else kind] = digest
        for ordinal, digest in tables.rows("select ordinal, hash from metric where metric = $metric", named):
            past.states[ordinal]["definition"] = digest
        past.so_far = history.comparisons_so_far(tables, rows[-1][-1]) if rows[-1][-1] else 0
    for ordinal, _, _, baseline, _, configuration, _ in rows:
        past.states[ordinal] |= {"configuration": settings(json.loads(configuration)), "baseline": baseline}
    return past


def settings(configuration: dict[str, Any]) -> dict[str, Any]:
    """key.key -> value of all in a configuration that can change a result; systems by their versions."""
    found: dict[str, Any] = {}

    def put(prefix: str, value: Any) -> None:
        if isinstance(value, dict):
            for name, inner in value.items():
                put(f"{prefix}.{name}" if prefix else name, inner)
        else:
            found[prefix] = value

    apart = history.ELSEWHERE | {"systems", "judgments", "queries", "baseline", "name"}
    put("", {key: value for key, value in configuration.items() if key not in apart})
    return found | {f"version of {system['name']}": system.get("version") for system in configuration["systems"]}


def known_metric(past: Any, metric: str, path: Path) -> str:
    name = parse(metric).name
    known = [found for (found,) in past.rows("select distinct metric from system_summary order by metric")]
    if name not in known:
        raise InputError(f"--metric {metric!r}: {path} has only {', '.join(known)}")
    return name


def changes(before: dict[str, Any], now: dict[str, Any]) -> tuple[str, ...]:
    """What differs between the inputs and configurations of two evaluations."""
    found = []
    for name in dict.fromkeys([*before, *now]):
        if name == "configuration":
            old, new = before[name], now[name]
            both = [key for key in dict.fromkeys([*old, *new]) if old.get(key) != new.get(key)]
            found += [f"configuration ({', '.join(both)})"] if both else []
        elif name == "definition":
            if name in before and name in now and before[name] != now[name]:
                found.append(name)
        elif name not in now:
            found.append(f"{name} gone")
        elif name not in before:
            found.append(f"{name} new")
        elif before[name] != now[name]:
            found.append(name)
    return tuple(found)


def labels(systems: Sequence[str], width: int) -> dict[str, str]:
    """What stands over a system's column: its name, or a letter where the names would not fit."""
    longest = LONG if width >= WIDE and len(systems) <= 6 else 9
    if all(len(system) <= longest for system in systems):
        return {system: system for system in systems}
    letters = [*string.ascii_uppercase, *(f"S{number}" for number in range(27, len(systems) + 1))]
    return dict(zip(systems, letters, strict=False))


def print_nights(console: Console, nights: Nights) -> None:
    """One line for each evaluation; then each system's values as a row of bars."""
    named = labels(nights.systems, console.width)
    made = plain_table(f"[bold]{escape(nights.name)}[/], {escape(nights.metric)}{years(nights)}")
    for name in ("", "began", *(named[system] for system in nights.systems), "gate", "changed"):
        is_text = name in ("began", "gate", "changed")
        made.add_column(Text(name), justify="left" if is_text else "right", no_wrap=name != "changed")
    for each in nights.evaluations:
        cells = [value_cell(each, system, wide=console.width >= WIDE) for system in nights.systems]
        changed = ", ".join(each.changed) or ("" if each is nights.evaluations[0] else "–")
        if each.pending:
            changed = f"[yellow]pending[/]; {escape(changed)}" if each.changed else "[yellow]pending[/]"
        else:
            changed = escape(changed)
        gate = f"[red]{each.gate}[/]" if each.gate == "failed" else each.gate or "–"
        made.add_row(str(each.ordinal), when(each.began)[5:], *cells, gate, changed)
    console.print(made)
    print_bars(console, {system: [each.values.get(system) for each in nights.evaluations] for system in named}, named)
    marks = "  ".join(f"{sign} {word}" for word, sign in MARKS.items())
    console.print(f"[dim]{marks}[/]", highlight=False)
    console.print(f"[dim]comparisons so far on these queries: {nights.comparisons_so_far}[/]", highlight=False)


def years(nights: Nights) -> str:
    found = sorted({each.began[:4] for each in nights.evaluations})
    return f", {found[0]}" + (f"–{found[-1]}" if len(found) > 1 else "")


def print_bars(console: Console, values: dict[str, list[float | None]], named: dict[str, str]) -> None:
    """The latest values that fit, the names behind them where letters stand for them."""
    short = max(map(len, named.values()))
    for system, found in values.items():
        fitting = found[-max(10, console.width - short - 2) :]
        console.print(f"{named[system]:>{short}}  {bars(fitting)}", markup=False, highlight=False, overflow="crop")
    for system, letter in named.items():
        if letter != system:
            console.print(f"{letter:>{short}}: {system}", markup=False, highlight=False)


def when(began: str) -> str:
    """2026-11-20 02:00, in UTC."""
    return began[:16].replace("T", " ")


def value_cell(each: Evaluated, system: str, *, wide: bool) -> str:
    """The mean and the verdict's mark, where there is room the difference of a candidate too."""
    if system not in each.values:
        return ""
    text = plain(each.values[system])
    if wide and system in each.differences:
        text += f" {signed(each.differences[system])}"
    word = mark(each.verdicts.get(system, ""))
    text += f" {MARKS.get(word, ' ')}"
    return f"[{COLOURS[word]}]{text}[/]" if word in COLOURS else text


def mark(verdict: str) -> str:
    return next((word for word in MARKS if verdict.startswith(word)), "")


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
    named = labels(systems, console.width)
    made = plain_table(f"query [bold]{escape(query_id)}[/]")
    for name in ("", "began", *(named[system] for system in systems)):
        made.add_column(Text(name), justify="right" if name != "began" else "left", no_wrap=True)
    values: dict[tuple[int, str], dict[str, float]] = defaultdict(dict)
    for ordinal, began, system, value in rows:
        values[ordinal, began][system] = value
    for (ordinal, began), found in values.items():
        made.add_row(str(ordinal), when(began), *(plain(found.get(system)) for system in systems))
    console.print(made)
    print_bars(console, {system: [found.get(system) for found in values.values()] for system in systems}, named)


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
                "pending": each.pending,
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
