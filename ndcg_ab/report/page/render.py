"""Write the report page: one HTML file that needs no server and no network.

The template writes words, tables and findings, which need no script. `templates/page.js` draws the figures, the table
of queries and the rankings from one compressed block of data. Text from data is escaped or in that block, and a content
security policy allows only the page's own script.
"""

import base64
import functools
import hashlib
import inspect
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import yaml

from ndcg_ab.comparing.since_last import SinceLast
from ndcg_ab.files import replace_atomically
from ndcg_ab.finding_codes import CODES
from ndcg_ab.report import explanations, over_time, sections, words
from ndcg_ab.report.answer import Answer, group_decisions, make_answer
from ndcg_ab.report.page.data import NOTHING, MovedQuery, PageData, fit_block, largest_moves, verdict_colour
from ndcg_ab.report.terminal.reference import read_terms
from ndcg_ab.report.words import deciding_interval, format_confidence_level, format_verdict
from ndcg_ab.results import numbers, wording
from ndcg_ab.results.codec import decode
from ndcg_ab.results.decisions import Choice
from ndcg_ab.results.outcome import Outcome
from ndcg_ab.results.wording import GUARDRAILS, MAIN, PAIRS
from ndcg_core.statistics.verdicts.comparison import Comparison
from ndcg_core.statistics.verdicts.verdict import Tone

if TYPE_CHECKING:
    from jinja2 import Environment


SCRIPTS = ("core.js", "queries.js", "figures.js", "tables.js", "page.js")  # one script, in this order
TEMPLATES = Path(__file__).parent / "templates"
LARGEST = 4_500_000  # bytes of the page; beyond, rankings are left out, then queries


def write_page(path: Path, data: PageData) -> None:
    """Write the report page to a file, completely or not at all."""
    page = render_page(data)
    with replace_atomically(path) as partial:
        partial.write_text(page, encoding="utf-8", newline="\n")


def render_page(data: PageData) -> str:
    """Return the report page as HTML, with as many rankings and queries as fit into LARGEST bytes."""
    template = template_environment().get_template("page.html")
    script = page_script()
    evaluation = data.about.get("evaluation") or {}
    functions = template_functions(data.outcome)
    context = {
        **functions,
        "data": data,
        "about": data.about,
        "title": (evaluation.get("name") and data.about.get("name")) or f"Comparison with {data.outcome.baseline}",
        "style": (TEMPLATES / "page.css").read_text(encoding="utf-8"),
        "script": script,
        "hash": script_digest(script),
        "gates": data.about.get("gates") or data.outcome.gates,
        "moves": candidate_moves(data, functions["answer"]),
        "since": decode(SinceLast, data.about.get("since_last")),
        "configuration": yaml.safe_dump(drop_unset_keys(evaluation), sort_keys=False, allow_unicode=True)
        if evaluation
        else None,
    }
    frame = template.render(**context, block="", left_out=NOTHING)
    block, left_out = fit_block(data, LARGEST - len(frame.encode()) - 2000)
    return template.render(**context, block=block, left_out=left_out)


@functools.cache
def template_environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markdown_it import MarkdownIt

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    for module in (words, numbers, wording, sections, over_time, explanations, sys.modules[__name__]):
        environment.globals |= dict(inspect.getmembers(module, inspect.isfunction))
    environment.globals["terms"] = MarkdownIt("commonmark", {"html": False}).enable("table").render(read_terms())
    environment.globals |= {"codes": CODES, "many": MANY}
    names = {
        "signed": numbers.signed,
        "plain": numbers.format_plain,
        "percent": numbers.format_percent,
        "share": numbers.format_fraction,
    }
    environment.filters |= names | {"probability": numbers.format_probability}
    return environment


def template_functions(outcome: Outcome) -> dict[str, Any]:
    """Return the functions and values that the templates of page and notebook use."""
    answer = make_answer(outcome)
    severities = [line.severity for line in answer.findings]
    return {
        "outcome": outcome,
        "answer": answer,
        "band": [(each.choice, [each.name], each.reason) for each in answer.candidates]
        if len(answer.candidates) <= MANY
        else [(choice, names, "") for choice, names in group_decisions(answer.choices)],
        "in_doubt": {each.name for each in answer.candidates if each.doubt},
        "means": {(row.system_id, row.metric): row.mean for row in outcome.systems},
        "spans": {
            metric.name: largest_extent([row for row in outcome.main if row.metric == metric.name])
            for metric in outcome.metrics
        },
        "families": list(dict.fromkeys(row.family for row in outcome.comparisons)),
        "slice_tables": arrange_slices(outcome),
        "other_rows": [
            row for row in outcome.comparisons if row.family not in (*MAIN, PAIRS) and row.attribute is None
        ],
        "severities": ", ".join(format_count(severities.count(word), word) for word in dict.fromkeys(severities)),
        "level": format_confidence_level(outcome.alpha),
        "weighted": words.format_weights(outcome),
    }


def arrange_slices(outcome: Outcome) -> dict[str, dict[tuple[str | None, str | None], dict[str, Comparison]]]:
    """Return the comparisons on slices as metric -> (attribute, slice) -> candidate -> comparison.

    For example, ("language", "de") is the slice of the queries whose attribute language is de.
    """
    slices: dict[str, dict[tuple[str | None, str | None], dict[str, Comparison]]] = {}
    for row in outcome.slices:
        slices.setdefault(row.metric, {}).setdefault((row.attribute, row.slice), {})[row.candidate] = row
    return slices


def format_document_counts(data: PageData) -> str:
    """Return a sentence with the number of displayed documents whose title or address is known.

    Empty if no source has titles of these documents.
    """
    if data.documents is None:
        return ""
    doc_ids = {name for table in (data.rankings, data.missed) for name in table["doc_id"].unique().to_pylist()}
    return f"Titles or addresses are known of {data.documents.num_rows} of the {len(doc_ids)} documents here."


def split_verdict(comparison: Comparison) -> tuple[str, str]:
    """Return the first words of a verdict, such as "improved", and the rest of its text."""
    text = format_verdict(comparison)
    cut = min(index for index in (text.find(" ("), text.find("; "), len(text)) if index >= 0)
    return text[:cut], text[cut:]


def format_moment(text: str) -> str:
    """Return a time as ``2026-11-19 02:01 UTC``, or the text unchanged if it is no time."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return text
    return f"{time.astimezone(UTC) if time.tzinfo else time:%Y-%m-%d %H:%M} UTC"


def format_count(count: int, word: str) -> str:
    """Return a count with its noun: ``1 slice``, ``2 slices``."""
    plural = "losses" if word == "loss" else f"{word}s"
    return f"{count} {word if count == 1 else plural}"


def largest_extent(rows: Sequence[Comparison]) -> float:
    """Return the largest absolute value that the strips of one table must show, plus 8 %.

    The values are interval ends, differences and smallest effects. The result is 1 if all are 0 or unknown.
    """
    values = [(*(deciding_interval(row) or ()), row.difference, row.smallest_effect) for row in rows]
    ends = [end for row in values for end in row if end is not None]
    return max(map(abs, ends), default=0.0) * 1.08 or 1.0


def interval_marks(comparison: Comparison, span: float) -> dict[str, float] | None:
    """Return the x coordinates of an interval's marks on a strip; None without an interval.

    The coordinate 0 stands for the value -span, and 200 for the value span. The keys are low, high and point (the
    difference). If a smallest effect is set, from and to are the coordinates of minus and plus this effect.
    """
    interval = deciding_interval(comparison)
    if interval is None or comparison.difference is None:
        return None
    marks = {"low": interval.low, "high": interval.high, "point": comparison.difference}
    if comparison.smallest_effect is not None:
        marks |= {"from": -comparison.smallest_effect, "to": comparison.smallest_effect}
    return {name: round(100 + 100 * value / span, 2) for name, value in marks.items()}


def drop_unset_keys(part: Any) -> Any:
    """Return a part of the configuration without the keys whose value is null, an empty list or an empty mapping."""
    if isinstance(part, dict):
        items = {key: drop_unset_keys(value) for key, value in part.items()}
        return {key: value for key, value in items.items() if value is not None and value != [] and value != {}}
    return [drop_unset_keys(each) for each in part] if isinstance(part, list) else part


def page_script() -> str:
    """Return the JavaScript of the page, wrapped so that its names are private."""
    parts = [(TEMPLATES / name).read_text(encoding="utf-8") for name in SCRIPTS]
    return '"use strict";\n(() => {\n' + "\n".join(parts) + "})();"


def script_digest(script: str) -> str:
    """Return the digest of a script by which the page's security policy allows it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


MANY = 4  # candidates; more are grouped by what to do, so that the band stays small
MOVES = 3  # queries that a card names, won and lost


def candidate_moves(data: PageData, answer: Answer) -> dict[str, dict[str, list[tuple[MovedQuery, str]]]]:
    """Return candidate -> "wins" or "loses" -> the queries with the largest differences, with their links.

    Empty if there are more than `MANY` candidates.
    """
    return {
        each.name: {
            verb: [
                (query, query_address(query.query_id, each.name))
                for query in largest_moves(data, answer.metric, each.name, MOVES, wins=verb == "wins")
            ]
            for verb in ("wins", "loses")
        }
        for each in answer.candidates
        if len(answer.candidates) <= MANY
    }


def query_address(query_id: str, candidate: str) -> str:
    """Return the link to an opened query on the page, encoded as the page's script does (URLSearchParams)."""
    return "#" + urlencode({"q": query_id, "c": candidate}, safe="*").replace("~", "%7E")


def card_colour(row: Comparison) -> str:
    """Return the colour class of a difference on a candidate's card: that of the verdict, empty for a guardrail."""
    return "" if row.family == GUARDRAILS else verdict_colour(row.conclusion)


COLOURS = {"improved": "#2f81d6", "regressed": "#d0611f", "other": "#808890"}  # told from white and from black
TONES = {
    Tone.GOOD: COLOURS["improved"],
    Tone.BAD: COLOURS["regressed"],
    Tone.OPEN: "#a87900",
    Tone.DIM: COLOURS["other"],
    Tone.PLAIN: COLOURS["other"],
}
CHOICE_COLOURS = {choice: TONES[choice.traits.tone] for choice in Choice}


def format_outcome_html(outcome: Outcome) -> str:
    """Return decisions, tables with drawn intervals, and findings as HTML for a notebook.

    The HTML has no style sheet and no script, and takes its colours from the surrounding text, so that it is readable
    on white and on black.
    """
    template = template_environment().get_template("notebook.html")
    return template.render(colours=COLOURS, choice_colours=CHOICE_COLOURS, **template_functions(outcome))
