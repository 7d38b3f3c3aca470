"""Record the costs of requests, such as latencies, or read them from columns of the rankings.

Costs accompany a ranking, as titles do: they are no part of its rows or of its digest.
"""

import dataclasses
import json
import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import pyarrow as pa

from ndcg_ab.config.model.costs import LATENCY
from ndcg_ab.config.model.inputs.http import HttpSource
from ndcg_ab.config.model.inputs.sources import DatabaseSource, FileSource, PythonSource
from ndcg_ab.deadlines import Countdown, Say
from ndcg_ab.errors import InputError, format_value
from ndcg_ab.sources.base import Ask, CostRequest
from ndcg_ab.sources.tables.schema import COSTS, QUERY_ID, Field, Layout

T = TypeVar("T")
MOST_COST = 1e300  # whose sums and differences are still numbers
MEASURED = b"ndcg_ab.measured"  # in a table's metadata: how its costs were measured
UNKNOWN = -math.inf  # stands for an empty cell while a column is read
COST = pa.schema(
    [
        ("query_id", pa.string()),
        ("cost", pa.string()),
        ("value", pa.float64()),
        ("is_cold", pa.bool_()),
        ("is_failed", pa.bool_()),
    ]
)
CostRow = tuple[str, str, float | None, bool, bool]
"""query_id, cost, value (None: unknown), whether the request was a warm-up, whether it failed.

The latency of a failed request is the time until it was given up: an answer would have taken at least that long.
"""


@dataclasses.dataclass
class CostRecord:
    """The costs of the requests to one system, collected while the requests are sent.

    request: the costs to record. rows: one per request and cost.
    """

    request: CostRequest
    rows: list[CostRow] = dataclasses.field(default_factory=list)

    def add(self, query_id: str, costs: Mapping[str, float], is_failed: bool = False, *, is_cold: bool = False) -> None:
        """Add the costs of one request.

        costs: name of a cost -> value; other names than those to record are ignored. A counted request gets a row for
        every cost to record, with null if the value is unknown. A warm-up request (`is_cold`) gets rows for its known
        costs only; if it failed, it gets none.
        """
        cold = is_cold or self.request.all_cold
        if not cold:
            self.rows += [(query_id, name, costs.get(name), False, is_failed) for name in self.request.names]
        elif not is_failed:
            self.rows += [(query_id, name, costs[name], True, False) for name in self.request.names if name in costs]

    def table(self, measured: str) -> pa.Table:
        return cost_table(self.rows, measured)


def cost_table(rows: Sequence[CostRow], measured: str) -> pa.Table:
    """Return the recorded costs of requests as a table in the columns of `COST`.

    rows: one per request and cost. measured: a clause on how the costs were measured, for the metadata of the table.
    """
    columns = [[row[index] for row in rows] for index in range(len(COST))]
    return pa.table(columns, schema=COST).replace_schema_metadata({MEASURED: json.dumps(measured).encode()})


def measurement_text(table: pa.Table) -> str:
    """Return the clause on how costs were measured, which is in the metadata of their table; "" without one."""
    return str(json.loads((table.schema.metadata or {}).get(MEASURED, b'""')))


def shuffle_requests(requests: Sequence[T], seed: int) -> list[T]:
    """Return the requests in a random order that depends only on the seed and the number of requests."""
    return random.Random(seed).sample(list(requests), len(requests))


def ask_by_turns(
    asks: Sequence[Ask], query_ids: Sequence[str], names: Sequence[str], seed: int, say: Say
) -> list[CostRecord]:
    """Send every query to every system, one request at a time and the systems alternating, and return the costs.

    In each turn every system receives one query; the order of the systems and, per system, of the queries is random.
    asks: for each system, the function that sends a query. names: the costs to record. The result has one record per
    system.
    """
    chance = random.Random(seed)
    orders = [chance.sample(list(query_ids), len(query_ids)) for _ in asks]
    records = [CostRecord(CostRequest(tuple(names))) for _ in asks]
    countdown = Countdown("asking by turns", len(query_ids), say)
    for turn in range(len(query_ids)):
        for index in chance.sample(range(len(asks)), len(asks)):
            records[index].add(orders[index][turn], *asks[index](orders[index][turn]))
        countdown.advance()
    return records


def refuse_unrecorded(described: Any, names: Iterable[str], where: str) -> None:
    """Raise InputError if a source cannot record one of the costs.

    Files and databases are not checked here: their columns are checked when they are read. described: the source in the
    configuration. names: the costs. where: the source, for the message.
    """
    if isinstance(described, FileSource | DatabaseSource):  # whose columns are looked for when they are read
        return
    known: list[str] = []
    rule = "is recorded only of files, databases, functions and search engines over HTTP"
    if isinstance(described, HttpSource):
        known, rule = [LATENCY, *described.http.costs], "needs its path in the answer, as http: {costs: {NAME: PATH}}"
    elif isinstance(described, PythonSource) and described.per_query:
        known, rule = [LATENCY], "is not recorded of a function, but the time of each call is"
    elif isinstance(described, PythonSource):
        rule = "is not recorded where one call answers all queries: give per_query: true"
    for name in names:
        if name not in known:
            others = f" (known: {', '.join(known)})" if known else ""
            raise InputError(f"{where}: costs: {name} {rule}{others}")


def cost_columns(described: Any, names: Sequence[str]) -> tuple[Layout, Any]:
    """Return the layout for reading the costs of a ranking, and the source to read them from.

    The layout has the column query_id and one column per cost in `names`. The source is `described`; column names that
    it configures for other fields are left out. Raise InputError for dictionaries, which have no columns.
    """
    if isinstance(described, FileSource) and isinstance(getattr(described.in_memory, "data", None), Mapping):
        rule = "costs are columns of a table, and dictionaries have none: give a table"
        raise InputError(f"{described.display_name}: {rule}")
    fields = (QUERY_ID, *(Field(name, pa.float64(), blank=UNKNOWN) for name in names))
    layout = Layout(COSTS, fields)
    return layout, filter_mapped_columns(described, lambda field: field in layout.schema.names)


def filter_mapped_columns(described: Any, is_kept: Callable[[str], bool]) -> Any:
    """Return the configured source with only the mapped columns whose field `is_kept` accepts."""
    mapped = getattr(described, "columns", None)
    if not mapped or all(map(is_kept, mapped)):
        return described
    return described.model_copy(update={"columns": {name: mapped[name] for name in mapped if is_kept(name)}})


def costs_of_rows(table: pa.Table, names: Sequence[str], origin: str) -> pa.Table:
    """Return one row per query and cost from a table with one column per cost; null for empty cells.

    Raises InputError for a cost that is negative or too large, and if the rows of a query differ.
    """
    costs: dict[tuple[str, str], float | None] = {}
    query_ids = table["query_id"].to_pylist()
    for name in names:
        for query_id, cost in zip(query_ids, table[name].to_pylist(), strict=True):
            value = None if cost == UNKNOWN else cost
            earlier = costs.setdefault((query_id, name), value)
            if value is not None and not 0 <= value <= MOST_COST:
                problem = f"{value:g}: must be a number from 0 to 1e300"
            elif earlier != value:
                both = ("an empty cell" if each is None else f"{each:g}" for each in (earlier, value))
                problem = f"{' and '.join(both)}: must be the same in every row of a query"
            else:
                continue
            raise InputError(f"{origin}: query {format_value(query_id)}: {name} = {problem}")
    rows = [(query_id, name, value, False, False) for (query_id, name), value in costs.items()]
    return cost_table(rows, f"read from the column{'s' * (len(names) > 1)} {', '.join(names)}")
