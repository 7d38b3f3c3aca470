"""The kinds of sources, and the one door to them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ndcg_ab.config.model.external_scores import ScoresSource
from ndcg_ab.config.model.http import HttpSource
from ndcg_ab.config.model.sources import DatabaseSource, ExtensionSource, FileSource, PythonSource, SparkSource
from ndcg_ab.config.model.sources import Source as Described
from ndcg_ab.sources.base import Asked, Pulled, ReducedPull, Source
from ndcg_ab.sources.tables.on_disk import Keep, Spilled
from ndcg_ab.sources.tables.schema import Layout
from ndcg_ab.sources.tables.top_places import Wanted


def file_or_table(described: FileSource, directory: Path) -> Source:
    from ndcg_ab.sources.files.file import File
    from ndcg_ab.sources.tables.in_memory import InMemory

    return File(described, directory) if described.given is None else InMemory(described.given, described.columns)


def function(described: PythonSource, directory: Path) -> Source:
    from ndcg_ab.sources.functions.function import Function

    return Function(described, directory)


def scores(described: ScoresSource, directory: Path) -> Source:
    from ndcg_ab.sources.external_scores import Scores

    return Scores(described, directory)


def database(described: DatabaseSource, directory: Path) -> Source:
    from ndcg_ab.sources.databases.query import DatabaseQuery

    return DatabaseQuery(described, directory)


def search_engine(described: HttpSource, directory: Path) -> Source:
    from ndcg_ab.sources.http.search_engine import SearchEngine

    return SearchEngine(described, directory)


def table_on_spark(described: SparkSource, directory: Path) -> Source:
    from ndcg_ab.sources.spark_tables import ClusterTable

    return ClusterTable(described, directory)


def extension(described: ExtensionSource, directory: Path) -> Source:
    from ndcg_ab.sources.functions.extension import Extension

    return Extension(described, directory)


# What a configuration describes -> the source that it stands for, given the folder that relative paths start from.
SOURCES: dict[type, Callable[[Any, Path], Source]] = {
    FileSource: file_or_table,
    PythonSource: function,
    ScoresSource: scores,
    DatabaseSource: database,
    HttpSource: search_engine,
    SparkSource: table_on_spark,
    ExtensionSource: extension,
}


def source_of(described: Described | ScoresSource, directory: Path) -> Source:
    """The source that a configuration describes; directory: what relative paths start from."""
    return SOURCES[type(described)](described, directory)


def pull(
    described: Described | ScoresSource,
    layout: Layout,
    directory: Path,
    queries: Mapping[str, str] | None = None,
    *,
    attributes: Mapping[str, Mapping[str, str]] | None = None,
    folder: Path | None = None,
    keep: Keep | None = None,
    wanted: Wanted | None = None,
    threads: int | None = None,
) -> Pulled:
    """Reads a source whole and holds it to its layout; InputError says what is wrong and where.

    directory: what relative paths start from, and where modules are looked for.
    queries: query_id -> text, for sources that need them.  attributes: query_id -> {column: value}, for their requests.
    folder: where answers may be kept while the run lasts; None: nowhere.
    keep: where rows go that memory has no room for; None: it has room.
    wanted: what will be looked at of a ranking, if not all of it; threads: that may reduce it to that.
    """
    source = source_of(described, directory)
    if wanted and (reduced := source.reduce(layout, wanted, threads, keep.beside("reduced") if keep else None)):
        return ReducedPull(reduced, layout, source, lambda: source.answer(layout, Asked({}, keep=keep)).table)
    found = source.answer(layout, Asked(queries or {}, attributes or {}, folder, keep))
    table = found.table
    if keep is not None and not isinstance(table, Spilled):
        table = keep.write([table], layout.schema, lambda: found.table.schema.metadata or {})
    return Pulled(table, layout, source, found.documents)
