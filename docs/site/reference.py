"""Make the pages of the Python API from docstrings: the public modules, records and extension points."""

import logging
import re
from importlib import import_module
from typing import Any

from griffe import Extension
from mkdocs.structure.files import File

Names = dict[str, str]  # module -> names of its objects
MODULES: dict[str, Names] = {  # with objects that belong to a module's page and are not in its `__all__`
    "ndcg_ab": {"ndcg_ab.api.arguments": "Data, JudgeFunction"},
    "ndcg_ab.testing": {
        "ndcg_ab.testing.plugin": "ranking_baseline",
        "ndcg_ab.testing.asserting": "RankingBaseline",
    },
    "ndcg_core": {},
}
RECORDS: Names = {
    "ndcg_ab.api.results": "Records",
    "ndcg_ab.results.outcome": "SystemSummary, Finding, GateResult",
    "ndcg_ab.results.decisions": "Decision, Choice",
    "ndcg_ab.results.cost_records": "Costs, CostValue, CostDifference",
    "ndcg_ab.results.change_records": "RankingChanges, MovedDocuments, QueryDifference, TopDocument",
    "ndcg_ab.report.page.data": "MovedQuery",
    "ndcg_ab.studies.power": "Plan, DetectableEffect, PowerSettings",
    "ndcg_ab.studies.draw": "DrawStudy, DrawPlan",
    "ndcg_ab.studies.judge_next": "ToJudgeNext, ToJudge",
    "ndcg_ab.studies.judgments": "ComparedJudgments, Agreement, Cell, OrderAgreement, SystemMeans, VerdictPair",
    "ndcg_ab.studies.explain": "SystemExplanation",
    "ndcg_core.statistics.verdicts.record": "Clusters, ProxyCorrected, Unjudged, Labels",
    "ndcg_core.statistics.verdicts.verdict": "State",
}
EXTENSIONS: Names = {
    "ndcg_ab.trackers": "Tracker, Published",
    "ndcg_ab.history.bundle": "Bundle",
    "ndcg_ab.history.failed_nights": "FailedNight",
    "ndcg_ab.results.outcome": "Outcome",
    "ndcg_ab.engines.base": "Engine",
    "ndcg_ab.sources.base": "Source, PullRequest, PullResult, Remark",
    "ndcg_ab.errors": "UnavailableError, TrackingError, RefusedError",
}
MEMBERS = {  # of classes with further ones, which programs and extensions neither call nor define
    "ndcg_ab.Evaluation": "",
    "ndcg_ab.testing.asserting.RankingBaseline": "assert_not_worse",
    "ndcg_ab.trackers.Tracker": "log, log_failed_night, address",
    "ndcg_ab.history.bundle.Bundle": "",
    "ndcg_ab.results.outcome.Outcome": "",
    "ndcg_ab.engines.base.Engine": "read, rows, iter_rows, count",
    "ndcg_ab.sources.base.Source": "pull, answer, locate",
}
LOG = logging.getLogger("mkdocs.hooks")
API_NAME = re.compile(r"<code>(ndcg_(?:ab|core)(?:\.\w+)+)</code>")
PAGE_NAME = re.compile(r"\bdocs/((?:\w+/)?[\w-]+)\.md\b")
CHOICES = re.compile(r"^( *\w+ : )\{(.+)\}", re.MULTILINE)


class Adapt(Extension):
    """Adapt objects for the pages: the choices of a parameter lose their braces, and objects some labels.

    griffe takes the first choice in braces for the default.
    """

    def on_object(self, *, obj: Any, **_: Any) -> None:
        obj.labels -= {"class-attribute", "instance-attribute", "module-attribute"}
        if obj.docstring:
            obj.docstring.value = CHOICES.sub(r"\1one of \2", obj.docstring.value)


def public_names(module: str) -> str:
    """Return the names in `__all__` without the version: functions first, then classes, then constants."""
    names = set(import_module(module).__all__) - {"__version__"}
    return ", ".join(sorted(names, key=lambda name: (name[0].isupper(), name.isupper(), name)))


def write_entries(names: Names) -> str:
    """Return the directives that make the entries of objects."""
    return "".join(write_entry(f"{module}.{name}") for module, own in names.items() for name in own.split(", "))


def write_entry(name: str) -> str:
    """Return the directive that makes the entry of an object. The values of constants are too long to show."""
    members = f"members: [{MEMBERS[name]}], " if name in MEMBERS else ""
    has_short_value = not name.rpartition(".")[2].isupper()
    return f"::: {name}\n    options: {{{members}show_attribute_values: {str(has_short_value).lower()}}}\n\n"


def write_pages() -> dict[str, str]:
    """Return file name -> text of the pages."""
    pages = {
        "records": "# Records\n\nWhat the functions of the Python API return.\n\n" + write_entries(RECORDS),
        "extensions": "# Extension points\n\nWhat an [extension](../extending.md#extensions) gets and defines.\n\n"
        + write_entries(EXTENSIONS),
    }
    for module, others in MODULES.items():
        options = "{members: false, show_root_heading: false, show_root_toc_entry: false}"
        entries = write_entries({module: public_names(module), **others})
        pages[module] = f"# {module}\n\n::: {module}\n    options: {options}\n\n{entries}"
    return {f"reference/{name}.md": f"---\nsearch: {{boost: 0.1}}\n---\n{text}" for name, text in pages.items()}


def on_files(files: Any, config: Any, **_: Any) -> None:
    for name, text in write_pages().items():
        files.append(File.generated(config, name, content=text))


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    link = "[`make reference`](reference/ndcg_ab.md)"
    return markdown.replace("`make reference`", link) if page.file.src_uri == "python.md" else markdown


def link_page(name: str, files: Any) -> str:
    """Return a link to a page of the documentation. A warning ends a strict build if there is no such page."""
    if files.get_file_from_path(f"{name}.md") is None:
        LOG.warning("a docstring names docs/%s.md, which does not exist", name)
    return f'<a href="../{name}.html">docs/{name}.md</a>'


def on_page_content(html: str, page: Any, files: Any, **_: Any) -> str:
    """Link names of the API to their entries and, in the reference, names of pages to the pages."""
    html = API_NAME.sub(r'<autoref identifier="\1" optional>\g<0></autoref>', html)
    is_reference = page.file.src_uri.startswith("reference/")
    return PAGE_NAME.sub(lambda found: link_page(found[1], files), html) if is_reference else html
