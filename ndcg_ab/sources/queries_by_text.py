"""Tables that name queries by their texts: the ids of the file of queries take the place of the texts."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.errors import format_value
from ndcg_ab.sources.base import Remark, read_remarks, remarks_metadata
from ndcg_ab.sources.tables.format_warnings import MOST_EXAMPLES
from ndcg_ab.sources.tables.on_disk import TableWriter, read_batches

NEARLY = 0.9  # share of the queries of a table that are meant by all


class QueryNames(NamedTuple):
    """How a table names queries. ids: text -> id, if texts are replaced. remarks: what to say of it."""

    ids: Mapping[str, str]
    remarks: tuple[Remark, ...] = ()


def match_texts(query_ids: Sequence[str], texts: Mapping[str, str]) -> QueryNames:
    """Return the ids of queries that a table names by their texts.

    Parameters
    ----------
    query_ids : sequence of str
        The queries of the table, each once.
    texts : mapping of str to str
        query_id -> text, of the file of queries.
    """
    known = sum(query_id in texts for query_id in query_ids)
    if known > NEARLY * len(query_ids):
        return QueryNames({})
    counts = Counter(texts.values())
    by_text = {text: query_id for query_id, text in texts.items() if counts[text] == 1}
    ids = {each: by_text[each] for each in query_ids if each in by_text and each not in texts}
    if len(ids) <= known:
        return QueryNames({})
    examples = tuple(f"{format_value(text)} is query {format_value(each)}" for text, each in ids.items())[
        :MOST_EXAMPLES
    ]
    counted = f"{len(ids):,} of {len(query_ids):,} query ids are texts of the file of queries"
    if len(ids) >= NEARLY * len(query_ids) and known <= (1 - NEARLY) * len(query_ids):
        told = f"{counted}, which gives them its ids"
        return QueryNames(ids, (Remark("query_by_text", len(ids), examples, told),))
    told = f"only {counted} (each of one query), and {known:,} are its ids: no text is replaced by its id"
    return QueryNames({}, (Remark("query_partly_by_text", len(ids), examples, told),))


def name_queries(table: Any, names: QueryNames, keep: TableWriter) -> Any:
    """Return a table with the ids of its queries; keep: its writer."""
    if not names.remarks:
        return table
    pieces = with_ids(read_batches(table, table.column_names), names.ids)
    remarks = [*read_remarks(table), *names.remarks]
    return keep.rewrite(table, pieces, table.schema, lambda: remarks_metadata(remarks))


def with_ids(tables: Iterable[pa.Table], ids: Mapping[str, str]) -> Iterator[pa.Table]:
    """Yield tables whose queries have the ids instead of their texts."""
    texts, found = (pa.array(list(each), pa.string()) for each in (ids, ids.values()))
    for table in tables:
        column = table["query_id"]
        encoded = (column if pa.types.is_dictionary(column.type) else pc.dictionary_encode(column)).unify_dictionaries()
        chunks = []
        for chunk in encoded.chunks:
            known = chunk.dictionary.cast(pa.string())
            named = pc.coalesce(found.take(pc.index_in(known, texts)), known)
            chunks.append(named.take(chunk.indices))
        place = table.schema.get_field_index("query_id")
        made = pc.dictionary_encode(pa.chunked_array(chunks, pa.string()))
        yield table.set_column(place, "query_id", made.cast(column.type))
