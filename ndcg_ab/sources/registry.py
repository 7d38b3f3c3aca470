"""Create a source from its description in a configuration, and read it."""

import dataclasses
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa

from ndcg_ab.config.model.inputs import sources
from ndcg_ab.config.model.inputs.http import HttpSource
from ndcg_ab.config.model.inputs.judgments import ClicksSource
from ndcg_ab.config.model.inputs.sources import Source as Described
from ndcg_ab.errors import InputError
from ndcg_ab.sources.base import CostRequest, Pulled, PullRequest, PullResult, Source
from ndcg_ab.sources.boundary import BOUNDS, LimitCounter
from ndcg_ab.sources.costs import cost_columns, costs_of_rows, filter_mapped_columns, refuse_unrecorded
from ndcg_ab.sources.fast_reader.plain_text import group_rows, reduce_ranking
from ndcg_ab.sources.judgments.grades import as_texts, grade_words_hint, refuse_ratings, replace_words
from ndcg_ab.sources.tables.document_rules import (
    AS_IT_IS,
    DocumentRules,
    apply_rules,
    cut_documents,
    match_texts,
    name_queries,
    with_ids,
)
from ndcg_ab.sources.tables.on_disk import TableOnDisk, distinct_texts
from ndcg_ab.sources.tables.reduced_ranking import NeededResults
from ndcg_ab.sources.tables.schema import JUDGMENT, RANKING, Layout, WordGradeError


def file_source(described: sources.FileSource, directory: Path) -> Source:
    """Return the source of a file, or of the data in memory that the file stands for."""
    from ndcg_ab.sources.files.file import File
    from ndcg_ab.sources.tables.in_memory import InMemorySource

    if described.in_memory is None:
        return File(described, directory)
    return InMemorySource(described.in_memory, described.columns)


def lazy_source(module: str, name: str) -> Callable[[Any, Path], Source]:
    """Return a function that creates a source of the class `name`, importing its module on the first call."""
    return lambda described, directory: getattr(import_module(f"ndcg_ab.sources.{module}"), name)(described, directory)


# Class of the description in a configuration -> function of a description and the folder from which paths start.
SOURCES: dict[type, Callable[[Any, Path], Source]] = {
    sources.FileSource: file_source,
    sources.PythonSource: lazy_source("functions", "Function"),
    sources.ScoresSource: lazy_source("external_scores", "Scores"),
    sources.DatabaseSource: lazy_source("database_query", "DatabaseQuery"),
    HttpSource: lazy_source("http.search_engine", "SearchEngine"),
    sources.SparkSource: lazy_source("spark_tables", "ClusterTable"),
    sources.ExtensionSource: lazy_source("functions", "Extension"),
    ClicksSource: lazy_source("clicks.click_judgments", "ClickJudgments"),
}


def make_source(described: Described | sources.ScoresSource, directory: Path) -> Source:
    """Return the source for its description in a configuration; relative paths start from `directory`."""
    return SOURCES[type(described)](described, directory)


def pull_source(
    described: Described | sources.ScoresSource,
    layout: Layout,
    directory: Path,
    queries: Mapping[str, str] | None = None,
    *,
    needed: NeededResults | None = None,
    system: str | None = None,
    rules: DocumentRules = AS_IT_IS,
    **settings: Any,
) -> Pulled:
    """Return the data of a source in the columns of a layout; raise InputError with the location of a wrong row.

    directory: the folder from which relative paths start and in which modules are looked for.
    queries: query_id -> text, for sources that need them, and for tables that name queries by their texts.
    needed: the part of a ranking that will be used; None: all of it.
    system: the system whose rows are selected from a table of several systems.
    rules: the rules for document ids of a ranking.
    settings: further attributes of the `PullRequest`: attributes, folder, writer, costs, resources and say.
    """
    is_shared = False
    if layout.kind == RANKING.kind and isinstance(described, sources.FileSource):
        from ndcg_ab.sources.tables.one_system import WITH_SYSTEM, has_several_systems, rows_of_system

        is_shared = has_several_systems(described, directory, system, make_source)
    request = PullRequest(queries or {}, **settings)
    writer, costs = request.writer, request.costs
    # columns that hold costs are no fields of a ranking
    without_costs = filter_mapped_columns(described, lambda field: field not in costs.names) if costs else described
    source = make_source(without_costs, directory)
    if costs is not None:
        refuse_unrecorded(described, costs.names, source.origin)
    if needed and rules == AS_IT_IS and not is_shared:
        short = source.reduce(layout, needed, request)
        if short and not match_texts(short.answers["query_id"].to_pylist(), request.texts)[1]:
            pulled = Pulled(lambda: source.answer(layout, request).table, layout, source, reduced=short)
            return check_row_count(dataclasses.replace(pulled, costs=read_costs(described, directory, costs)))
    answer = answer_within_limits(described, source, WITH_SYSTEM if is_shared else layout, request)
    table = answer.table
    if is_shared:
        table = writer.rewrite(table, rows_of_system(table, system or ""), layout.schema)
    if not isinstance(table, TableOnDisk):
        table = writer.write([table], layout.schema, lambda: answer.table.schema.metadata or {})
    recorded = read_costs(described, directory, costs) if answer.costs is None else answer.costs
    if layout.kind in (JUDGMENT.kind, RANKING.kind) and not isinstance(described, sources.SparkSource):
        ids, remarks = match_texts(distinct_texts(table, "query_id") if queries else [], request.texts)
        table = apply_rules(name_queries(table, ids, remarks, writer), rules, writer, source.origin)
        recorded = None if recorded is None else next(with_ids([recorded], ids))
    elif rules != AS_IT_IS:
        raise InputError(f"{source.origin}: its rows stay with Spark: cut ids and leave documents out there")
    pulled = check_row_count(Pulled(table, layout, source, cut_documents(answer.documents, rules), costs=recorded))
    if layout.kind == JUDGMENT.kind and not pulled.remote_table:
        refuse_ratings(pulled)
    if needed and isinstance(table, pa.Table) and not pulled.remote_table:
        reduced = reduce_ranking(group_rows(table), needed)
        return dataclasses.replace(pulled, content=lambda: table, reduced=reduced) if reduced else pulled
    return pulled


def answer_within_limits(described: Any, source: Source, layout: Layout, pull: PullRequest) -> PullResult:
    """Return the answer of a source, with grades in words replaced by numbers.

    Raises InputError if the answer of a function or an extension is too large, or an extension takes too long; its
    thread is then abandoned. Also raises InputError for a grade that is a word without a number.
    """
    answer = partial(source.answer, as_texts(layout) if layout.words else layout, pull)
    try:
        if source.limits_key in ("function", "extension"):
            limits = LimitCounter(BOUNDS[source.limits_key], source.origin)
            result = limits.wait(answer) if source.limits_key == "extension" else answer()
            limits.count(size=result.table.nbytes)
        else:
            result = answer()
    except WordGradeError as error:
        raise InputError(f"{error}{grade_words_hint(described, source, layout, pull)}") from None
    return dataclasses.replace(result, table=replace_words(result.table, layout, source)) if layout.words else result


def check_row_count(pulled: Pulled) -> Pulled:
    """Return the pulled data; raise InputError if it has more rows than allowed for its kind of source."""
    size = pulled.table.nbytes if pulled.remote_table else 0  # what came is a row for each query
    LimitCounter(BOUNDS[pulled.source.limits_key], pulled.origin).count(size=size, rows=pulled.count)
    return pulled


def read_costs(described: Any, directory: Path, costs: CostRequest | None) -> pa.Table | None:
    """Read costs from columns of a ranking and return them in the columns of `COST`; None if `costs` is None."""
    if costs is None:
        return None
    layout, plain = cost_columns(described, costs.names)
    source = make_source(plain, directory)
    return costs_of_rows(source.pull(layout, {}), costs.names, source.origin)
