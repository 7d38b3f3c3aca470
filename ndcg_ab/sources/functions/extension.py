"""A kind of place that an installed package adds, by an entry point of the group ``ndcg_ab.sources``.

    def read(contents: str, queries: Mapping[str, str], directory: Path, **arguments) -> table or dictionaries

contents: ``judgment``, ``ranking`` or ``query``: what is wanted.  queries: query_id -> text, as far as the evaluation
has texts.  directory: what relative paths start from.  Returns what the Python API takes: a table of any library that
speaks Arrow, or dictionaries (docs/python.md); its rows keep the rules of files.
"""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from ndcg_ab.config.model.inputs.sources import ExtensionSource, InMemoryData
from ndcg_ab.config.secrets.lookup import reveal_arguments
from ndcg_ab.errors import InputError
from ndcg_ab.extensions import SOURCES, load_named, translate_foreign_errors
from ndcg_ab.sources.base import Source
from ndcg_ab.sources.tables.in_memory import InMemorySource, is_readable
from ndcg_ab.sources.tables.schema import Layout


class Extension(Source):
    """A source of another package, chosen by ``extension:``."""

    door = "extension"

    def __init__(self, described: ExtensionSource, directory: Path) -> None:
        self.name = described.extension
        self.origin = f"extension = {self.name!r}"
        self.arguments = described.arguments
        self.columns = described.columns
        self.directory = directory

    def pull(self, layout: Layout, queries: Mapping[str, str]) -> pa.Table:
        """What the extension returns; raises InputError where it is not installed, fails, or breaks a rule."""
        read = load_named(SOURCES, self.name, "extension = ")
        arguments = reveal_arguments(self.arguments, f"{self.origin}, arguments", self.directory)
        with translate_foreign_errors(f"{self.origin} failed"):
            data = read(layout.kind, dict(queries), self.directory, **arguments)
            if not is_readable(data):
                raise InputError(f"{self.origin} returned {type(data).__name__}: must return a table or dictionaries")
        return InMemorySource(InMemoryData(self.origin, data), self.columns).pull(layout, queries)
