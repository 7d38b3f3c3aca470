"""One door to every kind of place: `pull` gives a table, whatever the source."""

import dataclasses
import hashlib
import io
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv

from ndcg_ab.config.model import FileSource, PythonSource
from ndcg_ab.errors import InputError
from ndcg_ab.sources.files import format_of, read_file
from ndcg_ab.sources.records import find_lines
from ndcg_ab.sources.schema import Layout
from ndcg_ab.sources.tables import place_in, read_given


@dataclasses.dataclass(frozen=True)
class Pulled:
    """What a source gave.

    table: the rows, in the columns of `layout`.
    source: where they came from; origin: the same for messages (a path, module:function or an argument).
    """

    table: pa.Table
    layout: Layout
    source: FileSource | PythonSource
    origin: str

    @property
    def digest(self) -> str:
        """SHA-256 of the content, 32 hex digits: the same for any order of rows and any file format."""
        keys = [(name, "ascending") for name in ("query_id", "doc_id") if name in self.table.column_names]
        plain = self.table.cast(self.layout.schema).sort_by(keys)
        text = io.BytesIO()
        pacsv.write_csv(plain, text, pacsv.WriteOptions(include_header=True))
        return hashlib.sha256(text.getbuffer()).hexdigest()[:32]

    def place_of(self, query_id: str, doc_id: str) -> str:
        """Where a document of a query stands, for a message: ``run.txt, lines 7 and 9``."""
        if isinstance(self.source, PythonSource):
            return self.origin
        if self.source.given is not None:
            return place_in(self.source.given, self.table, query_id, doc_id)
        path = Path(self.origin)
        file_format = self.source.format or format_of(path)
        lines = find_lines(path, self.layout, file_format, self.source.columns, query_id, doc_id)
        word = ("row" if file_format == "parquet" else "line") + "s" * (len(lines) > 1)
        return f"{path}, {word} {' and '.join(str(line) for line in lines[:3])}"


def pull(
    source: FileSource | PythonSource, layout: Layout, directory: Path, queries: Mapping[str, str] | None = None
) -> Pulled:
    """Reads a source whole and holds it to its layout; InputError says what is wrong and where.

    directory: what relative paths start from, and where modules are looked for.
    queries: query_id -> text, for functions.
    """
    if isinstance(source, PythonSource):
        from ndcg_ab.sources.python import pull_function

        return Pulled(pull_function(source, queries or {}, directory), layout, source, source.python)
    origin = source.given.name if source.given else str(source.file)
    unknown = set(source.columns) - {field.name for field in layout.fields}
    if unknown:
        name, known = min(unknown), [field.name for field in layout.fields]
        near = get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise InputError(f"{origin}: columns: {name!r} is no field of a {layout.kind} ({', '.join(known)}){hint}")
    if source.given is not None:
        return Pulled(read_given(source.given, layout, source.columns), layout, source, origin)
    path = source.file if source.file.is_absolute() else directory / source.file
    return Pulled(read_file(path, layout, source.format, source.columns), layout, source, str(path))
