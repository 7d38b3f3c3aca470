"""Represent a metric whose values another tool computed, by a name and a direction only."""

import dataclasses
import re
from collections.abc import Collection
from typing import Any

from ndcg_core.measures.metric import Metric, MetricError
from ndcg_core.measures.notation import parse, translate
from ndcg_core.measures.registry import Divisor, Measure, Quotient, RankedGains

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
