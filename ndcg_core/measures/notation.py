"""Parse metrics from text and from mappings, including presets and the names of other tools.

>>> parse("nDCG@10").name
'ndcg@10'
>>> parse("ndcg(ideal=local, gain=exponential)@10").name
'ndcg(gain=exponential, ideal=local)@10'

A metric whose values another tool computed is represented by a name and a direction only (`ExternalMetric`).
"""

import dataclasses
import functools
import math
import re
from collections.abc import Collection, Mapping
from typing import Any

from ndcg_core.measures.metric import COUNTS, DEEPEST, NUMBERS, VALUES, Metric, MetricError, unknown_value_message
from ndcg_core.measures.registry import MEASURES, Divisor, Measure, Quotient, RankedGains

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
"""Name of a tool -> the choices of the metrics that compute the same numbers (docs/presets.md)."""

# The measure here -> its names in trec_eval, ir_measures, ranx, pytrec_eval and papers, in small letters.
# The value of a query is that of the tool, but where trec_eval takes scores for equal that differ in their last digits
# alone (it compares 32-bit floats); a query without anything relevant is left out of our mean, and scores 0 in its.
NAMES_ELSEWHERE = {
    "precision": ("p", "prec", "set_p"),
    "recall": ("r", "set_recall"),
    "rr": ("mrr", "recip_rank", "reciprocal_rank", "mean_reciprocal_rank"),
    "ndcg": ("ndcg_cut", "mean_ndcg"),
    "accuracy": ("success", "hit", "hits", "hit_rate", "hitrate", "hit_ratio", "hr"),
    "ap": ("map", "map_cut", "average_precision", "mean_average_precision"),
    "rprec": ("r_prec", "r_precision"),
    "infap": ("inf_ap",),
    "bpref": ("b_pref",),
}
BUILTIN_NAMES = {name: measure for measure, names in NAMES_ELSEWHERE.items() for name in names}
# What ir_measures calls a choice -> the choice here: AP(rel=2)@100 and RBP(p=0.9) are read as they are.
CHOICE_SYNONYMS = {"rel": "relevant_from", "p": "persistence"}
# Not computed here -> its name in words, and the nearest that is.
NEAREST_MEASURES = {
    "gm_map": ("the geometric mean of average precision", "ap"),
    "f1": ("F1", "precision"),
    "set_f": ("F1", "precision"),
}

# A name and a cutoff: P@10, P_10, ndcg_cut.10, ndcg10, ndcg_at_10.
NAME_AND_CUTOFF = re.compile(r"\s*([a-z][a-z_]*?|f1)(?:(?:_at)?\s*[@_. ]?\s*([0-9]+))?\s*")
NAME_AND_CHOICES = re.compile(r"(\s*)([A-Za-z][A-Za-z0-9_-]*)(\s*\(.*)", flags=re.DOTALL)  # a name and its choices
RBP_NAME = re.compile(r"\s*rbp\s*\.\s*([0-9]+)\s*")

OWN_LEFT_OUT = ("beir",)  # presets of tools that leave out the query's own document before they score


def excludes_own_document(metric: Any) -> bool:
    """Return whether a metric has a preset that leaves out the document whose id is the query's id.

    Such a preset follows another tool, which removes this document before it scores. metric: text, or mapping of
    choices.

    >>> excludes_own_document("ndcg(preset=beir)@10"), excludes_own_document("ndcg@10")
    (True, False)
    """
    presets = re.findall(r"\bpreset\s*=\s*([\w-]+)", metric) if isinstance(metric, str) else []
    presets += [str(metric.get("preset"))] if isinstance(metric, Mapping) else []
    return any(name.lower() in OWN_LEFT_OUT for name in presets)


@functools.lru_cache(1024)  # an evaluation asks for the same ones again and again
def parse(text: str) -> Metric:
    """Return the metric that a text names.

    Parameters
    ----------
    text : str
        ``measure``, ``measure@k`` or ``measure(choice=value, ...)@k``. Measures are read without regard to case
        (nDCG@10) and also by the names of other tools (MRR@10, P_10, map); choices also by their short names.

    Returns
    -------
    Metric
        The metric with all of its choices.

    Raises
    ------
    MetricError
        If the text names no metric; the message says which rule is broken.
    """
    if answer := translation_hint(text):
        raise MetricError(f"metric {text!r}: {answer}")
    match = re.fullmatch(
        r"\s*([A-Za-z][A-Za-z0-9_]*)\s*(?:\((.*)\))?\s*(?:@\s*([^\s()]+))?\s*", translate(text), flags=re.DOTALL
    )
    if not match or not re.fullmatch(r"[^\s,]*", match[3] or ""):
        several = split_metrics(text)
        if match and all(part.isdecimal() for part in several[1:]):
            several = [several[0], *(text[: text.index("@") + 1].strip() + part for part in several[1:])]
        rule = f"names {len(several)} metrics, {' and '.join(several)}: give each by itself"
        if len(several) < 2:
            rule = "must look like ndcg@10 or ndcg(gain=exponential, ideal=local)@10"
        raise MetricError(f"metric {text!r}: {rule}")
    measure, inner, cutoff = match.groups()
    fields: dict[str, Any] = {"measure": measure.lower()}
    if cutoff is not None:
        fields["cutoff"] = cutoff
    for part in re.split(r",(?![^{]*\})", inner or ""):  # not at the commas of a gain table in braces
        if not part.strip():
            continue
        choice, equals, value = (piece.strip() for piece in part.partition("="))
        choice = CHOICE_SYNONYMS.get(choice, choice)
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
    """Return the separate metrics of ``ndcg@10,rr@10`` or ``ndcg@10 rr@10``; text within parentheses is not split."""
    return [part.strip() for part in re.split(r"(?:,|(?<=\d)\s+(?=[A-Za-z]))(?![^(]*\))", text) if part.strip()]


def from_mapping(fields: Mapping[str, Any]) -> Metric:
    """Return the metric that a mapping describes.

    Parameters
    ----------
    fields : mapping of str to Any
        Values by the names of `Metric`'s parameters, such as ``{"measure": "ndcg", "cutoff": 10, "gain": {1: 1, 2:
        3}}``; also ``preset``. Values may be text, written as in a metric's name.

    Returns
    -------
    Metric
        The metric with all of its choices.

    Raises
    ------
    MetricError
        If a choice or a value is unknown.
    """
    field_names = tuple(field.name for field in dataclasses.fields(Metric))
    values: dict[str, Any] = {}
    for choice, value in fields.items():
        if choice not in (*field_names, "preset"):
            raise MetricError(unknown_value_message("choice", choice, (*field_names, "preset")))
        if choice != "preset":
            values[choice] = read_choice(choice, value)
    if "preset" in fields:
        had, preset = Metric(measure=values.get("measure", "ndcg")).choices(), str(fields["preset"])
        if preset.lower() not in PRESETS:
            raise MetricError(unknown_value_message("preset", preset, PRESETS))
        values = {choice: value for choice, value in PRESETS[preset.lower()].items() if choice in had} | values
    return Metric(**values)


def read_choice(choice: str, value: Any) -> Any:
    """Return the value of one choice as `Metric` takes it, converted from text, YAML or JSON.

    choice: name of the choice. Raises MetricError if the value cannot be read.
    """
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
    """Parse ``grade:gain``, one entry of a gain table, into (grade, gain); raise MetricError for any other text."""
    grade, colon, gain = entry.partition(":")
    if not colon:
        raise MetricError(f"gain table entry {entry.strip()!r}: must be grade:gain, as in {{1:1, 2:3}}")
    return read_number("gain grade", grade), read_number("gain", gain)


def read_number(name: str, value: Any) -> float:
    """Convert a value to a finite number.

    name: word for the value in messages. Raises MetricError if the value is not a finite number.
    """
    try:
        result = float(value)
    except (TypeError, ValueError):
        raise MetricError(f"{name} = {value!r}: must be a number") from None
    if not math.isfinite(result):
        raise MetricError(f"{name} = {value!r}: must be a finite number")
    return result


# ---- what other tools and papers call a metric


def translate_name(text: str) -> str | None:
    """Return the built-in name for a metric name of another tool, such as ``precision@10`` for ``P_10``.

    Return None if no built-in measure matches. A cutoff is dropped if the measure has none.
    """
    match = NAME_AND_CUTOFF.fullmatch(text.lower().replace("-", "_"))
    name = translate_measure(match[1]) if match else ""
    if not match or name not in MEASURES:
        return None
    return f"{name}@{int(match[2])}" if match[2] and MEASURES[name].has_cutoff else name


def translate(text: str) -> str:
    """Return a metric's name in built-in notation (``precision@10`` for ``P_10``); leave other texts unchanged.

    Arguments in parentheses stay as they are (``ap(rel=2)`` for ``MAP(rel=2)``). A text that is a built-in name is
    returned unchanged.
    """
    if match := RBP_NAME.fullmatch(text.lower()):
        return f"rbp(p=0.{match[1]})"
    if match := NAME_AND_CHOICES.fullmatch(text):
        return f"{match[1]}{translate_measure(match[2])}{match[3]}"
    return text if is_builtin_name(text) or translation_hint(text) else translate_name(text) or text


def translate_measure(name: str) -> str:
    """Return the built-in name of a measure (``precision`` for ``P``).

    Other names are returned in lower case, with ``_`` instead of ``-``.
    """
    plain = name.lower().replace("-", "_")
    return plain if plain in MEASURES else BUILTIN_NAMES.get(plain, plain)


def is_builtin_name(text: str) -> bool:
    """Return whether a text is a built-in measure, alone or with ``@k``, without regard to case."""
    match = re.fullmatch(r"\s*([a-z][a-z0-9_]*)\s*(@\s*[0-9]+\s*)?", text.lower())
    return match is not None and match[1] in MEASURES


def translation_hint(text: str) -> str:
    """Return a hint if another tool's metric name cannot be translated, else "".

    The reason is that no built-in measure computes the metric, or that the name has a cutoff and the built-in measure
    cannot have one.
    """
    match = NAME_AND_CUTOFF.fullmatch(text.lower().replace("-", "_"))
    if match is None or is_builtin_name(text):
        return ""
    at = f"@{int(match[2])}" if match[2] else ""
    if match[1] in NEAREST_MEASURES:
        words, nearest = NEAREST_MEASURES[match[1]]
        return f"{words} is not computed here; the nearest is {nearest + at!r}"
    builtin = translate_name(text)
    return f"has no cutoff here: say {builtin!r}" if builtin and at and "@" not in builtin else ""


NEGATED = "-"  # prefix of a name whose lower values are better: the signs of the values are turned
ELSEWHERE = "elsewhere"  # tool of values that were given without one
LONGEST = 200  # characters of a name at most


@dataclasses.dataclass(frozen=True)
class ExternalMetric(Metric):
    """A metric whose values another tool computed: a name and a direction, without a definition.

    Parameters
    ----------
    external_name : str
        Name of the metric in the other tool. A leading ``-`` means that lower values are better; the signs of all
        values are then reversed.
    tool : str
        The tool, with version, that ndcg-ab runs on rankings and judgments; empty if the values come from a file.

    Raises
    ------
    MetricError
        If the name is empty, longer than 200 characters, has spaces at an end, or is not printable on one line.
    """

    external_name: str = ""
    tool: str = ""

    def __post_init__(self) -> None:
        bare = self.external_name.removeprefix(NEGATED)
        if not bare or not bare.isprintable() or bare != bare.strip() or len(bare) > LONGEST:
            rule = f"must be printable text on one line, of 1 to {LONGEST} letters"
            raise MetricError(f"metric {self.external_name!r}: {rule}")

    @property
    def source_name(self) -> str:
        """Return the metric's name in the other tool, without the leading ``-``."""
        return self.external_name.removeprefix(NEGATED)

    @property
    def is_negated(self) -> bool:
        """Return whether lower values of the metric are better, so that the signs of all values are reversed."""
        return self.external_name.startswith(NEGATED)

    @property
    def name(self) -> str:
        return self.external_name

    def choices(self) -> tuple[str, ...]:
        """Return an empty tuple: ndcg-ab does not know the choices that another tool makes."""
        return ()

    @property
    def definition(self) -> dict[str, Any]:
        """Return the name, the tool, and whether lower values are better."""
        return {"measure": self.source_name, "computed": self.tool or ELSEWHERE, "lower_is_better": self.is_negated}

    @property
    def traits(self) -> Measure:
        """Return the traits of a metric without a definition: additive, with an unknown divisor.

        Values are taken to lie in [0, 1] if a built-in metric has the same name and this range.
        """
        builtin = find_builtin_metric(self.external_name)
        is_bounded = builtin is not None and builtin.traits.is_bounded
        return Measure(self.external_name, refuse_quotient, Divisor.OTHER, is_additive=True, is_bounded=is_bounded)

    @property
    def tracker_name(self) -> str:
        """Return the name for trackers, which has only letters, digits and ``_ - .``.

        If the metric's name has other characters, they are replaced by ``_``, and the metric's hash is appended. If a
        built-in metric has the name, the result is the tracker name of the built-in metric.
        """
        builtin = find_builtin_metric(self.external_name)
        if builtin is not None:
            return builtin.tracker_name
        plain = re.sub(r"[^A-Za-z0-9_.\-]+", "_", self.external_name)
        return plain if plain == self.external_name else f"{plain}_{self.hash}"


def refuse_quotient(ranked: RankedGains) -> Quotient:
    """Raise MetricError: `ndcg_core` cannot compute the values of another tool's metric."""
    raise MetricError("a metric that another tool computed cannot be computed here")


def find_builtin_metric(name: str) -> Metric | None:
    """Return the built-in metric of a name, or None if there is none.

    A name that only other tools use, such as ``MRR@10``, does not count as built-in.
    """
    try:
        return parse(name) if translate(name).casefold() == name.casefold() else None
    except MetricError:
        return None


def canonical_name(name: str) -> str:
    """Return the canonical name of a built-in metric (``ndcg@10`` for ``nDCG@10``); leave other names unchanged."""
    sign = NEGATED if name.startswith(NEGATED) else ""
    builtin = find_builtin_metric(name.removeprefix(NEGATED))
    return name if builtin is None else sign + builtin.name


def match_metric(text: str, names: Collection[str]) -> str:
    """Return the name in `names` that denotes the metric of a text (``rr@10`` for ``MRR@10``).

    If `names` lacks the metric, return the canonical name of the text.
    """
    plain, builtin = canonical_name(text), canonical_name(translate(text))
    return builtin if plain not in names and builtin in names else plain


def make_metric(name: str) -> Metric:
    """Return the built-in metric of a name, or an `ExternalMetric` if no built-in metric has the name."""
    return find_builtin_metric(name) or ExternalMetric(external_name=name)
