"""Judgments that are made of clicks: a source like any other."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from ndcg_ab.config.model.inputs.judgments import ClicksSource
from ndcg_ab.config.model.operation import Resources
from ndcg_ab.engines import open_engine
from ndcg_ab.engines.sql_files import click_files
from ndcg_ab.memory import Memory, give_back
from ndcg_ab.sources.base import PullRequest, PullResult, Source, with_remarks
from ndcg_ab.sources.clicks.events import read_events
from ndcg_ab.sources.clicks.grading import GradedClicks, grade_clicks
from ndcg_ab.sources.tables.on_disk import IN_MEMORY, TableWriter
from ndcg_ab.sources.tables.schema import JUDGMENT, Layout


class ClickJudgments(Source):
    """The grades of documents by their clicks; events: where these come from."""

    door = "click log"

    def __init__(self, described: ClicksSource, directory: Path, events: Source) -> None:
        self.described = described.clicks
        self.directory = directory
        self.events = events
        self.origin = f"{self.events.origin} ({self.described.definition})"

    def answer(self, layout: Layout, asked: PullRequest) -> PullResult:
        """The texts of `asked` are those of the searches that count; without any the text is the query_id."""
        found = self.grade(asked.texts, asked.resources)
        columns = {
            field.name: found.table[field.name]
            if field in JUDGMENT.fields
            else pa.nulls(found.table.num_rows, field.type)
            for field in layout.fields
        }
        return PullResult(with_remarks(pa.table(columns, schema=layout.schema), found.remarks))

    def grade(self, queries: Mapping[str, str], allowed: Resources | None = None) -> GradedClicks:
        """The same with what stands behind every grade.

        queries: query_id -> text. allowed: what it may use; None: everything.
        """
        given = allowed or Resources()
        with open_engine(given.threads, given.memory_limit, given.spill, files=click_files()) as engine:
            events = read_events(self.described, self.events, self.directory, events_file(engine.memory))
            give_back()
            return grade_clicks(engine, events, self.described, queries)


def events_file(memory: Memory | None) -> TableWriter:
    """Return where events go: into a file if they are more than a few, whether memory is limited or not."""
    if memory is None or memory.folder is None:
        return IN_MEMORY
    return TableWriter(memory.folder / "click_event.parquet", memory)
