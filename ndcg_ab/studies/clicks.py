"""Grade documents from a click log, with the numbers behind each grade: `ndcg-ab clicks`."""

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from ndcg_ab.checks.ranking_checks import findings_from_remarks
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.inputs.judgments import Clicks
from ndcg_ab.config.options.from_options import validate_evaluation
from ndcg_ab.errors import Setting
from ndcg_ab.results.codec import encode, json_text
from ndcg_ab.results.outcome import Finding
from ndcg_ab.sources import pull_queries
from ndcg_ab.sources.clicks.click_judgments import ClickJudgments, GradedClicks
from ndcg_ab.sources.registry import make_source

KEY = "judgments.clicks."


class ClickStudy(NamedTuple):
    """The grades from a click log.

    Attributes
    ----------
    described : Clicks
        The configuration, with the click model and the rule that turns its values into grades.
    judgments : GradedClicks
        The grades.
    findings : list of Finding
        Findings about the log.
    """

    described: Clicks
    judgments: GradedClicks
    findings: list[Finding]


def make_click_evaluation(clicks: Mapping[str, Any], queries: str | None) -> Evaluation:
    """Make an evaluation that has a click log as its judgments.

    clicks: the configuration below `judgments: clicks:`. queries: path of the query file, or None. Raises InputError
    for a wrong value; the message names the command's option instead of the configuration key.
    """
    content: dict[str, Any] = {"name": "clicks", "judgments": {"clicks": dict(clicks)}}
    content |= {"queries": queries} if queries else {}
    return validate_evaluation(content | {"systems": [{"name": "none", "file": "no ranking"}]}, option_name)


def option_name(setting: Setting) -> str:
    """Return the command's option for a configuration key: ``--model`` for ``judgments.clicks.model``.

    A key outside ``judgments.clicks`` is returned as it is.
    """
    first, _, _ = setting.key.removeprefix(KEY).partition(".")
    if not setting.key.startswith(KEY):
        return str(setting)
    options = {"file": "EVENTS", "actions": "--action", "grades": "--quantiles, --thresholds"}
    of_grades = {f"{KEY}grades.quantiles": "--quantiles", f"{KEY}grades.thresholds": "--thresholds"}
    return of_grades.get(setting.key) or options.get(first, f"--{first}")


def grade_events(evaluation: Evaluation) -> ClickStudy:
    """Grade the documents of an evaluation's click log; raise InputError for events that cannot be read."""
    assert evaluation.judgments is not None
    described: Any = evaluation.judgments.source
    source = cast(ClickJudgments, make_source(described, evaluation.directory))
    limits = evaluation.resources.model_copy(update={"spill": evaluation.spill_folder})
    graded = source.grade(pull_queries(evaluation).texts, limits)
    return ClickStudy(described.clicks, graded, list(findings_from_remarks(graded.remarks, "clicks")))


def study_to_json(study: ClickStudy) -> str:
    """Return the click model, the rates at each rank, the documents with grades, and the findings as JSON."""
    content = {
        "definition": study.described.definition,
        "documents": study.judgments.documents,
        "queries": study.judgments.queries,
        "places": study.judgments.rates.to_pylist(),
        "grades": study.judgments.table.to_pylist(),
        "findings": encode(study.findings),
    }
    return json_text(content)
