"""`power`: how many queries a difference needs."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any

from ndcg_ab.api.arguments import as_key
from ndcg_ab.api.data import Data, place_of, source_of
from ndcg_ab.api.options import as_arguments
from ndcg_ab.api.results import CompareResult
from ndcg_ab.sources.tables import read_given
from ndcg_ab.studies.power import Asked, Plan, asked_of, plans_of, power_json
from ndcg_ab.studies.query_scores import LAYOUT, Scores, scores_of
from ndcg_core.measures.metric import Metric


@dataclass(frozen=True, repr=False)
class PowerResult:
    """Answers; in a notebook they show themselves, `print` writes what the command writes.

    plans: one for each candidate and metric, or one for a deviation: spread, queries needed, detectable differences.
    asked: the effects, numbers of queries, alpha and power that they are for.
    """

    plans: tuple[Plan, ...]
    asked: Asked

    def to_json(self) -> str:
        """What `ndcg-ab power --json` writes."""
        return power_json(self.plans, self.asked)

    def __repr__(self) -> str:
        more = f" and {len(self.plans) - 1} more" if len(self.plans) > 1 else ""
        return f"<PowerResult: {self.plans[0].name}{more}>"

    def __str__(self) -> str:
        from ndcg_ab.report.notebook import power_text

        return power_text(self.plans, self.asked)

    def _repr_html_(self) -> str:
        from ndcg_ab.report.notebook import preformatted

        return preformatted(str(self))


def power(
    scores: Data | CompareResult | None = None,
    *,
    deviation: float | None = None,
    baseline: str | None = None,
    candidates: str | Sequence[str] | None = None,
    metrics: str | Metric | Sequence[str | Metric] | None = None,
    effects: float | Sequence[float] | None = None,
    queries: int | Sequence[int] | None = None,
    weights: Data | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
) -> PowerResult:
    """How many queries a difference needs, and what a number of queries can show.  As `ndcg-ab power`.

    scores: what `compare` returned, or a path or a table of per-query values: system_id, query_id, metric, value.
    deviation: instead of them the standard deviation of the per-query differences, >= 0, in the metric's unit.
    baseline, candidates, metrics: choose from the scores; by default the first system, all others, all metrics.
    effects: differences > 0 to detect.  queries: numbers of queries, >= 2.  weights: queries with their weights.
    alpha: of the two-sided test, in (0, 1).  power: probability of detecting, in (alpha, 1).
    Raises InputError (argument, row, value, rule).
    """
    with as_arguments():
        numbers = several("effects", effects, Real), several("queries", queries, Integral)
        asked = asked_of(*numbers, *(several(*each, Real)[0] for each in (("alpha", alpha), ("power", power))))
        names = as_key("metrics", metrics)
        chosen = [candidates] if isinstance(candidates, str) else candidates
        weighing = None if weights is None else source_of("weights", weights)
        plans = plans_of(deviation, scores_in(scores), baseline, chosen, names, asked, weighing)
    return PowerResult(tuple(plans), asked)


def several(given: Any) -> Any:
    """A list, of one number too."""
    return [given] if isinstance(given, Real) else given


def scores_in(given: Data | CompareResult | None) -> Path | Scores | None:
    """The path to read, or the values that were given."""
    if given is None:
        return None
    if isinstance(given, str | os.PathLike):
        return Path(given).expanduser()
    _, held = place_of("scores", given.query_scores if isinstance(given, CompareResult) else given)
    assert held is not None
    return scores_of(read_given(held, LAYOUT, {}), Path(held.name))
