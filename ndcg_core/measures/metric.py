"""Represent a metric by all choices that determine its value, with a canonical name and a short hash.

Two tools that both print "nDCG@10" for one ranking can differ by a factor of two if their choices differ. The `name`
of a `Metric` is the shortest text that `ndcg_core.measures.notation.parse` turns back into the metric. The `hash`
identifies the full definition and is stored with every value.
"""

import dataclasses
import hashlib
import json
import math
import re
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cached_property
from typing import Any

from ndcg_core.measures.registry import CHOSEN, DISCOUNTS, GAINS, IDEALS, MEASURES, GainSource, Ideal, Measure


def format_number(value: float) -> str:
    """Return the shortest text that reads back as the same number.

    Whole numbers below 10^15 have no decimal point.
    """
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def choice_text(value: Any) -> str:
    """Return the value of a choice as text for a metric's name.

    A gain table becomes ``{1:1, 2:3}``. A text is returned unchanged, and a number as `format_number` writes it.
    """
    if isinstance(value, tuple):
        return "{" + ", ".join(f"{format_number(grade)}:{format_number(gain)}" for grade, gain in value) + "}"
    return value if isinstance(value, str) else format_number(value)


def nearest_hint(name: str, names: Iterable[str], cutoff: float = 0.6) -> str:
    """Return a hint on the most similar name, such as ``; did you mean 'exponential'?``.

    Return "" if no name is similar enough. cutoff: smallest similarity of the names, from 0 to 1.
    """
    near = get_close_matches(name, list(names), n=1, cutoff=cutoff)
    return f"; did you mean {near[0]!r}?" if near else ""


def unknown_value_message(name: str, value: str, allowed: Iterable[str]) -> str:
    """Return a message such as ``gain = 'exponental': must be one of …; did you mean 'exponential'?``."""
    allowed = tuple(allowed)
    hint = nearest_hint(str(value).lower(), allowed, cutoff=0.5)
    rule = f"must be {allowed[0]!r}" if len(allowed) == 1 else "must be one of " + ", ".join(allowed)
    return f"{name} = {value!r}: {rule}{hint}"


# choice -> its values, the default first
VALUES: dict[str, tuple[str, ...]] = {
    "gain": tuple(name for name, entry in GAINS.items() if entry.is_choice),
    "discount": tuple(name for name, entry in DISCOUNTS.items() if entry.is_choice),
    "ideal": tuple(IDEALS),
    "ideal_cut": ("cutoff", "none", "returned"),
    "ties": ("doc_id_desc", "doc_id_asc", "average", "given"),
    "score_precision": ("double", "float32"),
    "unjudged": ("zero", "condense"),
    "negative": ("zero", "error", "unjudged"),
    "unanswered": ("zero", "exclude"),
    "no_relevant": ("exclude", "zero", "one"),
    "duplicates": ("error", "first"),
}
NUMBERS = ("relevant_from", "discount_base", "persistence", "max_grade")
COUNTS = ("cutoff", "recall_depth")
DEEPEST = 1_000_000  # ranks that a metric can read at most
POLICIES = ("ties", "score_precision", "unjudged", "negative", "unanswered", "no_relevant", "duplicates")

GainChoice = str | tuple[tuple[float, float], ...]
"""The name of a gain, or a table of (grade, gain) pairs."""


class MetricError(ValueError):
    """The error for an unknown metric, a contradictory definition, or a grade that a metric refuses.

    The message is shown to the user.
    """


@dataclasses.dataclass(frozen=True)
class Metric:
    """One effectiveness measure with every choice that determines its value.

    Parameters
    ----------
    measure : str, default "ndcg"
        One of `ndcg_core.measures.registry.MEASURES`.
    cutoff : int or None, default None
        Number k >= 1 of top ranks that count; None counts all results.
    gain : str or tuple of (float, float), default "linear"
        Gain of grade r: "linear" r; "exponential" 2^r - 1; "binary" 1 from `relevant_from` on; or a table of
        (grade, gain) pairs. A grade of 0 or below always gains 0.
    relevant_from : float or None, default None
        Lowest relevant grade, > 0, for binary gain and for measures that count relevant documents; None: any grade
        above 0.
    discount : str, default "log2"
        Factor of rank i: "log2" 1 / log2(i + 1), "jarvelin_kekalainen" 1 / max(1, log_b i), "reciprocal" 1 / i, "none"
        1.
    discount_base : float, default 2
        Base b > 1 of the Järvelin-Kekäläinen discount.
    persistence : float, default 0.8
        Probability p of rbp, in (0, 1), that a user looks at the next result.
    ideal : str, default "global"
        What the ideal ranking, whose sum divides the sum of ndcg, consists of: "global" all judged documents; "local"
        the system's own top k; "recall" the system's own top `recall_depth`; "max" the highest grade at every rank.
    recall_depth : int or None, default None
        Number of ranks, >= cutoff, that the recall ideal includes; None includes everything returned.
    max_grade : float or None, default None
        Grade of the max ideal, and the most satisfying grade of err, > 0; None: the highest grade of the evaluation.
    ideal_cut : str, default "cutoff"
        End of the ideal: "cutoff" at k, "none" nowhere, "returned" at min(k, number of results).
    ties : str, default "doc_id_desc"
        Order of equal scores: by doc_id as bytes, "doc_id_desc" (trec_eval) or "doc_id_asc"; "average" gives every
        rank of a tie the mean gain of the tie; "given" uses the ranking's own ranks and ignores scores.
    score_precision : str, default "double"
        "float32" compares scores as 32-bit floats, as trec_eval 9 does.
    unjudged : str, default "zero"
        Unjudged results: "zero" gain nothing; "condense" are removed before ranks are assigned.
    negative : str, default "zero"
        Grades below 0: "zero" gain nothing; "error" are refused; "unjudged" are removed by condensing, as trec_eval -J
        does.
    unanswered : str, default "zero"
        Value of a system for a judged query without results: "zero", or "exclude" to leave the query out for that
        system.
    no_relevant : str, default "exclude"
        Value of a query without any gain among its judgments: "exclude" leaves it out for every system, or "zero" or
        "one".
    duplicates : str, default "error"
        A document that occurs twice in a ranking: "error", or "first" to count the better rank.

    Raises
    ------
    MetricError
        If a value is outside its range, or the measure does not have the choice.

    References
    ----------
    Järvelin and Kekäläinen 2002 (gain, discount, ideal); Burges et al. 2005 (exponential gain); McSherry and Najork
    2008 (averaged ties); Sakai 2007 (condensed lists). Definitions with examples: docs/definitions.md.
    """

    measure: str = "ndcg"
    cutoff: int | None = None
    gain: GainChoice = "linear"
    relevant_from: float | None = None
    discount: str = "log2"
    discount_base: float = 2.0
    persistence: float = 0.8
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
            raise MetricError(unknown_value_message("metric", self.measure, MEASURES))
        for choice in COUNTS:
            value = getattr(self, choice)
            if value is not None and (isinstance(value, bool) or not 1 <= int(value) <= DEEPEST):
                raise MetricError(f"{choice} = {value}: must be a whole number from 1 to {DEEPEST}")
        if not isinstance(self.gain, str):
            object.__setattr__(self, "gain", check_gain_table(self.gain))
        for choice, values in VALUES.items():
            value = getattr(self, choice)
            if isinstance(value, str) and value not in values:
                raise MetricError(unknown_value_message(choice, value, values))
        for choice in NUMBERS:
            if getattr(self, choice) is not None:
                object.__setattr__(self, choice, float(getattr(self, choice)))
        for choice in ("relevant_from", "max_grade"):
            grade = getattr(self, choice)
            if grade is not None and not (math.isfinite(grade) and grade > 0):
                raise MetricError(f"{choice} = {format_number(grade)}: must be a grade above 0")
        if not (math.isfinite(self.discount_base) and self.discount_base > 1):
            raise MetricError(f"discount_base = {format_number(self.discount_base)}: must be above 1")
        if not 0 < self.persistence < 1:
            raise MetricError(f"persistence = {format_number(self.persistence)}: must be above 0 and below 1")
        if self.cutoff is not None and not self.traits.has_cutoff:
            raise MetricError(f"cutoff = {self.cutoff}: {self.measure} has none, it looks at all that was returned")
        self._replace_equal_choices()
        self._refuse_idle_choices()
        if self.ties == "average" and not self.traits.is_additive:
            raise MetricError(f"ties = average: {self.measure} is no sum over places; choose another rule for ties")
        if self.negative == "unjudged" and "unjudged" in self.traits.ignores:
            raise MetricError(f"negative = unjudged has no effect on {self.measure}: leave it out")
        if self.negative == "unjudged" and self.unjudged != "condense":
            raise MetricError(
                f"negative = unjudged: has no effect with unjudged = {self.unjudged}, where neither gains anything;"
                " choose unjudged = condense as well, or leave it out"
            )
        if self.recall_depth is not None and (self.cutoff is None or self.recall_depth < self.cutoff):
            least = "leave it out where there is no cutoff" if self.cutoff is None else f"not below k = {self.cutoff}"
            raise MetricError(f"recall_depth = {self.recall_depth}: {least}, or a value could exceed 1")
        if self.has_endless_ideal and self.ideal_cut == "none":
            raise MetricError("ideal_cut = none: an ideal of the highest grade in every place must end somewhere")

    def _replace_equal_choices(self) -> None:
        """Replace choice values that are equivalent to the default by the default, so that one metric has one name."""
        is_endless_anyway = self.ideal_cut == "none" and self.cutoff is None and not self.has_endless_ideal
        has_only_own_results = self.has_own_ideal and (not self.has_deeper_ideal or self.ideal_cut == "returned")
        if self.traits.takes("ideal") and (is_endless_anyway or has_only_own_results):
            object.__setattr__(self, "ideal_cut", "cutoff")
        if self.ties == "given":
            object.__setattr__(self, "score_precision", "double")

    def _refuse_idle_choices(self) -> None:
        """Raise MetricError if a choice is set that has no effect on the value.

        Otherwise two metrics that are equal would have different names.
        """
        choices = self.choices()
        for field in dataclasses.fields(self)[2:]:
            if getattr(self, field.name) != field.default and field.name not in choices:
                raise MetricError(
                    f"{field.name} = {choice_text(getattr(self, field.name))} has no effect on"
                    f" {self.measure}{self._describe_needed_choice(field.name)}: leave it out"
                )

    def _describe_needed_choice(self, choice: str) -> str:
        """Return a phrase that says which gain, discount or ideal `choice` needs to have an effect.

        An example is `` with gain = linear (it needs gain = binary)``. Return "" if no gain, discount or ideal of the
        measure gives `choice` an effect.
        """
        for kind, entries in (("gain", GAINS), ("discount", DISCOUNTS), ("ideal", IDEALS)):
            needed = next((name for name, entry in entries.items() if choice in entry.choices), None)
            if needed in VALUES[kind] and self.traits.takes(kind):
                return f" with {kind} = {choice_text(getattr(self, kind))} (it needs {kind} = {needed})"
        return ""

    def choices(self) -> tuple[str, ...]:
        """Return the names of the choices that can affect the metric's value, in the order used in a metric's name."""
        names: list[str] = []
        in_force = (
            ("gain", GAINS.get(self.effective_gain) if isinstance(self.effective_gain, str) else None),
            ("discount", DISCOUNTS[self.effective_discount]),
            ("ideal", self.ideal_entry),
        )
        for kind, entry in in_force:
            names += [kind] * self.traits.takes(kind) + list(entry.choices if entry else ())
        names += ["ideal_cut"] * self.traits.takes("ideal")
        names += self.traits.choices
        return (*names, *(rule for rule in POLICIES if rule not in self.traits.ignores))

    @cached_property
    def traits(self) -> Measure:
        """Return the entry of the metric's measure in `ndcg_core.measures.registry.MEASURES`."""
        return MEASURES[self.measure]

    @cached_property
    def effective_gain(self) -> GainChoice:
        """Return the gain in effect: the chosen gain, or the fixed gain of the measure (precision: "binary")."""
        return self.gain if self.traits.gain == CHOSEN else self.traits.gain

    @cached_property
    def effective_discount(self) -> str:
        """Return the discount in effect: the chosen one for ndcg and dcg, "geometric" for rbp, else "none"."""
        return self.discount if self.traits.discount == CHOSEN else self.traits.discount

    @cached_property
    def discount_number(self) -> float:
        """Return the parameter of the discount in effect: `discount_base` or `persistence`.

        Discounts without a parameter ignore the number, which is then `discount_base`.
        """
        choices = DISCOUNTS[self.effective_discount].choices
        number: float = getattr(self, choices[0]) if choices else self.discount_base
        return number

    @cached_property
    def effective_ideal(self) -> str | None:
        """Return the ideal in effect: the chosen one for ndcg, "global" for recall and similar measures, else None."""
        return self.ideal if self.traits.ideal == CHOSEN else self.traits.ideal

    @cached_property
    def ideal_entry(self) -> Ideal | None:
        """Return the entry of the ideal in effect in `ndcg_core.measures.registry.IDEALS`, or None without an ideal."""
        return None if self.effective_ideal is None else IDEALS[self.effective_ideal]

    @cached_property
    def has_own_ideal(self) -> bool:
        """Return whether the ideal consists of the system's own results, so that the order of ties can change it."""
        return self.ideal_entry is not None and self.ideal_entry.pool is GainSource.RETURNED

    @cached_property
    def has_deeper_ideal(self) -> bool:
        """Return whether the ideal can include results of the system from below the cutoff."""
        return self.has_own_ideal and self.ideal_entry is not None and self.ideal_entry.depth != "cutoff"

    @cached_property
    def has_endless_ideal(self) -> bool:
        """Return whether every rank of the ideal ranking has a gain, even ranks beyond the number of documents."""
        return self.ideal_entry is not None and self.ideal_entry.pool is GainSource.HIGHEST

    @cached_property
    def ideal_depth(self) -> int | None:
        """Return the number of the system's top results that make up the ideal.

        Return None if the ideal uses all of the system's results, or none of them.
        """
        if self.ideal_entry is None or self.ideal_entry.depth is None:
            return None
        depth: int | None = getattr(self, self.ideal_entry.depth)
        return depth

    @property
    def depth(self) -> int | None:
        """Return how many top ranks of a ranking can affect the value, >= cutoff; None for all ranks."""
        return self.ideal_depth if self.has_own_ideal else self.cutoff

    @property
    def definition(self) -> dict[str, Any]:
        """Return every choice that determines the metric, ready for JSON; a gain table becomes {"grade": gain}."""
        chosen: dict[str, Any] = {"measure": self.measure, "cutoff": self.cutoff}
        for choice in self.choices():
            value = getattr(self, choice)
            if not isinstance(value, str | float | int | None):
                value = {format_number(grade): gain for grade, gain in value}
            chosen[choice] = value
        return chosen

    @cached_property
    def hash(self) -> str:
        """Return the first 12 hex digits of the SHA-256 of the definition; equal hashes mean equal metrics."""
        text = json.dumps(self.definition, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def _deviations(self) -> list[tuple[str, Any]]:
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        return [(name, getattr(self, name)) for name in self.choices() if getattr(self, name) != defaults[name]]

    @cached_property
    def name(self) -> str:
        """Return the canonical form, such as ``ndcg(gain=exponential)@10``; `parse` turns it back into the metric."""
        inner = ", ".join(f"{choice}={choice_text(value)}" for choice, value in self._deviations())
        return self.measure + (f"({inner})" if inner else "") + (f"@{self.cutoff}" if self.cutoff else "")

    @property
    def tracker_name(self) -> str:
        """Return the name that trackers use: letters, digits and ``_ - .`` only, such as ``ndcg_at_10``."""
        parts = [self.measure]
        for choice, value in self._deviations():
            plain = isinstance(value, str) and value != "none" and choice in ("gain", "discount", "ideal")
            text = re.sub(r"[^A-Za-z0-9.\-]+", "_", choice_text(value).replace(":", "-")).strip("_")
            parts.append(text if plain else f"{choice}_{text}")
        depth = f"_at_{self.cutoff}" if self.cutoff else ""
        name = "_".join(parts) + depth
        # MLflow allows 250 characters, including prefixes.
        return name if len(name) <= 200 else f"{self.measure}_{self.hash}{depth}"


def check_gain_table(pairs: Iterable[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Return the (grade, gain) pairs of a gain table, sorted by grade.

    Raises MetricError if the table is empty, has a grade twice or a gain below 0, or has a gain for a grade of 0 or
    below.
    """
    table = tuple(sorted((float(grade), float(gain)) for grade, gain in pairs))
    if not table:
        raise MetricError("gain = {}: the table must give a gain for at least one grade")
    for (grade, gain), following in zip(table, (*table[1:], None), strict=True):
        if following and following[0] == grade:
            raise MetricError(f"gain table: grade {format_number(grade)} is given twice")
        if gain < 0:
            raise MetricError(
                f"gain table: grade {format_number(grade)} has the gain {format_number(gain)}: must not be below 0"
            )
        if grade <= 0 < gain:
            raise MetricError(f"gain table: grade {format_number(grade)} must gain 0, as every grade of 0 or below")
    return table
