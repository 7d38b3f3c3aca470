"""Print the reference of finding codes, measures, choices and presets, as text and as JSON."""

import dataclasses
import re
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markdown import Markdown
from rich.text import Text

from ndcg_ab.errors import InputError
from ndcg_ab.finding_codes import CODES, unknown_code_message
from ndcg_ab.finding_codes.inputs import Code
from ndcg_ab.results.outcome import Severity
from ndcg_core.measures.meanings import CHOICE_MEANINGS, MEASURE_MEANINGS, TABLE_MEANING, VALUE_MEANINGS
from ndcg_core.measures.metric import POLICIES, VALUES, Metric, choice_text
from ndcg_core.measures.notation import PRESETS, parse
from ndcg_core.measures.registry import DISCOUNTS, GAINS, IDEALS, MEASURES


def print_codes(console: Console) -> None:
    """Print every finding code with its usual severity, one per line."""
    width = max(map(len, CODES))
    for code, entry in CODES.items():
        head = Text.assemble(f"{code:{width}}  ", (f"{entry.severity:7}", Severity(entry.severity).traits.colour))
        console.print(head.append(f"  {entry.means.partition('. ')[0].rstrip('.')}"), overflow="fold")


def list_codes(codes: Sequence[str]) -> list[dict[str, Any]]:
    """Return finding codes with severity, meaning and advice, as data for JSON.

    Raise InputError for an unknown code. codes: the codes to list; if empty, all.
    """
    return [{"code": code, **find_entry(code)._asdict()} for code in codes or CODES]


def find_entry(code: str) -> Code:
    """Return the entry of a finding code; raise InputError for an unknown code."""
    if code not in CODES:
        raise InputError(unknown_code_message(code))
    return CODES[code]


def print_entry(console: Console, code: str) -> None:
    """Print the meaning of a finding code and its remedy; raise InputError for an unknown code."""
    entry = find_entry(code)
    console.print(Text.assemble((code, "bold"), ": ", (entry.severity, Severity(entry.severity).traits.colour)))
    console.print(entry.means, markup=False)
    console.print(f"What to do: {entry.advice}", markup=False)
    if entry.is_fixed:
        console.print("Always an error: no severity can be set.")
    else:
        console.print(f"Another severity: --finding {code}=ignore, or `findings: {{{code}: ignore}}`")


MOST_COLUMNS = 100  # of prose
TERMS = Path(__file__).parent.parent / "terms.md"
LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")


def read_terms() -> str:
    """Return the glossary (docs/glossary.md) as Markdown, without its links into the documentation."""
    text = re.sub(r"\s\(\[[^\]]+\]\([^)]*\)\)", "", TERMS.read_text(encoding="utf-8"))
    return LINK.sub(r"\1", text)


def print_terms(console: Console) -> None:
    console.print(Markdown(read_terms()), width=min(console.width, MOST_COLUMNS))


WIDTH = 80
MOST_OF_A_VALUE = 20  # columns for the value of a choice
SHOWN_CUTOFF = 10  # of the metric that a preset stands for
DEFAULTS = {field.name: field.default for field in dataclasses.fields(Metric)}
CHOICES = tuple(name for name in DEFAULTS if name not in ("measure", "cutoff"))


# ---- what there is


def special_choices(measure: str) -> list[str]:
    """Return the choices of a measure that are not common to all measures."""
    return [choice for choice in Metric(measure=measure).choices() if choice not in POLICIES]


def required_choice(choice: str) -> str | None:
    """Return the condition under which a choice of a metric applies, such as ``gain=binary``.

    None if the choice always applies.
    """
    for kind, entries in (("gain", GAINS), ("discount", DISCOUNTS), ("ideal", IDEALS)):
        for name, entry in entries.items():
            if choice in entry.choices and name in VALUES[kind]:
                return f"{kind}={name}"
    return None


def preset_metric(name: str) -> Metric:
    """Return the nDCG metric that a preset stands for, with the cutoff SHOWN_CUTOFF."""
    return parse(f"ndcg(preset={name})@{SHOWN_CUTOFF}")


def lists_content() -> dict[str, Any]:
    """Return the measures, choices and presets as data for JSON."""
    return {
        "measures": [
            {"measure": name, "meaning": MEASURE_MEANINGS[name], "choices": [*Metric(measure=name).choices()]}
            for name in MEASURES
        ],
        "choices": [
            {
                "choice": choice,
                "meaning": CHOICE_MEANINGS[choice],
                "needs": required_choice(choice),
                "default": DEFAULTS[choice],
                "values": [
                    {"value": value, "meaning": VALUE_MEANINGS[choice, value]} for value in VALUES.get(choice, ())
                ],
            }
            for choice in CHOICES
        ],
        "presets": [
            {"preset": name, "metric": preset_metric(name).name, "hash": preset_metric(name).hash} for name in PRESETS
        ],
    }


def list_choices() -> Iterator[str]:
    """Yield the lines that list measures, choices and presets."""
    yield "MEASURES   as ndcg, ndcg@10, ndcg(gain=exponential, ideal=local)@10"
    yield ""
    for name in MEASURES:
        yield from wrap_beside(f"  {name}", MEASURE_MEANINGS[name], 13)
        if choices := special_choices(name):
            yield from wrap_beside("", f"choices: {', '.join(choices)}", 13)
    yield from wrap_beside("  all", f"choices: {', '.join(POLICIES)}", 13)
    yield ""
    yield "CHOICES    * is the default"
    yield ""
    for choice in CHOICES:
        always = [measure for measure in MEASURES if choice in special_choices(measure)]
        more = f", and of {', '.join(always)}" if always else ""
        condition = f" (with {needs}{more})" if (needs := required_choice(choice)) else ""
        yield from wrap_beside(f"  {choice}", CHOICE_MEANINGS[choice] + condition, 25)
        for value in VALUES.get(choice, ()):
            mark = "*" if value == DEFAULTS[choice] else " "
            yield from wrap_beside(f"  {mark} {value}", VALUE_MEANINGS[choice, value], 25)
        if choice == "gain":
            yield from wrap_beside("    {grade:gain, …}", TABLE_MEANING, 25)
    yield ""
    yield f"PRESETS    what another tool computes, as ndcg(preset=sklearn)@{SHOWN_CUTOFF}"
    yield ""
    for name in PRESETS:
        yield from wrap_beside(f"  {name}", preset_metric(name).name, 25)


def wrap_beside(name: str, text: str, start: int) -> list[str]:
    """Return a name with a text beside it, wrapped to lines of at most `WIDTH` columns.

    start: the column at which the text begins.
    """
    lines = textwrap.wrap(text, WIDTH - start, break_on_hyphens=False) or [""]
    return [f"{name:<{start - 1}} {lines[0]}".rstrip(), *(f"{'':{start}}{line}" for line in lines[1:])]


# ---- one metric


def metrics_content(metrics: Sequence[Metric]) -> dict[str, Any]:
    """Return each metric with its hash and every choice, as data for JSON."""
    return {
        "metrics": [
            {
                "name": metric.name,
                "hash": metric.hash,
                "tracker_name": metric.tracker_name,
                "definition": metric.definition,
            }
            for metric in metrics
        ]
    }


def format_metric(metric: Metric, typed_text: str) -> str:
    """Return a metric with the meaning of every choice. typed_text: the metric as the user wrote it."""
    choices = ", ".join(
        f"{choice}={format_choice(metric, choice)}"
        for choice in metric.choices()
        if getattr(metric, choice) is not None
    )
    cutoff = f"@{metric.cutoff}" if metric.cutoff else ""
    rows = [("metric", metric.name)]
    if typed_text.strip() != metric.name:
        rows.append(("written", typed_text.strip()))
    rows += [
        ("in full", f"{metric.measure}({choices}){cutoff}"),
        ("in trackers", metric.tracker_name),
        ("hash", metric.hash),
    ]
    lines = [line for name, text in rows for line in wrap_beside(name, text, 14)]
    values = {choice: format_choice(metric, choice) for choice in ("cutoff", *metric.choices())}
    width = 21 + max(len(value) for value in values.values() if len(value) <= MOST_OF_A_VALUE)
    lines += ["", *wrap_beside(f"  {metric.measure}", MEASURE_MEANINGS[metric.measure], width)]
    for choice, value in values.items():
        mark = "*" if choice != "cutoff" and getattr(metric, choice) == DEFAULTS[choice] else " "
        name = f"{mark} {choice:<16} {value}"
        if len(value) > MOST_OF_A_VALUE:
            lines.append(name)
            name = ""
        lines += wrap_beside(name, explain_choice(metric, choice), width)
    return "\n".join([*lines, "", "* the default"]) + "\n"


def format_choice(metric: Metric, choice: str) -> str:
    value = getattr(metric, choice)
    return "–" if value is None else choice_text(value)


def explain_choice(metric: Metric, choice: str) -> str:
    meaning = VALUE_MEANINGS.get((choice, getattr(metric, choice)))
    return f"{CHOICE_MEANINGS[choice].removesuffix(' …')}: {meaning}" if meaning else CHOICE_MEANINGS[choice]
