"""Data in memory have two ways in, a fast one and a careful one: what both take they must read alike."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.inputs.connections import in_memory_file
from ndcg_ab.sources import JUDGMENT, RANKING, Layout
from ndcg_ab.sources.files.records import records_table, table_rows
from ndcg_ab.sources.forms.nested import read_numbers
from ndcg_ab.sources.tables.columns import table_if_clean
from ndcg_ab.sources.tables.in_memory import IN_DICTIONARIES, read_in_memory, table_of_plain_dictionaries
from ndcg_ab.sources.tables.on_disk import content_digest
from tests.examples import examples

IDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=4)
NUMBERS = st.floats(-1e6, 1e6) | st.integers(-1000, 1000)
DICTIONARIES = st.dictionaries(IDS, st.dictionaries(IDS, NUMBERS, max_size=4), min_size=1, max_size=4)


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


@pytest.mark.parametrize("layout", [JUDGMENT, RANKING], ids=lambda layout: layout.kind)
@settings(max_examples=examples(60), deadline=None)
@given(data=DICTIONARIES)
def test_dictionaries_at_once_and_one_by_one(data: dict[str, dict[str, float]], layout: Layout) -> None:
    fast = table_of_plain_dictionaries(data, layout)
    field = IN_DICTIONARIES[layout.kind]
    open_single_requests = read_numbers({query: [*documents.items()] for query, documents in data.items()}, field)
    careful = records_table(open_single_requests, layout)
    assert fast is not None
    assert not fast.num_rows or table_if_clean(lambda: fast) is not None
    assert rows_of(fast.cast(layout.schema)) == rows_of(careful)


@settings(max_examples=examples(60), deadline=None)
@given(data=DICTIONARIES.filter(lambda data: any(data.values())), size=st.integers(1, 3))
def test_tables_at_once_and_row_by_row(data: dict[str, dict[str, float]], size: int) -> None:
    """In batches of any size; the number of a row is that of the whole table."""
    rows = [(query, doc, float(number)) for query, docs in data.items() for doc, number in docs.items()]
    names = dict(zip(("query_id", "doc_id", "score"), ("q", "d", "s"), strict=True))
    table = pa.Table.from_batches(
        pa.table(list(map(list, zip(*rows, strict=True))), names=list(names.values())).to_batches(max_chunksize=size)
    )
    placed = list(table_rows(table, names, "t, row"))
    assert [where for where, _ in placed] == [f"t, row {number}" for number in range(1, len(rows) + 1)]
    read = read_in_memory(in_memory_file("t", table), RANKING, names)
    assert rows_of(read) == rows_of(records_table(iter(placed), RANKING))


VALUES = (
    st.text("aé\0", max_size=3),
    st.none() | st.sampled_from([0.0, 0.5, 1.0]),
    st.none() | st.integers(0, 2),
)
FEW_ROWS = st.lists(st.tuples(*VALUES), max_size=4)


@settings(max_examples=examples(200), deadline=None)
@given(rows=FEW_ROWS, others=FEW_ROWS, data=st.data())
def test_digests_are_equal_for_equal_rows_in_any_order(rows: list[Any], others: list[Any], data: st.DataObject) -> None:
    schema = pa.schema([("text", pa.string()), ("score", pa.float64()), ("rank", pa.int64())])

    def digest_of(rows: list[Any]) -> str:
        table = pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)
        if data.draw(st.booleans()):
            table = pa.concat_tables([table.slice(0, 1), table.slice(1)])
            table = table.set_column(0, "text", table["text"].dictionary_encode())
        return content_digest(table, schema).hexdigest()

    assert digest_of(rows) == digest_of(data.draw(st.permutations(rows)))
    assert (digest_of(rows) == digest_of(others)) == (sorted(map(str, rows)) == sorted(map(str, others)))


def test_a_digest_stays_the_same_in_later_versions() -> None:
    for zero in (0.0, -0.0):
        table = pa.table({"doc_id": ["d1", "", None], "grade": [1.0, zero, None]})
        assert content_digest(table, table.schema).hexdigest()[:32] == "23f457412bf64496089d7343a9410da0"


def test_no_configuration_can_hold_data() -> None:
    """Neither its schema nor what is kept of it knows of them."""
    file = in_memory_file("systems['a']", {})
    content = {"name": "t", "judgments": "qrels", "systems": [{"name": "a", "file": str(file)}]}
    before = Evaluation.model_validate(content).model_dump_json()
    evaluation = Evaluation.model_validate(content | {"systems": [{"name": "a", "file": file}]})
    assert evaluation.model_dump_json() == before
    assert "memory" not in str(Evaluation.model_json_schema()["$defs"]["FileSource"])
    assert evaluation.systems[0].source.in_memory is file
