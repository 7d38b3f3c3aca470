"""Judgments that are made of clicks: a source like any other."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from ndcg_ab.config.model.inputs.clicks import ClicksSource
from ndcg_ab.sources.base import Source, with_remarks
from ndcg_ab.sources.clicks.events import read_events
from ndcg_ab.sources.clicks.grading import GradedClicks, grade_clicks
from ndcg_ab.sources.tables.schema import JUDGMENT, Layout


class ClickJudgments(Source):
    """The grades of documents by their clicks; events: where these come from."""

    def __init__(self, described: ClicksSource, directory: Path, events: Source) -> None:
        self.described = described.clicks
        self.directory = directory
        self.events = events
        self.origin = f"{self.events.origin} ({self.described.definition})"

    def pull(self, layout: Layout, queries: Mapping[str, str]) -> pa.Table:
        """queries: query_id -> text, of the searches that count; without any the text is the query_id."""
        found = self.grade(queries)
        columns = {
            field.name: found.table[field.name]
            if field in JUDGMENT.fields
            else pa.nulls(found.table.num_rows, field.type)
            for field in layout.fields
        }
        return with_remarks(pa.table(columns, schema=layout.schema), found.remarks)

    def grade(self, queries: Mapping[str, str]) -> GradedClicks:
        """The same with what stands behind every grade."""
        return grade_clicks(read_events(self.described, self.events, self.directory), self.described, queries)
