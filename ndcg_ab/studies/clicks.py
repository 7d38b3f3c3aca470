"""`ndcg-ab clicks`: the grades that a log of clicks gives, with what stands behind each."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from ndcg_ab.checks.ranking_checks import findings_of
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.inputs.judgments import Clicks
from ndcg_ab.config.options.from_options import validate_evaluation
from ndcg_ab.errors import Setting
from ndcg_ab.results.codec import encode
from ndcg_ab.results.outcome import Finding
from ndcg_ab.sources import pull_queries
from ndcg_ab.sources.clicks.click_judgments import ClickJudgments, GradedClicks
from ndcg_ab.sources.judgments.gathering import allowed_resources
from ndcg_ab.sources.registry import make_source

KEY = "judgments.clicks."


class ClickStudy(NamedTuple):
    """described: the model and how its values become grades.  found: the grades.  findings: what was noticed."""

    described: Clicks
    found: GradedClicks
    findings: list[Finding]


def evaluation_of_clicks(clicks: Mapping[str, Any], queries: str | None) -> Evaluation:
    """What a configuration with these clicks as its judgments says; InputError names the option of the command.

    clicks: the keys below `judgments: clicks:`.  queries: their file.
    """
    content: dict[str, Any] = {"name": "clicks", "judgments": {"clicks": dict(clicks)}}
    content |= {"queries": queries} if queries else {}
    return validate_evaluation(content | {"systems": [{"name": "none", "file": "no ranking"}]}, name_of_option)


def name_of_option(setting: Setting) -> str:
    """``--model`` for ``judgments.clicks.model``."""
    first, _, _ = setting.key.removeprefix(KEY).partition(".")
    if not setting.key.startswith(KEY):
        return str(setting)
    options = {"file": "EVENTS", "actions": "--action", "grades": "--quantiles, --thresholds"}
    of_grades = {f"{KEY}grades.quantiles": "--quantiles", f"{KEY}grades.thresholds": "--thresholds"}
    return of_grades.get(setting.key) or options.get(first, f"--{first}")


def grade_events(evaluation: Evaluation) -> ClickStudy:
    """The grades of the clicks that are an evaluation's judgments; InputError for events that cannot be read."""
    assert evaluation.judgments is not None
    described: Any = evaluation.judgments.source
    source = cast(ClickJudgments, make_source(described, evaluation.directory))
    allowed = allowed_resources(evaluation)
    found = source.grade(pull_queries(evaluation).texts, allowed)
    return ClickStudy(described.clicks, found, findings_of(found.remarks, "clicks"))


def study_to_json(study: ClickStudy) -> str:
    """The model, the places, the documents with their grades, and the findings."""
    content = {
        "schema": 1,
        "definition": study.described.definition,
        "documents": study.found.documents,
        "queries": study.found.queries,
        "places": study.found.places.to_pylist(),
        "grades": study.found.table.to_pylist(),
        "findings": encode(study.findings),
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"
