"""A metric as data: every choice named, a canonical form, a short hash.

Two tools that both print "nDCG@10" for one ranking can differ by a factor of two, because they chose
differently.  A `Metric` holds every choice; its `name` is the shortest form that parses back to it, its
`hash` stands for the full definition and is stored with every value.

    >>> parse("nDCG@10").name
    'ndcg@10'
    >>> parse("ndcg(ideal=local, gain=exponential)@10").name
    'ndcg(gain=exponential, ideal=local)@10'
"""

import dataclasses
import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

MEASURES = ("ndcg", "dcg", "cg", "accuracy", "precision", "recall", "rr", "judged")

# choice -> its values, the default first
VALUES: dict[str, tuple[str, ...]] = {
    "gain": ("linear", "exponential", "binary"),
    "discount": ("log2", "jarvelin_kekalainen", "reciprocal", "none"),
    "ideal": ("global", "local", "recall", "max"),
    "ideal_cut": ("cutoff", "none", "returned"),
    "ties": ("doc_id_desc", "doc_id_asc", "average", "given"),
    "score_precision": ("double", "float32"),
    "unjudged": ("zero", "condense"),
    "negative": ("zero", "error"),
    "unanswered": ("zero", "exclude"),
    "no_relevant": ("exclude", "zero", "one"),
    "duplicates": ("error", "first"),
}
NUMBERS = ("relevant_from", "discount_base", "max_grade")
COUNTS = ("cutoff", "recall_depth")
DEEPEST = 1_000_000  # ranks that a metric can look at
POLICIES = ("ties", "score_precision", "unjudged", "negative", "unanswered", "no_relevant", "duplicates")
RELEVANCE_MEASURES = ("accuracy", "precision", "recall", "rr")
IDEAL_CHOICES = {"recall": ("recall_depth",), "max": ("max_grade",)}

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

Gain = str | tuple[tuple[float, float], ...]


class MetricError(ValueError):
    """A metric that does not exist, or a definition that contradicts itself; the message is for the user."""


@dataclasses.dataclass(frozen=True)
class Metric:
    """One effectiveness measure with every choice that fixes its value (definitions: docs/definitions.md).

    measure: one of `MEASURES`.
    cutoff: k >= 1, the ranks that count; None: everything returned.
    gain: "linear" r; "exponential" 2^r - 1; "binary" 1 from `relevant_from` on; or a table of
        (grade, gain) pairs.  A grade of 0 or below always gains 0.
    relevant_from: the lowest relevant grade (> 0) for binary gain, accuracy, precision, recall and rr;
        None: any grade above 0.
    discount: factor of rank i: "log2" 1/log2(i + 1), "jarvelin_kekalainen" 1/max(1, log_b i),
        "reciprocal" 1/i, "none" 1.
    discount_base: b > 1 of the Järvelin-Kekäläinen discount.
    ideal: what nDCG divides by: "global" all judged documents, "local" the system's own top k, "recall"
        its own top `recall_depth`, "max" the highest grade in every place.
    recall_depth: ranks that the recall ideal looks at, >= cutoff; None: everything returned.
    max_grade: the grade of the max ideal, > 0; None: the highest in all judgments of the evaluation.
    ideal_cut: where the ideal ends: "cutoff" at k, "none" nowhere, "returned" at min(k, results returned).
    ties: the order of equal scores: by doc_id as bytes, "doc_id_desc" (trec_eval) or "doc_id_asc"; "average"
        every place of the tie gets its mean gain (McSherry and Najork 2008); "given" by the ranking's own ranks,
        scores ignored.
    score_precision: "float32" compares scores as 32-bit floats, as trec_eval 9 does.
    unjudged: "zero" gains nothing; "condense" is taken out before ranks are given (Sakai 2007).
    negative: "zero" a grade below 0 gains nothing; "error" it is refused.
    unanswered: a judged query that a system returned nothing for: "zero", or "exclude" for that system.
    no_relevant: a query without any gain among its judgments: "exclude" for every system, or the value
        "zero" or "one".
    duplicates: a document twice in a ranking: "error", or "first" the better of the two counts.

    Raises MetricError on a value outside its range or a choice that its measure does not have.
    Sources: Järvelin and Kekäläinen 2002 (gain, discount, ideal); Burges et al. 2005 (exponential).
    """

    measure: str = "ndcg"
    cutoff: int | None = None
    gain: Gain = "linear"
    relevant_from: float | None = None
    discount: str = "log2"
    discount_base: float = 2.0
    ideal: str = "global"
    recall_depth: int | None = None
    max_grade: float | None = None
    ideal_cut: str = "cutoff"
    ties: str = "doc_id_desc"
    score_precision: str = "double"
    unjudged: str = "zero"
    negative: str = "zero"
    unanswered: str = "zero"
    no_relevant: str = "exclude"
    duplicates: str = "error"

    def __post_init__(self) -> None:
        if self.measure not in MEASURES:
            raise MetricError(unknown("metric", self.measure, MEASURES))
        for choice in COUNTS:
            value = getattr(self, choice)
            if value is not None and (isinstance(value, bool) or not 1 <= int(value) <= DEEPEST):
                raise MetricError(f"{choice} = {value}: must be a whole number from 1 to {DEEPEST}")
        if not isinstance(self.gain, str):
            object.__setattr__(self, "gain", checked_table(self.gain))
        for choice, values in VALUES.items():
            value = getattr(self, choice)
            if isinstance(value, str) and value not in values:
                raise MetricError(unknown(choice, value, values))
        for choice in NUMBERS:
            if getattr(self, choice) is not None:
                object.__setattr__(self, choice, float(getattr(self, choice)))
        for choice in ("relevant_from", "max_grade"):
            grade = getattr(self, choice)
            if grade is not None and not (math.isfinite(grade) and grade > 0):
                raise MetricError(f"{choice} = {number(grade)}: must be a grade above 0")
        if not (math.isfinite(self.discount_base) and self.discount_base > 1):
            raise MetricError(f"discount_base = {number(self.discount_base)}: must be above 1")
        self._settle_equal_choices()
        self._refuse_idle_choices()
        if self.ties == "average" and self.measure in ("accuracy", "rr"):
            raise MetricError(f"ties = average: {self.measure} is no sum over places; choose another rule for ties")
        if self.recall_depth is not None and (self.cutoff is None or self.recall_depth < self.cutoff):
            least = "leave it out where there is no cutoff" if self.cutoff is None else f"not below k = {self.cutoff}"
            raise MetricError(f"recall_depth = {self.recall_depth}: {least}, or a value could exceed 1")
        if self.ideal == "max" and self.ideal_cut == "none":
            raise MetricError("ideal_cut = none: an ideal of the highest grade in every place must end somewhere")

    def _settle_equal_choices(self) -> None:
        """Where two values of a choice come to the same, the default stands: one metric has one name."""
        ends_nowhere_anyway = self.ideal_cut == "none" and self.cutoff is None and self.ideal != "max"
        holds_only_what_was_returned = self.ideal == "local" or (
            self.ideal == "recall" and self.ideal_cut == "returned"
        )
        if self.measure == "ndcg" and (ends_nowhere_anyway or holds_only_what_was_returned):
            object.__setattr__(self, "ideal_cut", "cutoff")
        if self.ties == "given":
            object.__setattr__(self, "score_precision", "double")

    def _refuse_idle_choices(self) -> None:
        """A choice that changes nothing would give one metric two names."""
        used = self.choices()
        for field in dataclasses.fields(self)[2:]:
            if getattr(self, field.name) != field.default and field.name not in used:
                raise MetricError(
                    f"{field.name} = {written(getattr(self, field.name))} has no effect on"
                    f" {self.measure}{self._context(field.name)}: leave it out"
                )

    def _context(self, choice: str) -> str:
        if choice == "relevant_from" and self.measure in ("ndcg", "dcg", "cg"):
            return f" with gain = {written(self.gain)} (it needs gain = binary)"
        if choice == "discount_base" and self.measure in ("ndcg", "dcg"):
            return f" with discount = {self.discount} (it needs discount = jarvelin_kekalainen)"
        for needed, choices in IDEAL_CHOICES.items():
            if self.measure == "ndcg" and choice in choices:
                return f" with ideal = {self.ideal} (it needs ideal = {needed})"
        return ""

    def choices(self) -> tuple[str, ...]:
        """Names of the choices that this measure has, in the order in which they are written."""
        used = []
        if self.measure in ("ndcg", "dcg", "cg"):
            used += ["gain"] + ["relevant_from"] * (self.gain == "binary")
        elif self.measure in RELEVANCE_MEASURES:
            used += ["relevant_from"]
        if self.measure in ("ndcg", "dcg"):
            used += ["discount"] + ["discount_base"] * (self.discount == "jarvelin_kekalainen")
        if self.measure == "ndcg":
            used += ["ideal", *IDEAL_CHOICES.get(self.ideal, ()), "ideal_cut"]
        return tuple(used) + POLICIES

    @property
    def definition(self) -> dict[str, Any]:
        """Every choice that makes this metric, ready for JSON; a gain table as {"grade": gain}."""
        chosen: dict[str, Any] = {"measure": self.measure, "cutoff": self.cutoff}
        for choice in self.choices():
            value = getattr(self, choice)
            if not isinstance(value, str | float | int | None):
                value = {number(grade): gain for grade, gain in value}
            chosen[choice] = value
        return chosen

    @property
    def hash(self) -> str:
        """12 hex digits of the SHA-256 of `definition`: equal hashes, equal metric."""
        text = json.dumps(self.definition, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def _deviations(self) -> list[tuple[str, Any]]:
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        return [(name, getattr(self, name)) for name in self.choices() if getattr(self, name) != defaults[name]]

    @property
    def name(self) -> str:
        """The canonical form: `parse(metric.name) == metric`, e.g. ``ndcg(gain=exponential)@10``."""
        inner = ", ".join(f"{choice}={written(value)}" for choice, value in self._deviations())
        return self.measure + (f"({inner})" if inner else "") + (f"@{self.cutoff}" if self.cutoff else "")

    @property
    def tracker_name(self) -> str:
        """The name under which trackers keep it: letters, digits, ``_ - .`` only, e.g. ``ndcg_at_10``."""
        parts = [self.measure]
        for choice, value in self._deviations():
            plain = isinstance(value, str) and value != "none" and choice in ("gain", "discount", "ideal")
            text = re.sub(r"[^A-Za-z0-9.\-]+", "_", written(value).replace(":", "-")).strip("_")
            parts.append(text if plain else f"{choice}_{text}")
        depth = f"_at_{self.cutoff}" if self.cutoff else ""
        name = "_".join(parts) + depth
        return (
            name if len(name) <= 200 else f"{self.measure}_{self.hash}{depth}"
        )  # MLflow ends at 250, prefixes and all


def parse(text: str) -> Metric:
    """The metric that `text` names: ``measure``, ``measure@k`` or ``measure(choice=value, …)@k``.

    Measures are read without regard to case (nDCG@10).  Raises MetricError with the rule that was broken.
    """
    found = re.fullmatch(r"\s*([A-Za-z_]+)\s*(?:\((.*)\))?\s*(?:@\s*([^\s()]+))?\s*", text, flags=re.DOTALL)
    if not found:
        raise MetricError(f"metric {text!r}: must look like ndcg@10 or ndcg(gain=exponential, ideal=local)@10")
    measure, inner, cutoff = found.groups()
    fields: dict[str, Any] = {"measure": measure.lower()}
    if cutoff is not None:
        if not re.fullmatch(r"[0-9]+", cutoff):
            raise MetricError(f"metric {text!r}: cutoff = {cutoff!r} must be a whole number from 1 to {DEEPEST}")
        fields["cutoff"] = int(cutoff)
    for part in split_choices(inner or ""):
        choice, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not value:
            raise MetricError(f"metric {text!r}: {part.strip()!r} must be choice=value")
        if choice in fields:
            raise MetricError(f"metric {text!r}: {choice} is given twice")
        fields[choice] = value
    try:
        return from_mapping(fields)
    except MetricError as error:
        raise MetricError(f"metric {text!r}: {error}") from None


def from_mapping(fields: Mapping[str, Any]) -> Metric:
    """The metric of a mapping such as ``{"measure": "ndcg", "cutoff": 10, "gain": {1: 1, 2: 3}}``.

    Values may be text (as written in the canonical form).  Raises MetricError on an unknown choice or value.
    """
    known = tuple(field.name for field in dataclasses.fields(Metric))
    values: dict[str, Any] = {}
    for choice, value in fields.items():
        if choice not in (*known, "preset"):
            raise MetricError(unknown("choice", choice, (*known, "preset")))
        if choice != "preset":
            values[choice] = read_choice(choice, value)
    if "preset" in fields:
        measure = Metric(measure=values.get("measure", "ndcg"))
        had = {choice: value for choice, value in preset(str(fields["preset"])).items() if choice in measure.choices()}
        values = had | values
    return Metric(**values)


def preset(name: str) -> dict[str, str]:
    """The choices of a preset; a measure takes those that it has."""
    if name.lower() not in PRESETS:
        raise MetricError(unknown("preset", name, PRESETS))
    return PRESETS[name.lower()]


def read_choice(choice: str, value: Any) -> Any:
    if choice == "measure":
        return str(value).lower()
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
        raise MetricError(unknown(choice, str(value), VALUES[choice]))
    return value.lower()


def read_gain_entry(entry: str) -> tuple[float, float]:
    grade, colon, gain = entry.partition(":")
    if not colon:
        raise MetricError(f"gain table entry {entry.strip()!r}: must be grade:gain, as in {{1:1, 2:3}}")
    return read_number("gain grade", grade), read_number("gain", gain)


def read_number(what: str, value: Any) -> float:
    try:
        result = float(value)
    except (TypeError, ValueError):
        raise MetricError(f"{what} = {value!r}: must be a number") from None
    if not math.isfinite(result):
        raise MetricError(f"{what} = {value!r}: must be a finite number")
    return result


def checked_table(pairs: Iterable[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """The pairs by grade; refuses an empty table, a grade twice, a negative gain, a gain for grades <= 0."""
    table = tuple(sorted((float(grade), float(gain)) for grade, gain in pairs))
    if not table:
        raise MetricError("gain = {}: the table must give a gain for at least one grade")
    for (grade, gain), following in zip(table, (*table[1:], None), strict=True):
        if following and following[0] == grade:
            raise MetricError(f"gain table: grade {number(grade)} is given twice")
        if gain < 0:
            raise MetricError(f"gain table: grade {number(grade)} has the gain {number(gain)}: must not be below 0")
        if grade <= 0 < gain:
            raise MetricError(f"gain table: grade {number(grade)} must gain 0, as every grade of 0 or below")
    return table


def split_choices(inner: str) -> list[str]:
    """The parts between commas, without splitting a gain table in braces."""
    return [part for part in re.split(r",(?![^{]*\})", inner) if part.strip()]


def number(value: float) -> str:
    """The shortest text that reads back as the same number, whole ones without a point."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def written(value: Any) -> str:
    if isinstance(value, tuple):
        return "{" + ", ".join(f"{number(grade)}:{number(gain)}" for grade, gain in value) + "}"
    return value if isinstance(value, str) else number(value)


def unknown(what: str, value: str, allowed: Iterable[str]) -> str:
    """``gain = 'exponental': must be one of …; did you mean 'exponential'?``"""
    allowed = tuple(allowed)
    near = get_close_matches(str(value).lower(), allowed, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    rule = f"must be {allowed[0]!r}" if len(allowed) == 1 else "must be one of " + ", ".join(allowed)
    return f"{what} = {value!r}: {rule}{hint}"
