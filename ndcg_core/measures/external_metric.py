"""A metric whose values another tool computed: a name and a direction, no definition."""

import dataclasses
import re
from collections.abc import Collection
from typing import Any

from ndcg_core.measures.metric import Metric, MetricError
from ndcg_core.measures.notation import parse, translate
from ndcg_core.measures.registry import Counted, Divisor, Measure, Quotient

NEGATED = "-"  # before a name: lower values are better, and every value is taken with its sign turned
ELSEWHERE = "elsewhere"  # who computed values that were given
LONGEST = 200  # letters of a name


@dataclasses.dataclass(frozen=True)
class GivenMetric(Metric):
    """A metric as the other tool calls it; of ours it has nothing but what every metric shows of itself.

    given: its name; with a leading ``-`` the values of the name behind it with their signs turned, so that more is
        better, as everywhere.
    tool: what computes it from our rankings and judgments, with its version; empty where the values were given.

    Raises MetricError on a name that cannot be shown on one line.
    """

    given: str = ""
    tool: str = ""

    def __post_init__(self) -> None:
        bare = self.given.removeprefix(NEGATED)
        if not bare or not bare.isprintable() or bare != bare.strip() or len(bare) > LONGEST:
            rule = f"must be printable text on one line, of 1 to {LONGEST} letters"
            raise MetricError(f"metric {self.given!r}: {rule}")

    @property
    def source_name(self) -> str:
        """The name under which the values are in the scores."""
        return self.given.removeprefix(NEGATED)

    @property
    def is_negated(self) -> bool:
        """Whether lower values are better, and the signs are turned."""
        return self.given.startswith(NEGATED)

    @property
    def name(self) -> str:
        return self.given

    def choices(self) -> tuple[str, ...]:
        """None: what another tool chose is not known."""
        return ()

    @property
    def definition(self) -> dict[str, Any]:
        """All that is known: the name, who computed it, and whether lower is better."""
        return {"measure": self.source_name, "computed": self.tool or ELSEWHERE, "lower_is_better": self.is_negated}

    @property
    def traits(self) -> Measure:
        """Values lie in [0, 1] where ours of this name do; of other names no bounds are known."""
        ours = find_our_metric(self.given)
        is_bounded = ours is not None and ours.traits.is_bounded
        return Measure(self.given, unknown_quotient, Divisor.OTHER, is_additive=True, is_bounded=is_bounded)

    @property
    def tracker_name(self) -> str:
        """Its name in letters, digits, ``_ - .``; with a digest of it where other signs had to go."""
        ours = find_our_metric(self.given)
        if ours is not None:
            return ours.tracker_name
        plain = re.sub(r"[^A-Za-z0-9_.\-]+", "_", self.given)
        return plain if plain == self.given else f"{plain}_{self.hash}"


def unknown_quotient(counted: Counted) -> Quotient:
    raise MetricError("a metric that another tool computed cannot be computed here")


def find_our_metric(name: str) -> Metric | None:
    """The metric that a name is here; None where it is none, and where another tool alone calls one so."""
    try:
        return parse(name) if translate(name).casefold() == name.casefold() else None
    except MetricError:
        return None


def canonical_name(name: str) -> str:
    """The name as ours are written, where it is one of ours (``nDCG@10`` is ``ndcg@10``); any other as it stands."""
    sign = NEGATED if name.startswith(NEGATED) else ""
    ours = find_our_metric(name.removeprefix(NEGATED))
    return name if ours is None else sign + ours.name


def name_among(text: str, known: Collection[str]) -> str:
    """The one of the known names that a text means, as it stands or as ours is written: rr@10 for MRR@10."""
    plain, ours = canonical_name(text), canonical_name(translate(text))
    return ours if plain not in known and ours in known else plain


def make_metric(name: str) -> Metric:
    """Ours, where the name means one, else one that another tool computed."""
    return find_our_metric(name) or GivenMetric(given=name)
