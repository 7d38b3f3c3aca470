"""The names under which MLflow keeps things; it takes letters, digits and few signs."""

import re

from ndcg_core.measures.given import metric_named
from ndcg_core.measures.metric import Metric


def metric_name(metric: Metric | str) -> str:
    """``ndcg_at_10``."""
    return (metric_named(metric) if isinstance(metric, str) else metric).tracker_name


def judged_name(metric: Metric) -> str:
    """``judged_at_10``."""
    return f"judged_at_{metric.cutoff}" if metric.cutoff else "judged"


def tag_name(text: str) -> str:
    """A system's name inside a tag."""
    return re.sub(r"[^\w. \-/]", "_", text)


def model_name(system: str, version: str) -> str:
    """A ranker version's name as a LoggedModel."""
    return re.sub(r"[./:%\"']", "-", system if version == system else f"{system}-{version}")[:200]


def folder_name(experiment: str) -> str:
    """A folder for an experiment, whose name may hold slashes and dots."""
    return re.sub(r"[^\w. -]+", "_", experiment).strip("._ ") or "experiment"
