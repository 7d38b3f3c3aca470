"""Values of metrics by query in a table: a row for each, or a column for each metric or system."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ndcg_ab.sources.forms.form import SCORES, Form, Reading
from ndcg_ab.sources.forms.measure_names import are_measures
from ndcg_ab.sources.forms.names import bare_name, field_column
from ndcg_ab.sources.forms.plausible import numbers
from ndcg_ab.sources.forms.sample import Sample
from ndcg_ab.sources.forms.text.table import OF_QUERIES, tables

METRIC = ("metric", "measure")
TEXTS = ("text", "query", "querytext")  # columns of the text of a query
ONE_METRIC = "value"  # what a metric is called if columns are systems


class ValueColumns(NamedTuple):
    """The columns of a table of values.

    query_id, system_id: the columns of ids; no system_id if columns are systems, or all values are of one system.
    values: the columns of values, one for each metric or system; none if each row names its metric.
    """

    query_id: str
    system_id: str | None
    values: tuple[str, ...]

    @property
    def are_systems(self) -> bool:
        """Whether each column is of a system: there are several, and they are not called as measures."""
        return self.system_id is None and len(self.values) > 1 and not are_measures(self.values)


def sniff(sample: Sample) -> Reading | None:
    for table in tables(sample):
        found = find_value_columns(list(table.columns), sample.columns)
        if found is not None and (sample.is_parquet or are_values(table.columns, found)):
            is_of_queries = sample.is_parquet or any(bare_name(name) in TEXTS for name in table.columns)
            return Reading(SCORES, table.format, delimiter=table.delimiter, is_doubtful=is_of_queries)
    return None


def find_value_columns(names: Sequence[str], columns: Mapping[str, str]) -> ValueColumns | None:
    """Return the columns of a table of values, or None if it is none; columns: field -> column, as they are named."""
    query_id = columns.get("query_id") or field_column("query_id", names)
    if query_id is None or query_id not in names or (field_column("doc_id", names) and not columns):
        return None
    system_id = columns.get("system_id") or field_column("system_id", names)
    named = {query_id, system_id, *columns.values()}
    metric = columns.get("metric") or next((name for name in METRIC if name in names), None)
    if metric in names:
        return ValueColumns(query_id, system_id, ())
    others = (*named, *(name for name in names if bare_name(name) in (*OF_QUERIES, *TEXTS)))
    values = tuple(
        name for name in names if name == columns.get("value") or ("value" not in columns and name not in others)
    )
    return ValueColumns(query_id, system_id, values) if values else None


def are_values(columns: Mapping[str, Sequence[str]], found: ValueColumns) -> bool:
    """Return whether the columns of values hold numbers."""
    values = found.values or ("value",)
    return all(numbers(columns.get(name, ())) is not None for name in values)


FORM = Form("table of values by query", SCORES, "query_id,old,new\nq1,0.5,0.25\nq2,1,0.75\n", sniff)
