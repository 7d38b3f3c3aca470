"""Compute effectiveness measures of single queries, and test their differences between rankers.

Each public name is imported on first use, so importing the package alone loads neither numpy nor scipy.

Examples
--------
>>> from ndcg_core import Result, parse, score_query
>>> score_query(parse("ndcg@10"), [Result("a", 2.0), Result("b", 1.0)], {"a": 0, "b": 1})
0.6309297535714575
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ndcg_core.measures.explain import ExplainedRank, Explanation, Step, explain, steps
    from ndcg_core.measures.metric import Metric, MetricError
    from ndcg_core.measures.notation import PRESETS, from_mapping, parse
    from ndcg_core.measures.registry import DISCOUNTS, GAINS, IDEALS, MEASURES
    from ndcg_core.measures.score import Result, TieBounds, score_query, tie_bounds
    from ndcg_core.statistics.estimates.descriptive import Carrier, Descriptive
    from ndcg_core.statistics.estimates.power import power_curve, queries_needed
    from ndcg_core.statistics.verdicts.comparison import Column, Comparison, check_guardrails, compare_family
    from ndcg_core.statistics.verdicts.verdict import Obstacle, Size, Verdict

__all__ = [
    "DISCOUNTS",
    "GAINS",
    "IDEALS",
    "MEASURES",
    "PRESETS",
    "Carrier",
    "Column",
    "Comparison",
    "Descriptive",
    "ExplainedRank",
    "Explanation",
    "Metric",
    "MetricError",
    "Obstacle",
    "Result",
    "Size",
    "Step",
    "TieBounds",
    "Verdict",
    "check_guardrails",
    "compare_family",
    "explain",
    "from_mapping",
    "parse",
    "power_curve",
    "queries_needed",
    "score_query",
    "steps",
    "tie_bounds",
]

_PUBLIC = {
    "measures.explain": ("Explanation", "ExplainedRank", "Step", "explain", "steps"),
    "measures.metric": ("Metric", "MetricError"),
    "measures.notation": ("PRESETS", "from_mapping", "parse"),
    "measures.registry": ("DISCOUNTS", "GAINS", "IDEALS", "MEASURES"),
    "measures.score": ("Result", "TieBounds", "score_query", "tie_bounds"),
    "statistics.verdicts.comparison": ("Column", "Comparison", "check_guardrails", "compare_family"),
    "statistics.estimates.descriptive": ("Carrier", "Descriptive"),
    "statistics.estimates.power": ("power_curve", "queries_needed"),
    "statistics.verdicts.verdict": ("Obstacle", "Size", "Verdict"),
}
_HOME = {name: module for module, names in _PUBLIC.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import and return a public name from its module on first use (PEP 562)."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
