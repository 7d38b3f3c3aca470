"""How metrics are written: the text and the mapping that name one, and the presets.

>>> parse("nDCG@10").name
'ndcg@10'
>>> parse("ndcg(ideal=local, gain=exponential)@10").name
'ndcg(gain=exponential, ideal=local)@10'
"""

import dataclasses
import functools
import math
import re
from collections.abc import Mapping
from typing import Any

from ndcg_core.measures.metric import COUNTS, DEEPEST, NUMBERS, VALUES, Metric, MetricError
from ndcg_core.measures.metric_aliases import SHORT, translate, translate_measure, translation_hint
from ndcg_core.measures.registry import MEASURES
from ndcg_core.measures.writing import unknown_value_message

# The same number as the tool that a team used before (docs/presets.md): name -> its choices
PRESETS: dict[str, dict[str, str]] = {
    "standard": {},
    "ranx": {},
    "beir": {},
    "trec_eval-9": {"score_precision": "float32", "no_relevant": "zero"},
    "trec_eval-10": {"no_relevant": "zero"},
    "gdeval": {"gain": "exponential"},
    "opensearch": {"gain": "exponential"},
    "quepid": {"gain": "exponential", "ideal_cut": "none"},
    "quepid-cut": {"gain": "exponential"},
    "elasticsearch": {"gain": "exponential", "ideal_cut": "returned"},
    "mlflow": {"gain": "binary", "ideal_cut": "returned"},
    "sklearn": {"ties": "average"},
    "jarvelin-kekalainen": {"discount": "jarvelin_kekalainen"},
    "turnbull-local": {"discount": "reciprocal", "ideal": "local"},
    "turnbull-recall": {"discount": "reciprocal", "ideal": "recall"},
    "turnbull-global": {"discount": "reciprocal", "ideal": "global"},
    "turnbull-max": {"discount": "reciprocal", "ideal": "max"},
}


OWN_LEFT_OUT = ("beir",)  # presets of tools that leave out the query's own document before they score


def leaves_own_out(metric: Any) -> bool:
    """Return whether a metric, as a text or a mapping, names a preset whose tool leaves the query's own document out.

    >>> leaves_own_out("ndcg(preset=beir)@10"), leaves_own_out("ndcg@10")
    (True, False)
    """
    named = re.findall(r"\bpreset\s*=\s*([\w-]+)", metric) if isinstance(metric, str) else []
    named += [str(metric.get("preset"))] if isinstance(metric, Mapping) else []
    return any(name.lower() in OWN_LEFT_OUT for name in named)


@functools.lru_cache(1024)  # an evaluation asks for the same ones again and again
def parse(text: str) -> Metric:
    """The metric that `text` names: ``measure``, ``measure@k`` or ``measure(choice=value, …)@k``.

    Measures are read without regard to case (nDCG@10), by the names of other tools (MRR@10, P_10, map), and choices by
    their `SHORT` names, too.  Raises MetricError with the rule that was broken.
    """
    if answer := translation_hint(text):
        raise MetricError(f"metric {text!r}: {answer}")
    found = re.fullmatch(
        r"\s*([A-Za-z][A-Za-z0-9_]*)\s*(?:\((.*)\))?\s*(?:@\s*([^\s()]+))?\s*", translate(text), flags=re.DOTALL
    )
    if not found or not re.fullmatch(r"[^\s,]*", found[3] or ""):
        several = split_metrics(text)
        if found and all(part.isdecimal() for part in several[1:]):
            several = [several[0], *(text[: text.index("@") + 1].strip() + part for part in several[1:])]
        rule = f"names {len(several)} metrics, {' and '.join(several)}: give each by itself"
        if len(several) < 2:
            rule = "must look like ndcg@10 or ndcg(gain=exponential, ideal=local)@10"
        raise MetricError(f"metric {text!r}: {rule}")
    measure, inner, cutoff = found.groups()
    fields: dict[str, Any] = {"measure": measure.lower()}
    if cutoff is not None:
        if not re.fullmatch(r"[0-9]+", cutoff):
            raise MetricError(f"metric {text!r}: cutoff = {cutoff!r} must be a whole number from 1 to {DEEPEST}")
        fields["cutoff"] = int(cutoff)
    for part in split_choices(inner or ""):
        choice, equals, value = (piece.strip() for piece in part.partition("="))
        choice = SHORT.get(choice, choice)
        if not equals or not value:
            raise MetricError(f"metric {text!r}: {part.strip()!r} must be choice=value")
        if choice in fields:
            raise MetricError(f"metric {text!r}: {choice} is given twice")
        fields[choice] = value
    try:
        return from_mapping(fields)
    except MetricError as error:
        hint = "" if fields["measure"] in MEASURES else " (`ndcg-ab metrics` lists them)"
        raise MetricError(f"metric {text!r}: {error}{hint}") from None


def split_metrics(text: str) -> list[str]:
    """The metrics of ``ndcg@10,rr@10`` or ``ndcg@10 rr@10``; what stands among choices divides nothing."""
    return [part.strip() for part in re.split(r"(?:,|(?<=\d)\s+(?=[A-Za-z]))(?![^(]*\))", text) if part.strip()]


def from_mapping(fields: Mapping[str, Any]) -> Metric:
    """The metric of a mapping such as ``{"measure": "ndcg", "cutoff": 10, "gain": {1: 1, 2: 3}}``.

    Values may be text (as written in the canonical form).  Raises MetricError on an unknown choice or value.
    """
    known = tuple(field.name for field in dataclasses.fields(Metric))
    values: dict[str, Any] = {}
    for choice, value in fields.items():
        if choice not in (*known, "preset"):
            raise MetricError(unknown_value_message("choice", choice, (*known, "preset")))
        if choice != "preset":
            values[choice] = read_choice(choice, value)
    if "preset" in fields:
        measure = Metric(measure=values.get("measure", "ndcg"))
        had = {
            choice: value
            for choice, value in preset_choices(str(fields["preset"])).items()
            if choice in measure.choices()
        }
        values = had | values
    return Metric(**values)


def preset_choices(name: str) -> dict[str, str]:
    """The choices of a preset; a measure takes those that it has."""
    if name.lower() not in PRESETS:
        raise MetricError(unknown_value_message("preset", name, PRESETS))
    return PRESETS[name.lower()]


def read_choice(choice: str, value: Any) -> Any:
    """One choice from text, or from what a YAML or JSON file holds. Raises MetricError where it cannot be read."""
    if choice == "measure":
        return translate_measure(str(value))
    if choice in COUNTS:
        if value is None:
            return None
        if isinstance(value, bool) or not re.fullmatch(r"[0-9]+", str(value)):
            raise MetricError(f"{choice} = {value!r}: must be a whole number from 1 to {DEEPEST}")
        return int(value)
    if choice == "gain" and isinstance(value, Mapping):
        return tuple((read_number("gain grade", grade), read_number("gain", gain)) for grade, gain in value.items())
    if choice == "gain" and str(value).startswith("{"):
        return tuple(read_gain_entry(entry) for entry in str(value).strip("{} ").split(",") if entry.strip())
    if choice in NUMBERS:
        return None if value is None else read_number(choice, value)
    if isinstance(value, bool) or not isinstance(value, str):
        raise MetricError(unknown_value_message(choice, str(value), VALUES[choice]))
    return value.lower()


def read_gain_entry(entry: str) -> tuple[float, float]:
    """(grade, gain) of ``grade:gain``."""
    grade, colon, gain = entry.partition(":")
    if not colon:
        raise MetricError(f"gain table entry {entry.strip()!r}: must be grade:gain, as in {{1:1, 2:3}}")
    return read_number("gain grade", grade), read_number("gain", gain)


def read_number(what: str, value: Any) -> float:
    """A finite number; `what` names it in the MetricError that anything else raises."""
    try:
        result = float(value)
    except (TypeError, ValueError):
        raise MetricError(f"{what} = {value!r}: must be a number") from None
    if not math.isfinite(result):
        raise MetricError(f"{what} = {value!r}: must be a finite number")
    return result


def split_choices(inner: str) -> list[str]:
    """The parts between commas, without splitting a gain table in braces."""
    return [part for part in re.split(r",(?![^{]*\})", inner) if part.strip()]
