"""Create a source from its description in a configuration, and read it, or the rows of one system in it."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.config.model.inputs import sources
from ndcg_ab.config.model.inputs.http import HttpSource
from ndcg_ab.config.model.inputs.judgments import ClicksSource
from ndcg_ab.config.model.inputs.sources import Source as Described
from ndcg_ab.config.options.positional import NamedFile, stem
from ndcg_ab.errors import InputError, format_value
from ndcg_ab.sources.base import CostRequest, Pulled, PullRequest, PullResult, Source
from ndcg_ab.sources.boundary import BOUNDS, LimitCounter
from ndcg_ab.sources.costs import cost_columns, costs_of_rows, filter_mapped_columns, refuse_unrecorded
from ndcg_ab.sources.fast_reader.reduce import group_rows, reduce_ranking
from ndcg_ab.sources.files.parts import local_columns
from ndcg_ab.sources.forms.plausible import field_column
from ndcg_ab.sources.judgments.grades import as_texts, grade_words_hint, refuse_ratings, replace_words
from ndcg_ab.sources.tables import document_rules
from ndcg_ab.sources.tables.on_disk import TableOnDisk, distinct_texts, read_batches
from ndcg_ab.sources.tables.reduced_ranking import NeededResults
from ndcg_ab.sources.tables.schema import JUDGMENT, RANKING, Field, Layout, WordGradeError, names_text


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
    rules: document_rules.DocumentRules = document_rules.AS_IT_IS,
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
        is_shared = has_several_systems(described, directory, system)
    request = PullRequest(queries or {}, **settings)
    writer, costs = request.writer, request.costs
    # columns that hold costs are no fields of a ranking
    without_costs = filter_mapped_columns(described, lambda field: field not in costs.names) if costs else described
    source = make_source(without_costs, directory)
    if costs is not None:
        refuse_unrecorded(described, costs.names, source.origin)
    if needed and rules == document_rules.AS_IT_IS and not is_shared:
        short = source.reduce(layout, needed, request)
        if short and not document_rules.match_texts(short.answers["query_id"].to_pylist(), request.texts)[1]:
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
        ids, remarks = document_rules.match_texts(distinct_texts(table, "query_id") if queries else [], request.texts)
        table = document_rules.name_queries(table, ids, remarks, writer)
        table = document_rules.apply_rules(table, rules, writer, source.origin)
        recorded = None if recorded is None else next(document_rules.with_ids([recorded], ids))
    elif rules != document_rules.AS_IT_IS:
        raise InputError(f"{source.origin}: its rows stay with Spark: cut ids and leave documents out there")
    documents = document_rules.cut_documents(answer.documents, rules)
    pulled = check_row_count(Pulled(table, layout, source, documents, costs=recorded))
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


# ---- the rows of one system in a table of several systems


SYSTEM_ID = Field("system_id", required=False, blank="")
SYSTEM = Layout("system", (SYSTEM_ID,))
WITH_SYSTEM = Layout(RANKING.kind, (*RANKING.fields, SYSTEM_ID))


def find_system_column(described: sources.FileSource, directory: Path) -> tuple[str | None, list[str]]:
    """Return (column, names) of a ranking: the column that names systems, and the distinct names in it.

    Return (None, []) if there is no such column, or if the ranking cannot be read.
    """
    from ndcg_ab.sources.tables.in_memory import column_names

    with contextlib.suppress(InputError, OSError):  # whoever reads the ranking itself says what is wrong
        data = getattr(described.in_memory, "data", None)  # a reader without a length can be read once alone
        in_memory = described.in_memory if hasattr(data, "__len__") else None
        columns = column_names(in_memory) if in_memory else local_columns(described, directory)
        column = field_column("system_id", [name for name in columns if name not in described.columns.values()])
        if column is not None:
            one_column = described.model_copy(update={"columns": {"system_id": column}})
            values = file_source(one_column, directory).pull(SYSTEM, {})["system_id"].unique()
            return column, values.cast(pa.string()).to_pylist()
    return None, []


def has_several_systems(described: sources.FileSource, directory: Path, name: str | None) -> bool:
    """Return whether a ranking has rows of several systems.

    Raises InputError if there are several systems and none is called `name` (None: always), or if only some rows name a
    system.
    """
    column, systems = find_system_column(described, directory)
    if "" in systems and len(systems) > 1:
        rule = "name the system in each row, or in none"
        raise InputError(f"{described.display_name}: its column {format_value(column)} is empty in some rows: {rule}")
    if len(systems) > 1 and name not in systems:
        rule = f"call the system one of them, not {format_value(name)}" if name else "give the rows of each by itself"
        names = f"its column {format_value(column)} names {len(systems)} systems ({names_text(systems)})"
        raise InputError(f"{described.display_name}: {names}, and a ranking is of one system: {rule}")
    return len(systems) > 1


def rows_of_system(table: Any, name: str) -> Iterator[pa.Table]:
    """Yield the rows of one system in batches, in the columns of a ranking."""
    for batch in read_batches(table, WITH_SYSTEM.schema.names):
        yield batch.filter(pc.equal(batch["system_id"], name)).select(RANKING.schema.names)


def split_by_system(systems: Sequence[NamedFile]) -> Iterator[NamedFile]:
    """Yield the systems; an entry whose file holds several rankings is replaced by one entry per ranking.

    An entry is split only if its name is that of its file, so that the user chose no other name, and if no system in
    the file has this name. Other entries stay unchanged.
    """
    for each in systems:
        inside = []
        if each.name == stem(each.file) and Path(each.file).is_file():
            inside = find_system_column(sources.FileSource(file=Path(each.file)), Path())[1]
        spread = [each._replace(name=name) for name in inside if name]
        yield from spread if len(spread) > 1 and each.name not in inside else [each]
