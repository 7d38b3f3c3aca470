"""Make names that MLflow accepts: letters, digits and few signs.

Names that differ only in signs that MLflow rejects, or in capitals, which some databases ignore, get a digest of the
whole name, so that they stay different and do not change from night to night.
"""

import hashlib
import posixpath
import re
from collections.abc import Sequence

from ndcg_core.measures.external_metric import ExternalMetric, find_builtin_metric, make_metric
from ndcg_core.measures.metric import Metric

LONGEST_KEY = 250
LONGEST = 160  # letters of a system's name in one of MLflow's
# What runs carry besides: a metric of another tool that is called so gets a digest.
TAKEN = {
    *("improved", "regressed", "comparisons", "queries", "judged"),
    *("kind", "system", "role", "decision", "what_to_do", "reason", "baseline", "candidate", "gate"),
    *("reused", "reused_last", "metric", "metric_key", "judgments_version"),
    *("evaluation", "bundle_key", "content_key", "published", "version", "digest", "verdict"),
    *("alpha", "seed", "resamples", "definition", "difference", "difference_low", "difference_high", "p_adjusted"),
}


def metric_name(metric: Metric | str) -> str:
    """Return the name of a metric in MLflow, such as ``ndcg_at_10``."""
    parsed = make_metric(metric) if isinstance(metric, str) else metric
    name = parsed.tracker_name
    if not isinstance(parsed, ExternalMetric) or find_builtin_metric(parsed.external_name):
        return name
    path = name if not name.startswith(".") else f"metric{name}"
    is_apart = path == name.lower() and name not in TAKEN and not name.startswith("judged_at_")
    return path if is_apart or parsed.hash in name else f"{path}_{parsed.hash}"


def judged_name(metric: Metric) -> str:
    """Return the name in MLflow of the judged share at a metric's cutoff, such as ``judged_at_10``."""
    return f"judged_at_{metric.cutoff}" if metric.cutoff else "judged"


def system_tag_parts(systems: Sequence[str]) -> dict[str, str]:
    """Return for each system a text that can be a part of an MLflow tag's name.

    The result is a mapping of system -> text. The texts differ also if capitals are ignored.
    """
    folded = [name.casefold() for name in systems]
    return {name: tag_part(name, is_alone=folded.count(name.casefold()) == 1) for name in dict.fromkeys(systems)}


def tag_part(text: str, *, is_alone: bool = True) -> str:
    """Return a text in a form that can be a part of an MLflow tag's name.

    A text that must be changed gets a digest at its end. is_alone: False if another text differs from this one only in
    capitals; then the digest is added even if nothing else must be changed.
    """
    plain = re.sub(r"[^\w. \-/]", "_", text)[:LONGEST]
    is_path = posixpath.normpath(f"x/{plain}") == f"x/{plain}"
    if plain == text and is_path and is_alone:
        return text
    return f"{plain if is_path else re.sub('[./]', '_', plain)}-{short_digest(text)}"


def model_name(system: str, version: str) -> str:
    """Return the MLflow LoggedModel name for a version of a system."""
    text = system if version == system else f"{system}-{version}"
    plain = re.sub(r"[./:%\"']", "-", text)[:LONGEST]
    return plain if plain == text else f"{plain}-{short_digest(text)}"


def tag_key(text: str) -> str:
    """Return the name of a tag, cut to LONGEST_KEY characters. A name that is cut ends with a digest."""
    return text if len(text) <= LONGEST_KEY else f"{text[: LONGEST_KEY - 9]}-{short_digest(text)}"


def short_digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:8]


def folder_name(experiment: str) -> str:
    """Return a name for the folder of an experiment, whose own name may contain slashes and dots."""
    return re.sub(r"[^\w. -]+", "_", experiment).strip("._ ") or "experiment"
