"""Load the inputs of an evaluation into the tables that the SQL reads (sql/0_load)."""

import contextlib
import gc
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.base import Engine, Value
from ndcg_ab.engines.remote_table import RemoteTable
from ndcg_ab.scoring.external_scores import FAILED, SYSTEM_SCHEMA
from ndcg_ab.scoring.metric_tables import deepest_cutoff, depth_of, metric_tables
from ndcg_ab.sources import Pulled, Queries
from ndcg_ab.sources.costs import COST, measurement_text
from ndcg_ab.sources.queries import documents_source
from ndcg_ab.sources.tables.on_disk import TableOnDisk, table_or_file
from ndcg_ab.sources.tables.reduced_ranking import ANSWER, KNOWN_RANK
from ndcg_ab.sources.tables.schema import DOCUMENT
from ndcg_core.measures.metric import Metric

NARROWING = ("ties", "unjudged", "measure", "ideal", "ideal_cut")  # choices for which SQL files have optional parts
VALUE = 110  # bytes per query and metric, with all intermediate results
COST_SOURCE = pa.schema([("system_id", pa.string()), ("measured", pa.string())])
COST_STATISTICS = pa.schema([("cost", pa.string()), ("statistic", pa.string()), ("share", pa.float64())])
SINGLES = "pulled_single_judgment"  # every judgment with its judge, source and file, if there is more than a grade


def load_tables(
    engine: Engine,
    judgments: Pulled,
    queries: Queries,
    rankings: Mapping[str, Pulled],
    evaluation: Evaluation,
) -> None:
    """Put judgments, queries, rankings, costs and metrics into the tables that the SQL reads."""
    if documents := documents_source(evaluation):
        documents.check(DOCUMENT)
    if engine.memory and not judgments.remote_table:
        values = len(judgments.query_ids) * len(rankings) * len(evaluation.metric_list)
        engine.memory.refuse_beyond(values, VALUE, "values of queries")
    pulled_inputs = (judgments, *rankings.values())
    engine.expect_rows(sum(each.reduced.rows.num_rows if each.reduced else each.count for each in pulled_inputs))
    engine.declare_texts("system_id", rankings)
    engine.declare_texts("query_id", collect_query_ids(judgments, queries, rankings))
    put_metrics(engine, evaluation.metric_list)
    engine.put_all("pulled_judgment", [judgments.remote_table or judgments.table])
    if judgments.singles is not None:
        engine.put(SINGLES, judgments.singles)
    engine.put("pulled_query", queries.text_table())
    engine.put("pulled_attribute", queries.attribute_table())
    engine.put("pulled_intended", queries.intended_table())
    put_rankings(engine, rankings)
    answers = {name: pulled.reduced.answers for name, pulled in rankings.items() if pulled.reduced}
    engine.put("pulled_answer", stack_by_system(ANSWER, answers))
    known = {name: pulled.reduced.ranks for name, pulled in rankings.items() if pulled.reduced}
    ranks = {name: table for name, table in known.items() if table is not None}
    engine.put("pulled_known_rank", stack_by_system(KNOWN_RANK, ranks))
    failed = [{"system_id": name, "query_id": query} for name, pulled in rankings.items() for query in pulled.failed]
    engine.put("pulled_failed_query", pa.Table.from_pylist(failed, schema=FAILED))
    engine.put("pulled_document", document_table(rankings))
    engine.declare_values(reduced={"yes" if pulled.reduced else "no" for pulled in rankings.values()})
    if evaluation.costs:
        put_costs(engine, rankings, evaluation)
    systems = {"system_id": list(rankings), "position": list(range(len(rankings)))}
    engine.put("pulled_system", pa.table(systems, schema=SYSTEM_SCHEMA))
    engine.set_defaults(baseline=evaluation.baseline_name)


def put_metrics(engine: Engine, metrics: Sequence[Metric]) -> None:
    """Put the metrics into the engine: definitions, rules, the largest cutoff, and the number of ranks to read."""
    tables = metric_tables(metrics)
    for column in ("metric_id", "rank_rule", "gain_rule", "discount_rule"):
        holding = (table[column] for table in tables.values() if column in table.column_names)
        engine.declare_texts(column, (text for texts in holding for text in texts.to_pylist()))
    for name, table in tables.items():
        engine.put(name, table)
    rules, metric_table = tables["pulled_rank_rule"], tables["pulled_metric"]
    columns = {column: table for table in (rules, metric_table) for column in NARROWING if column in table.column_names}
    engine.declare_values(**{column: set(table[column].to_pylist()) - {None} for column, table in columns.items()})
    engine.set_defaults(cutoff=deepest_cutoff(metrics), depth=depth_of(metrics) + 1)


def collect_query_ids(judgments: Pulled, queries: Queries, rankings: Mapping[str, Pulled]) -> set[str]:
    """Return all query ids of the inputs; an empty set if any input is on a cluster."""
    pulled = [judgments, *rankings.values()]
    if any(each.remote_table for each in pulled):
        return set()
    in_file = queries.text_table()["query_id"].to_pylist()
    return set(in_file).union(*(each.query_ids for each in pulled), *(each.failed for each in pulled))


def put_rankings(engine: Engine, rankings: Mapping[str, Pulled]) -> None:
    """Put all rankings into the table `pulled_ranking`; the engine itself reads rankings that are in files."""
    rows = {name: pulled.loaded_rows for name, pulled in rankings.items()}
    in_files = any(isinstance(each, TableOnDisk) for each in rows.values())
    if not in_files or any(pulled.remote_table for pulled in rankings.values()):
        engine.put_all("pulled_ranking", [with_system_column(name, pulled) for name, pulled in rankings.items()])
        return
    columns = {"query_id": "query_id", "doc_id": "doc_id", "score": "score", "rank_given": "rank"}
    files = [(table_or_file(each), {"system_id": name}) for name, each in rows.items()]
    engine.put_files("pulled_ranking", columns, files)


def stack_by_system(schema: pa.Schema, tables: Mapping[str, pa.Table]) -> pa.Table:
    """Return tables of one schema as one table, with the name of the system in every row.

    tables: table by name of the system.
    """
    schema = pa.schema([("system_id", pa.string()), *schema])
    parts = [schema.empty_table()]
    for name, table in tables.items():
        names = repeat_text(name, table.num_rows).cast(pa.string())
        parts.append(pa.table([names, *table.columns], schema=schema))
    return pa.concat_tables(parts)


def put_costs(engine: Engine, rankings: Mapping[str, Pulled], evaluation: Evaluation) -> None:
    """Put the recorded costs of requests, and the names of the statistics to compute, into the engine."""
    recorded = {name: pulled.costs for name, pulled in rankings.items() if pulled.costs is not None}
    engine.put("pulled_query_cost", stack_by_system(COST, recorded))
    how = {"system_id": list(recorded), "measured": [measurement_text(table) for table in recorded.values()]}
    engine.put("pulled_cost_source", pa.table(how, schema=COST_SOURCE))
    quantiles = [each for each in evaluation.costs.statistics if each.share is not None]
    columns = [[each.cost for each in quantiles], [each.statistic for each in quantiles]]
    engine.put(
        "pulled_cost_statistic", pa.table([*columns, [each.share for each in quantiles]], schema=COST_STATISTICS)
    )


def document_table(rankings: Mapping[str, Pulled]) -> pa.Table:
    """Return the titles and URLs of documents, one row per document, from the first system whose source gave them."""
    documents: dict[str, dict[str, Any]] = {}
    for pulled in rankings.values():
        for row in pulled.documents.to_pylist() if pulled.documents is not None else ():
            documents.setdefault(row["doc_id"], row)
    return pa.Table.from_pylist(list(documents.values()), schema=DOCUMENT.schema)


def with_system_column(system_id: str, pulled: Pulled) -> pa.Table | RemoteTable:
    """Return the ranking of a system in the columns of `pulled_ranking`, with the system's name in every row."""
    if pulled.remote_table:
        return pulled.remote_table.with_system(system_id)
    table = pulled.loaded_rows
    query_ids = table["query_id"].cast(pa.dictionary(pa.int32(), pa.string())).unify_dictionaries()
    return pa.table(
        {
            "system_id": repeat_text(system_id, table.num_rows),
            "query_id": query_ids,
            "doc_id": table["doc_id"],
            "score": table["score"],
            "rank_given": table["rank"],
        }
    )


def repeat_text(text: str, count: int) -> pa.Array:
    """Return an array of `count` equal texts, which stores the text once."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, dtype=np.int8)), [text])


def read_by_system(
    engine: Engine, name: str, columns: Sequence[str], where: Mapping[str, Value] | None = None
) -> dict[str, pa.Table]:
    """Return the rows of a table by system_id, in any order; systems without rows are absent.

    name: name of the table. columns: columns of the result. where: column -> value that the column must have.
    """
    rows = engine.read(name, ("system_id", *columns), where=where)
    return {system_id: table for (system_id,), table in split_by(rows, "system_id")}


def split_by(rows: pa.Table, *keys: str) -> Iterator[tuple[tuple[str, ...], pa.Table]]:
    """Yield the rows of each combination of the values of some columns, as (values of these columns, table).

    The rows of a combination keep their order. The tables have the other columns, each in one chunk.
    """
    codes = np.zeros(rows.num_rows, dtype=np.int64)
    for key in keys:
        numbers, distinct = number_ids(rows[key])
        codes = codes * len(distinct) + numbers
    order = np.argsort(codes, kind="stable")
    changes = np.flatnonzero(np.diff(codes[order])) + 1  # where rows with other values begin
    edges = [0, *changes.tolist(), len(order)] if len(order) else [0]
    firsts = rows.select(keys).take(pa.array(order[edges[:-1]], pa.int64()))
    sorted_rows = rows.drop_columns(list(keys)).combine_chunks().take(pa.array(order))
    for values, (start, end) in zip(list_rows(firsts), pairwise(edges), strict=True):
        yield values, sorted_rows.slice(start, end - start)


def list_rows(table: pa.Table) -> list[tuple[Any, ...]]:
    """Return the rows of a table with columns as tuples of Python objects."""
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def list_system_rows(tables: Mapping[str, pa.Table], system_id: str) -> list[tuple[Any, ...]]:
    """Return the rows of a system as tuples of Python objects; an empty list if the system has no table.

    tables: table by system_id.
    """
    table = tables.get(system_id)
    return [] if table is None else list_rows(table)


def number_ids(ids: pa.ChunkedArray) -> tuple[NDArray[np.int32], list[str]]:
    """Return the index of each id in a list of the distinct ids, and this list."""
    whole = ids.unify_dictionaries().combine_chunks()
    encoded = whole if pa.types.is_dictionary(whole.type) else whole.dictionary_encode()
    return encoded.indices.to_numpy().astype(np.int32), encoded.dictionary.to_pylist()


@contextlib.contextmanager
def paused_garbage_collection() -> Iterator[None]:
    """Disable the garbage collector within the context, whose code creates many objects but no reference cycles."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
