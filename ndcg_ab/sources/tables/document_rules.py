"""Interpret the ids of a ranking: query texts become query ids, and chunk ids become document ids.

If configured, repeated documents and the query's own document are left out.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab import thresholds
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.inputs.sources import System
from ndcg_ab.errors import InputError, format_value
from ndcg_ab.sources.base import MOST_EXAMPLES, Remark, read_remarks, remarks_metadata
from ndcg_ab.sources.tables.on_disk import TableOnDisk, TableWriter, distinct_texts, read_batches, select_queries

Codes = npt.NDArray[np.int64]
CHUNK, COPY, OWN = "document_chunk", "document_copy", "own_document_left_out"  # codes of findings


class DocumentRules(NamedTuple):
    """The rules for document ids in the rankings of one system.

    Attributes
    ----------
    prefix : str or None
        The separator at which chunk ids are cut to document ids; of each document, the best chunk stays. None: ids are
        not cut.
    first : bool
        Whether a repeated document counts once, at its best rank, instead of being an error.
    drops_own : bool
        Whether the document whose id equals the query id is left out.
    """

    prefix: str | None = None
    first: bool = False
    drops_own: bool = False


AS_IT_IS = DocumentRules()


def document_rules(evaluation: Evaluation, system: System) -> DocumentRules:
    """Return the rules for document ids in the rankings of one system."""
    documents = evaluation.documents
    prefix, own_rule = (documents.prefix, documents.own) if documents else (None, None)
    return DocumentRules(prefix, system.duplicates == "first", own_rule == "drop")


def apply_rules(table: Any, rules: DocumentRules, writer: TableWriter, origin: str) -> Any:
    """Apply the document rules to a ranking, such as cutting ids, and return the new ranking.

    writer: receives the new ranking. origin: the source, for messages. Raises InputError if no row is left.
    """
    if rules == AS_IT_IS:
        return table
    counts = Counter[str]()  # ids that were cut, and rows that were left out, by the reason
    pieces = (apply_rules_to_piece(piece, rules, counts) for piece in pieces_by_query(table))

    def metadata() -> dict[bytes, bytes]:
        return remarks_metadata([*read_remarks(table), *remarks_of(rules, counts)])

    ranking = writer.rewrite(table, pieces, table.schema, metadata)
    if not ranking.num_rows:
        raise InputError(f"{origin}: no document is left: every row has the query's own id (own = drop)")
    return ranking


def pieces_by_query(table: Any) -> Iterator[pa.Table]:
    """Yield the rows of a table in pieces, with all rows of a query in one piece.

    A table in memory is a single piece.
    """
    if not isinstance(table, TableOnDisk):
        yield table
        return
    query_ids = distinct_texts(table, "query_id")
    each = max(1, len(query_ids) * 4 * thresholds.FILE_ROWS // table.num_rows)
    for start in range(0, len(query_ids), each):
        yield select_queries(table, query_ids[start : start + each])


def apply_rules_to_piece(table: pa.Table, rules: DocumentRules, counts: Counter[str]) -> pa.Table:
    """Apply the document rules to all rows of some queries and return the remaining rows.

    counts: receives the numbers of cut ids (`cut`) and of rows left out (`chunks`, `copies`, `own`).
    """
    before = table.num_rows
    ids = cut = table["doc_id"].combine_chunks()
    if rules.prefix is not None:
        cut = cut_ids(ids, rules.prefix)
    column = pa.chunked_array([cut])
    table = table.set_column(table.schema.get_field_index("doc_id"), "doc_id", column)
    is_kept = np.ones(before, dtype=bool)
    dropped = 0
    if rules.drops_own:
        is_kept = ~pc.equal(table["query_id"].cast(pa.string()), column).to_numpy().astype(bool)
        dropped = before - int(is_kept.sum())
    query, document, original = (codes_of(each) for each in (table["query_id"], column, pa.chunked_array([ids])))
    chunks = copies = 0
    if rules.prefix is not None or rules.first:
        first = np.zeros(before, dtype=bool)
        first[first_rows(table, query, document, is_kept)] = True
        pairs = query * (int(original.max(initial=0)) + 1) + original
        same_id = np.isin(pairs, pairs[first])  # the best chunk of a document, and its copies
        chunks = int((is_kept & ~same_id).sum())
        copies = int((is_kept & same_id & ~first).sum()) if rules.first else 0
        is_kept &= first if rules.first else same_id
    counts.update(cut=int(pc.sum(pc.not_equal(ids, cut)).as_py() or 0), chunks=chunks, copies=copies, own=dropped)
    if is_kept.all():
        return table
    rest = table.filter(pa.array(is_kept))
    if not rest.num_rows or rest["rank"].null_count:
        return rest
    ranks = renumber_ranks(query, table["rank"].to_numpy(), is_kept)
    return rest.set_column(rest.schema.get_field_index("rank"), "rank", pa.array(ranks))


def cut_ids(ids: pa.Array, sign: str) -> pa.Array:
    """Return each id up to the first separator `sign`; an id that begins with the separator stays unchanged."""
    cut = pc.list_element(pc.split_pattern(ids, pattern=sign, max_splits=1), 0)
    return pc.if_else(pc.equal(cut, ""), ids, cut)


def cut_documents(documents: pa.Table | None, rules: DocumentRules) -> pa.Table | None:
    """Return a table of titles and addresses with one row per document, taken from its first chunk.

    If the rules do not cut ids, or if there is no table, `documents` is returned unchanged. documents: one row per
    chunk.
    """
    if documents is None or rules.prefix is None:
        return documents
    ids = cut_ids(documents["doc_id"].combine_chunks(), rules.prefix)
    _, first = np.unique(codes_of(pa.chunked_array([ids])), return_index=True)
    return documents.set_column(documents.schema.get_field_index("doc_id"), "doc_id", ids).take(np.sort(first))


def codes_of(column: pa.ChunkedArray) -> Codes:
    """Return an integer for each text of a column; equal texts have equal integers."""
    encoded = pc.dictionary_encode(column.cast(pa.string()).combine_chunks())
    codes: Codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def first_rows(table: pa.Table, query: Codes, document: Codes, is_kept: npt.NDArray[np.bool_]) -> Codes:
    """Return the row number of the best kept row of each query and document.

    The best row has the highest score, or the lowest rank if scores are missing. query, document: an integer for each
    row.
    """
    rows = np.flatnonzero(is_kept)
    by_rank = table["score"].null_count > 0
    worse = table["rank"].to_numpy() if by_rank else -table["score"].to_numpy()
    pairs = (query * (int(document.max(initial=0)) + 1) + document)[rows]
    order = np.lexsort((rows, worse[rows], pairs))
    is_first = np.r_[True, np.diff(pairs[order]) != 0] if len(rows) else np.zeros(0, dtype=bool)
    indices: Codes = rows[order[is_first]]
    return indices


def renumber_ranks(query: Codes, rank: npt.NDArray[Any], is_kept: npt.NDArray[np.bool_]) -> Codes:
    """Return new ranks of the kept rows without gaps, starting at the lowest rank of each query.

    Equal ranks stay equal: 1, 1, 3. query: an integer for each row.
    """
    lowest = np.full(int(query.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(lowest, query, rank)
    query, rank = query[is_kept], rank[is_kept]
    _, place = np.unique(rank, return_inverse=True)
    keys = query * len(rank) + place  # which are sorted by query and rank
    rows_before, rows_of_queries_before = (np.searchsorted(np.sort(each), each) for each in (keys, query))
    ranks: Codes = rows_before - rows_of_queries_before + lowest[query]
    return ranks


def remarks_of(rules: DocumentRules, counts: Counter[str]) -> list[Remark]:
    """Return remarks with the numbers of ids cut and rows left out by the document rules."""
    cut, chunks, copies, dropped = (counts[name] for name in ("cut", "chunks", "copies", "own"))
    cuts = f"{cut:,} ids are cut at {rules.prefix!r}, and {chunks:,} further chunks of a document left out"
    candidates = (
        (cut, Remark(CHUNK, chunks, (), cuts)),
        (copies, Remark(COPY, copies, (), f"{copies:,} copies of documents are left out (duplicates = first)")),
        (dropped, Remark(OWN, dropped, (), f"the query's own document is left out in {dropped:,} rows (own = drop)")),
    )
    return [remark for count, remark in candidates if count]


NEARLY = 0.9  # share of the queries of a table that are meant by all


def match_texts(query_ids: Sequence[str], texts: Mapping[str, str]) -> tuple[Mapping[str, str], list[Remark]]:
    """Return (query text -> query_id, remarks) for a table that names queries by their texts.

    The mapping is empty if the table has ids, or if fewer than 90 % of its queries are texts that belong to one query.
    The remarks say how many queries were matched.

    Parameters
    ----------
    query_ids : sequence of str
        The queries of the table, each once: ids or texts.
    texts : mapping of str to str
        query_id -> text, from the file of queries.
    """
    id_count = sum(query_id in texts for query_id in query_ids)
    if id_count > NEARLY * len(query_ids):
        return {}, []
    counts = Counter(texts.values())
    by_text = {text: query_id for query_id, text in texts.items() if counts[text] == 1}
    ids = {each: by_text[each] for each in query_ids if each in by_text and each not in texts}
    if len(ids) <= id_count:
        return {}, []
    examples = [f"{format_value(text)} is query {format_value(each)}" for text, each in ids.items()][:MOST_EXAMPLES]
    count_text = f"{len(ids):,} of {len(query_ids):,} query ids are texts of the file of queries"
    if len(ids) >= NEARLY * len(query_ids) and id_count <= (1 - NEARLY) * len(query_ids):
        message = f"{count_text}, which gives them its ids"
        return ids, [Remark("query_by_text", len(ids), tuple(examples), message)]
    message = f"only {count_text} (each of one query), and {id_count:,} are its ids: no text is replaced by its id"
    return {}, [Remark("query_partly_by_text", len(ids), tuple(examples), message)]


def name_queries(table: Any, ids: Mapping[str, str], new_remarks: Sequence[Remark], writer: TableWriter) -> Any:
    """Return a table with query texts replaced by query ids, and with new remarks.

    ids: query text -> query_id. new_remarks: the remarks to add; if empty, the table is returned unchanged. writer:
    receives the table.
    """
    if not new_remarks:
        return table
    pieces = with_ids(read_batches(table, table.column_names), ids)
    remarks = [*read_remarks(table), *new_remarks]
    return writer.rewrite(table, pieces, table.schema, lambda: remarks_metadata(remarks))


def with_ids(tables: Iterable[pa.Table], ids: Mapping[str, str]) -> Iterator[pa.Table]:
    """Yield tables with query texts replaced by query ids; other values stay.

    ids: query text -> query_id.
    """
    texts, query_ids = (pa.array(list(each), pa.string()) for each in (ids, ids.values()))
    for table in tables:
        column = table["query_id"]
        encoded = (column if pa.types.is_dictionary(column.type) else pc.dictionary_encode(column)).unify_dictionaries()
        chunks = []
        for chunk in encoded.chunks:
            values = chunk.dictionary.cast(pa.string())
            replaced = pc.coalesce(query_ids.take(pc.index_in(values, texts)), values)
            chunks.append(replaced.take(chunk.indices))
        index = table.schema.get_field_index("query_id")
        column_of_ids = pc.dictionary_encode(pa.chunked_array(chunks, pa.string()))
        yield table.set_column(index, "query_id", column_of_ids.cast(column.type))
