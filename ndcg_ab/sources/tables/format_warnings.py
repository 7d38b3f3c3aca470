"""Remarks on ranking files that are unusual but can be read; findings are made from them."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from ndcg_ab.errors import format_value
from ndcg_ab.files import name_path_in_errors
from ndcg_ab.sources.base import Remark
from ndcg_ab.sources.files.unpacking import is_packed
from ndcg_ab.sources.forms.form import Records
from ndcg_ab.sources.forms.plausible import NO_GRADE

MOST_EXAMPLES = 5


def tag_remarks(path: Path, first: Mapping[str, int]) -> list[Remark]:
    """Return remarks on several tags in one TREC ranking, which suggest joined rankings or a truncated last line.

    first: tag -> the number of the first row with that tag.
    """
    if len(first) < 2:
        return []
    tags = sorted(first, key=lambda tag: first[tag])
    *others, last = tags
    if ends_inside_a_line(path) and all(tag.startswith(last) for tag in others):
        location = f"{path}, row {first[last]}: tag {format_value(last)}, and no line end"
        remarks = [Remark("truncated_last_line", 1, (location,))]
        return remarks + tag_remarks(path, {tag: first[tag] for tag in others})
    examples = tuple(f"{path}, row {first[tag]}: tag {format_value(tag)}" for tag in tags[:MOST_EXAMPLES])
    return [Remark("several_tags", len(tags), examples)]


def ends_inside_a_line(path: Path) -> bool:
    """Return whether a file does not end with a line end; always False for compressed files."""
    if is_packed(path):
        return False
    with name_path_in_errors(path), path.open("rb") as file:
        file.seek(-1, 2)
        return file.read() not in (b"\n", b"\r")


class RemarkCounter:
    """A counter of rows that deserve a remark; it stores the first five as examples."""

    def __init__(self, code: str) -> None:
        self.code, self.count = code, 0
        self.examples: list[str] = []

    def add(self, example: str) -> None:
        self.count += 1
        if len(self.examples) < MOST_EXAMPLES:
            self.examples.append(example)

    def add_rows(self, rows: pa.Table, describe: Callable[[dict[str, Any]], str]) -> None:
        self.count += rows.num_rows
        self.examples += map(describe, rows.slice(0, MOST_EXAMPLES - len(self.examples)).to_pylist())

    def remarks(self, message: str | None = None) -> list[Remark]:
        return [Remark(self.code, self.count, tuple(self.examples), message)] if self.count else []


def rated_rows(records: Records, unrated: RemarkCounter, words: Iterable[tuple[str, float]]) -> Records:
    """Yield (location, {field: value}) for each judgment that has a grade.

    unrated: counts the other judgments, whose grade is empty or a word for "no grade" such as NA. words: the (word,
    grade) pairs of the configuration; a word that has a grade there never means "no grade".
    """
    absent = {*NO_GRADE} - dict(words).keys()
    for where, record in records:
        grade = record.get("grade", 0)
        if grade in (None, b"") or not str(grade).strip() or (isinstance(grade, str) and grade.strip() in absent):
            unrated.add(where)
        else:
            yield where, record
