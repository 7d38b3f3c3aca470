"""Compare rankers offline: decide which version ranks better, by how much, and whether the data can settle it.

The public names are listed in ``__all__`` and described in docs/python.md. A public name is imported from its module
when it is first used, so that ``import ndcg_ab`` is fast.

Examples
--------
>>> import ndcg_ab
>>> judgments = {"q1": {"d1": 1, "d2": 0}}
>>> result = ndcg_ab.compare(judgments, {"old": {"q1": {"d2": 2.0, "d1": 1.0}}, "new": {"q1": {"d1": 1.0}}})
>>> result.comparison("new").difference
0.36907024642854247
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ndcg_ab.api.comparing import ExplainResult, compare, evaluate, explain
    from ndcg_ab.api.judging import DrawResult, JudgeNextResult, JudgmentsResult, compare_judgments, draw, judge_next
    from ndcg_ab.api.planning import PowerResult, power, sql_query
    from ndcg_ab.api.results import CompareResult
    from ndcg_ab.config.model.evaluation import Evaluation
    from ndcg_ab.errors import InputError, ParityError
    from ndcg_ab.sources.judgments.function_grades import Document, Query
    from ndcg_core.measures.metric import Metric, MetricError
    from ndcg_core.measures.notation import parse
    from ndcg_core.statistics.verdicts.comparison import Comparison
    from ndcg_core.statistics.verdicts.verdict import Verdict

__all__ = [
    "CompareResult",
    "Comparison",
    "Document",
    "DrawResult",
    "Evaluation",
    "ExplainResult",
    "InputError",
    "JudgeNextResult",
    "JudgmentsResult",
    "Metric",
    "MetricError",
    "ParityError",
    "PowerResult",
    "Query",
    "Verdict",
    "__version__",
    "compare",
    "compare_judgments",
    "draw",
    "evaluate",
    "explain",
    "judge_next",
    "parse",
    "power",
    "sql_query",
]

_PUBLIC = {
    "ndcg_ab.api.comparing": ("ExplainResult", "compare", "evaluate", "explain"),
    "ndcg_ab.api.judging": (
        "DrawResult",
        "JudgeNextResult",
        "JudgmentsResult",
        "compare_judgments",
        "draw",
        "judge_next",
    ),
    "ndcg_ab.api.planning": ("PowerResult", "power", "sql_query"),
    "ndcg_ab.api.results": ("CompareResult",),
    "ndcg_ab.config.model.evaluation": ("Evaluation",),
    "ndcg_ab.errors": ("InputError", "ParityError"),
    "ndcg_ab.sources.judgments.function_grades": ("Document", "Query"),
    "ndcg_core.measures.metric": ("Metric", "MetricError"),
    "ndcg_core.measures.notation": ("parse",),
    "ndcg_core.statistics.verdicts.comparison": ("Comparison",),
    "ndcg_core.statistics.verdicts.verdict": ("Verdict",),
}
_HOME = {name: module for module, names in _PUBLIC.items() for name in names}

__version__ = "0.3.0"


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used (PEP 562); raise AttributeError for any other name."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
