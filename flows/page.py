"""The report page: one file that needs nothing else, no server, no network.

Words, tables and findings are written by the template and need no script.  Figures, the table of queries and the
rankings are drawn by `templates/page.js` from one compressed block of data.  Every text from data is escaped or stands
in that block, and the page's own policy runs no script but the two that were written here.
"""

import base64
import gzip
import hashlib
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from flows.outcome import MAIN, PAIRS, PRIMARY, Outcome, replacing
from flows.page_data import (
    CELLS,
    FULL,
    GROUPS,
    PageData,
    facts,
    gather,
    interval_rows,
    night_rows,
    shown_depth,
)
from flows.wording import (
    change,
    family_text,
    interval,
    judged_label,
    level,
    percent,
    plain,
    probability,
    rows_of,
    signed,
    together,
    verdict_text,
    weighted_text,
    wins_ties_losses,
)
from ndcg_core.comparison import Comparison
from ndcg_core.metric import Metric

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["PageData", "gather", "write_page"]

TEMPLATES = Path(__file__).parent / "templates"
LARGEST = 4_500_000  # bytes of the page; beyond, rankings are left out, then queries
DECIMALS = 10  # of values in the table of queries
GRAVE = ("rank_disagrees",)  # findings that question every number
NOTHING = {"rankings": 0, "queries": 0}  # left out
MARKS = {"improved": "▲", "regressed": "▼", "other": "●"}


def write_page(path: Path, data: PageData) -> None:
    """Writes the page whole or not at all."""
    page = rendered(data)
    with replacing(path) as partial:
        partial.write_text(page, encoding="utf-8", newline="\n")


def rendered(data: PageData) -> str:
    """The page with as many rankings and queries as fit into LARGEST."""
    template = environment().get_template("page.html")
    runtime, script = vega_runtime(), (TEMPLATES / "page.js").read_text(encoding="utf-8")
    context = {
        "data": data,
        "outcome": data.outcome,
        "about": data.about,
        "title": data.about.get("name") or (data.about.get("evaluation") or {}).get("name") or "Comparison",
        "style": (TEMPLATES / "page.css").read_text(encoding="utf-8"),
        "runtime": runtime,
        "script": script,
        "hashes": [digest(runtime), digest(script)],
        "gates": data.about.get("gates") or data.outcome.gates,
        **words_of(data.outcome),
        "configuration": configuration(data.about),
    }
    frame = template.render(**context, block="", left_out=NOTHING)
    block, left_out = fitting_block(data, LARGEST - len(frame.encode()) - 2000)
    return template.render(**context, block=block, left_out=left_out)


def environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    made.filters |= {"signed": signed, "plain": plain, "percent": percent, "probability": probability}
    return made


def words_of(outcome: Outcome) -> dict[str, Any]:
    """What the template calls."""
    first = outcome.metrics[0]
    severities = [finding.severity for finding in outcome.findings]
    others = [row for row in outcome.comparisons if row.family not in (*MAIN, PAIRS) and row.attribute is None]
    return {
        "answer": [row for row in outcome.main if row.metric == first.name],
        "means": {row.system_id: row.mean for row in outcome.systems if row.metric == first.name},
        "judged": {row.system_id: row.judged for row in outcome.systems if row.metric == first.name},
        "families": list(dict.fromkeys(row.family for row in outcome.comparisons)),
        "slice_tables": list(dict.fromkeys((row.attribute, row.metric) for row in outcome.slices)),
        "other_rows": others,
        "grave": [finding for finding in outcome.findings if finding.code in GRAVE or finding.severity == "error"],
        "severities": ", ".join(number_of(severities.count(word), word) for word in dict.fromkeys(severities)),
        "number_of": number_of,
        "level": level(outcome.alpha),
        "weighted": weighted_text(outcome),
        "marks": MARKS,
        "change": change,
        "family_text": family_text,
        "headline": headline,
        "interval": interval,
        "judged_label": judged_label,
        "moment": moment,
        "kind": kind,
        "reach": reach,
        "role": role,
        "rows_of": rows_of,
        "strip": strip,
        "together": together,
        "verdict_text": verdict_text,
        "wins_ties_losses": wins_ties_losses,
    }


def kind(comparison: Comparison) -> str:
    """improved, regressed or other."""
    return str(facts(comparison)["kind"])


def headline(comparison: Comparison) -> tuple[str, str]:
    """The verdict in few words, and the rest of it."""
    text = verdict_text(comparison)
    cut = min(place for place in (text.find(" ("), text.find("; "), len(text)) if place >= 0)
    return text[:cut], text[cut:]


def moment(text: str) -> str:
    """``2026-11-19 02:01 UTC``; as it was given where it is no moment."""
    try:
        given = datetime.fromisoformat(text)
    except ValueError:
        return text
    return f"{given.astimezone(UTC) if given.tzinfo else given:%Y-%m-%d %H:%M} UTC"


def role(outcome: Outcome, metric: Metric) -> str:
    """primary, secondary (exploratory) or guardrail; empty where nothing is compared."""
    family = next((row.family for row in outcome.main if row.metric == metric.name), "")
    return {PRIMARY: "primary", "secondary": "secondary, exploratory", "guardrails": "guardrail"}.get(family, family)


def number_of(count: int, word: str) -> str:
    """``1 query``, ``2 queries``."""
    plural = {"query": "queries", "loss": "losses"}.get(word, f"{word}s")
    return f"{count} {word if count == 1 else plural}"


def reach(rows: Sequence[Comparison]) -> float:
    """The largest distance from zero that intervals and smallest effects span; the strips of one table share it."""
    ends = [end for row in rows for end in (row.low, row.high, row.difference, row.smallest_effect) if end is not None]
    return max(map(abs, ends), default=0.0) * 1.08 or 1.0


def strip(comparison: Comparison, span: float) -> dict[str, float] | None:
    """Where an interval's marks stand on a strip of width 200 that runs from -span to span."""
    if comparison.low is None or comparison.high is None or comparison.difference is None:
        return None
    places = {"low": comparison.low, "high": comparison.high, "point": comparison.difference}
    if comparison.smallest_effect is not None:
        places |= {"from": -comparison.smallest_effect, "to": comparison.smallest_effect}
    return {name: round(100 + 100 * value / span, 2) for name, value in places.items()}


def configuration(about: dict[str, Any]) -> str | None:
    """The evaluation's configuration as YAML, without the keys that were not set."""
    if not about.get("evaluation"):
        return None
    return yaml.safe_dump(given(about["evaluation"]), sort_keys=False, allow_unicode=True)


def given(part: Any) -> Any:
    """A part of the configuration without the keys that were not set."""
    if isinstance(part, dict):
        kept = {key: given(value) for key, value in part.items()}
        return {key: value for key, value in kept.items() if value is not None and value != [] and value != {}}
    return [given(each) for each in part] if isinstance(part, list) else part


def vega_runtime() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script."""
    import vl_convert

    from flows.figures import vegalite_version

    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=vegalite_version())
    return bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--").replace("\r\n", "\n")


def digest(script: str) -> str:
    """What the page's policy names a script by."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def fitting_block(data: PageData, limit: int) -> tuple[str, dict[str, int]]:
    """The block in at most `limit` bytes, and how many rankings and queries were left out of it.

    Those with the largest differences on the first metric stay.
    """
    content = block_content(data)
    rankings, queries = content.pop("rankings"), content["queries"]["id"]
    order = by_largest_difference(content)
    block = packed(content | {"rankings": rankings})
    if len(block) <= limit:
        return block, NOTHING
    bare = len(packed(content | {"rankings": []}))
    if bare <= 0.9 * limit:
        kept = len(queries)
        while len(block) > limit and kept > 0:
            kept = max(0, int(kept * min(0.97, (limit - bare) / (len(block) - bare))))
            chosen = set(order[:kept])
            some = [ranking if place in chosen else None for place, ranking in enumerate(rankings)]
            block = packed(content | {"rankings": some})
        return block, {"rankings": len(queries) - kept, "queries": 0}
    kept, block = len(queries), packed(content | {"rankings": []})
    while len(block) > limit and kept > 0:
        kept = max(0, int(kept * min(0.97, limit / len(block))))
        places = sorted(order[:kept])
        block = packed(only(content, places) | {"rankings": []})
    return block, {"rankings": kept, "queries": len(queries) - kept}


def only(content: dict[str, Any], places: Sequence[int]) -> dict[str, Any]:
    """The content with the queries at some places alone."""
    queries = {name: [column[place] for place in places] for name, column in content["queries"].items()}
    values = [[[column[place] for place in places] for column in systems] for systems in content["values"]]
    return content | {"queries": queries, "values": values}


def by_largest_difference(content: dict[str, Any]) -> list[int]:
    """Places of queries, the largest |difference| of any candidate on the first metric first."""
    columns = content["values"][0]
    baseline = columns[content["baseline"]]

    def largest(place: int) -> float:
        known = [column[place] for column in columns if column[place] is not None]
        return 0.0 if baseline[place] is None else max((abs(value - baseline[place]) for value in known), default=0.0)

    return sorted(range(len(baseline)), key=lambda place: (-largest(place), place))


def packed(content: dict[str, Any]) -> str:
    """JSON, compressed, as text; the same content gives the same bytes."""
    written = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(written.encode(), 6, mtime=0)).decode()


def block_content(data: PageData) -> dict[str, Any]:
    """What the page's script reads; systems, metrics and queries are named by their places."""
    from flows.figures import PAGE, TITLES, config, page_specs

    outcome = data.outcome
    systems = list(dict.fromkeys([outcome.baseline, *(row.system_id for row in outcome.systems)]))
    ids, texts = (data.queries[name].to_pylist() for name in ("query_id", "text"))
    return {
        "systems": systems,
        "baseline": 0,
        "metrics": [metric.name for metric in outcome.metrics],
        "queries": {"id": ids, "text": texts},
        "values": value_columns(data, systems, {name: place for place, name in enumerate(ids)}),
        "rankings": list(packed_rankings(data, systems, ids)),
        "gains": gains(data),
        "depth": shown_depth(outcome.metrics[0]),
        "comparisons": interval_rows(outcome),
        "slices": [
            facts(row) | {"attribute": row.attribute, "slice": row.slice, "baseline_mean": row.baseline_mean}
            for row in outcome.slices
        ],
        "nights": night_rows(data),
        "figures": {"specs": page_specs(), "config": config(PAGE), "titles": TITLES},
        "limits": {"full": FULL, "groups": GROUPS, "cells": CELLS},
    }


def value_columns(data: PageData, systems: Sequence[str], places: dict[str, int]) -> list[list[list[float | None]]]:
    """[metric][system][query] -> value; None where a query is not scored."""
    metrics = [metric.name for metric in data.outcome.metrics]
    columns: dict[tuple[str, str], list[float | None]] = {
        (metric, system): [None] * len(places) for metric in metrics for system in systems
    }
    parts = (data.scores[name].to_pylist() for name in ("metric", "system_id", "query_id", "value"))
    for metric, system, query, value in zip(*parts, strict=True):
        if (metric, system) in columns and query in places:
            columns[metric, system][places[query]] = round(value, DECIMALS)
    return [[columns[metric, system] for system in systems] for metric in metrics]


def packed_rankings(data: PageData, systems: Sequence[str], ids: Sequence[str]) -> Iterator[list[Any] | None]:
    """For each query its documents, their grades, and for each system the documents' places in rank order."""
    shown: dict[str, dict[str, list[tuple[int, str]]]] = {}
    grades: dict[str, dict[str, float | None]] = {}
    parts = (data.rankings[name].to_pylist() for name in ("system_id", "query_id", "rank", "doc_id", "grade"))
    for system, query, rank, doc, grade in zip(*parts, strict=True):
        shown.setdefault(query, {}).setdefault(system, []).append((rank, doc))
        grades.setdefault(query, {})[doc] = grade
    for query in ids:
        ranked = shown.get(query, {})
        in_order = [[doc for _, doc in sorted(ranked.get(system, []))] for system in systems]
        docs = list(dict.fromkeys(doc for ranking in in_order for doc in ranking))
        place = {doc: number for number, doc in enumerate(docs)}
        known = [whole(grades[query][doc]) for doc in docs]
        yield [docs, known, [[place[doc] for doc in ranking] for ranking in in_order]]


def whole(grade: float | None) -> float | int | None:
    return int(grade) if grade is not None and grade == int(grade) else grade


def gains(data: PageData) -> list[list[float]]:
    """Pairs of a grade and what it is worth to the first metric, where the rankings say it."""
    if "gain" not in data.rankings.column_names:
        return []
    pairs = data.rankings.select(["grade", "gain"]).group_by(["grade", "gain"]).aggregate([]).to_pylist()
    known = [[row["grade"], row["gain"]] for row in pairs if row["grade"] is not None and row["gain"] is not None]
    return sorted(known)
