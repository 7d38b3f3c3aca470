"""The records that describe a form of files: how it is recognised, and how its rows are read."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from ndcg_ab.sources.forms.sample import Sample

JUDGMENTS, RANKING, QUERIES, SCORES, EVENTS = "judgments", "ranking", "queries", "values", "events"
Records = Iterator[tuple[str, dict[str, Any]]]  # (location in the file, such as ``line 7``, values by field)


@dataclasses.dataclass(frozen=True)
class Reading:
    """The description of how the rows of a file are read.

    Attributes
    ----------
    kind : str
        The content of the file, such as ``judgments`` or ``ranking``: a constant of this module.
    format : str
        ``trec`` (fields between white space), ``delimited``, ``jsonl``, ``parquet``, ``lines`` or ``json``.
    columns : mapping of str to str
        Field -> column, for columns whose name differs from the field.
    names : tuple of str
        The columns in order, for text without a header; empty if the first line is the header.
    delimiter, decimal : str
        The signs between fields and within numbers, for delimited text.
    records : callable, optional
        Yields (location, {field: value}) from (number, line) pairs for the format ``lines``, or from the parsed content
        of the file for the format ``json``; None for other formats.
    words : str
        The name of the recognised form, such as ``BEIR judgments``, for messages; may be empty.
    is_doubtful : bool
        Whether another kind of content is likelier. A doubtful reading is used only if the user names the kind, or if
        no other kind fits.
    values : mapping of str to str
        Column -> value in all rows, from the names of the folders above a Parquet file.
    """

    kind: str
    format: str
    columns: Mapping[str, str] = dataclasses.field(default_factory=dict)
    names: tuple[str, ...] = ()
    delimiter: str = ","
    decimal: str = "."
    records: Callable[[Any], Records] | None = None
    words: str = ""
    is_doubtful: bool = False
    values: Mapping[str, str | None] = dataclasses.field(default_factory=dict)

    @property
    def note(self) -> str:
        """The name of the form and the columns with other names: ``BEIR judgments, query_id is 'query-id'``."""
        renamed = [f"{field} is {column!r}" for field, column in self.columns.items() if field != column]
        return ", ".join([self.words, *renamed])


class Form(NamedTuple):
    """A form in which tools write files, such as BEIR judgments.

    Attributes
    ----------
    words : str
        The name of the form in messages and in the list of forms.
    kind : str
        The content of such a file, such as ``judgments`` or ``ranking``: a constant of this module.
    sample : str
        A small file of the form.
    sniff : callable
        Returns the `Reading` for a sample of a file, or None if the file has another form.
    """

    words: str
    kind: str
    sample: str
    sniff: Callable[[Sample], Reading | None]
