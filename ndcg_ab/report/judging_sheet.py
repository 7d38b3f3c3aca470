"""Write the judging sheet: one HTML file, without server or network, in which people grade query-document pairs.

People type grades; the browser stores them and downloads them as a file of judgments. Text from data is escaped, or is
in a block of JSON that the sheet's script inserts as text. A content security policy blocks all other scripts.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ndcg_ab.files import write_text
from ndcg_ab.report.page.data import safe_link
from ndcg_ab.report.page.render import TEMPLATES, script_digest, template_environment
from ndcg_ab.results.numbers import signed
from ndcg_ab.studies.judge_next import ToJudge

KEYS = 10  # digits


def write_judging_sheet(path: Path, rows: Sequence[ToJudge], grades: Sequence[float], title: str) -> None:
    """Write the judging sheet, completely or not at all."""
    write_text(path, render_judging_sheet(rows, grades, title))


def render_judging_sheet(rows: Sequence[ToJudge], grades: Sequence[float], title: str) -> str:
    """Return the judging sheet for query-document pairs as HTML.

    rows: the pairs. grades: the grades of the judgments, in any order.
    """
    script = (TEMPLATES / "judging_sheet.js").read_text(encoding="utf-8")
    levels = grade_levels(grades)
    content = {
        "title": title,
        "pairs": [judging_sheet_entry(row) for row in rows],
        "keys": assign_keys(levels_with_keys(levels)),
    }
    identity = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
    return (
        template_environment()
        .get_template("judging_sheet.html")
        .render(
            title=title,
            content=content | {"identity": identity},
            levels=len(levels),
            style=(TEMPLATES / "judging_sheet.css").read_text(encoding="utf-8"),
            script=script,
            hash=script_digest(script),
        )
    )


def grade_levels(grades: Sequence[float]) -> list[float]:
    """Return the grades to choose from, ascending: 0 and the grades of the judgments, or 0 and 1 if all are 0."""
    levels = sorted({0.0, *(float(grade) for grade in grades)})
    return levels if len(levels) > 1 else [0.0, 1.0]


def levels_with_keys(grades: Sequence[float]) -> list[float]:
    """Return the grades that can be entered with one key: all grades, or ten of them.

    If there are more than ten grades, the result has ten evenly spaced ones, always with 0, the lowest and the highest.
    grades: ascending, with 0.
    """
    if len(grades) <= KEYS:
        return list(grades)
    indices = {round(step * (len(grades) - 1) / (KEYS - 1)) for step in range(KEYS)}
    zero = grades.index(0.0)
    nearest = min(indices - {0, len(grades) - 1}, key=lambda index: abs(index - zero))
    if zero not in indices:
        indices = indices - {nearest} | {zero}
    return [grades[index] for index in sorted(indices)]


def assign_keys(grades: Sequence[float]) -> list[dict[str, Any]]:
    """Return one dictionary {"key": digit, "grade": number} per grade.

    The key is the grade itself if the grade is a digit, else the lowest digit that is still free. grades: at most ten.
    """
    digits = {level: str(int(level)) for level in grades if level in range(KEYS)}
    free = iter(sorted({str(digit) for digit in range(KEYS)} - set(digits.values())))
    return [{"key": digits.get(level) or next(free), "grade": level} for level in grades]


def judging_sheet_entry(row: ToJudge) -> dict[str, Any]:
    """Return the data of one query-document pair for the sheet's script.

    The keys are query_id, doc_id, text, title, url (None if it is not a safe link) and why. `why` is a list of
    sentences: the ranks by system and, if known, the expected effect of a grade.
    """
    why = [", ".join(f"{system} shows it at rank {rank}" for system, rank in row.ranks) or "No system shows it"]
    if row.effect is not None:
        why.append(
            f"{row.candidate} − {row.baseline} in {row.metric}: its grade is expected to move the difference by"
            f" {abs(row.effect):.4f}, to between {signed(row.lowest)} and {signed(row.highest)}"
        )
    return {
        "query_id": row.query_id,
        "doc_id": row.doc_id,
        "text": row.text,
        "title": row.title,
        "url": safe_link(row.url),
        "why": why,
    }
