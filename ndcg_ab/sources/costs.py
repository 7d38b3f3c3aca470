"""What requests cost: recorded where a source is asked, or in columns of the rows that it has.

A cost comes along with a ranking, as titles do: it is no part of the ranking's rows, nor of their digest.
"""

import dataclasses
import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import pyarrow as pa

from ndcg_ab.config.model.costs import LATENCY
from ndcg_ab.config.model.inputs.http import HttpSource
from ndcg_ab.config.model.inputs.sources import DatabaseSource, FileSource, PythonSource
from ndcg_ab.errors import InputError, format_value
from ndcg_ab.sources.base import Ask, CostsAsked
from ndcg_ab.sources.tables.schema import COSTS, Field, Layout

T = TypeVar("T")
MOST_COST = 1e300  # whose sums and differences are still numbers
MEASURED = b"ndcg_ab.measured"  # in a table's metadata: how its costs were measured
COST = pa.schema([("query_id", pa.string()), ("cost", pa.string()), ("value", pa.float64()), ("is_cold", pa.bool_())])


@dataclasses.dataclass
class CostRecord:
    """The costs of one system's requests while they are asked. rows: (query_id, cost, value, whether it was cold)."""

    asked: CostsAsked
    rows: list[tuple[str, str, float, bool]] = dataclasses.field(default_factory=list)

    def add(self, query_id: str, costs: Mapping[str, float], *, is_cold: bool = False) -> None:
        cold = is_cold or self.asked.all_cold
        self.rows += [(query_id, name, costs[name], cold) for name in self.asked.names if name in costs]

    def table(self, measured: str) -> pa.Table:
        return cost_table(self.rows, measured)


def cost_table(rows: Sequence[tuple[str, str, float, bool]], measured: str) -> pa.Table:
    """measured: a clause that says how."""
    columns = [[row[at] for row in rows] for at in range(len(COST))]
    return pa.table(columns, schema=COST).replace_schema_metadata({MEASURED: json.dumps(measured).encode()})


def how_measured(table: pa.Table) -> str:
    return str(json.loads((table.schema.metadata or {}).get(MEASURED, b'""')))


def in_random_order(requests: Sequence[T], seed: int) -> list[T]:
    """The same for the same seed and number of requests."""
    return random.Random(seed).sample(list(requests), len(requests))


def ask_by_turns(asks: Sequence[Ask], query_ids: Sequence[str], names: Sequence[str], seed: int) -> list[CostRecord]:
    """What every query costs each system: one request at a time, the systems by turns.

    In each turn every system is asked one query, in random order; each has its own random order of the queries.
    """
    chance = random.Random(seed)
    orders = [chance.sample(list(query_ids), len(query_ids)) for _ in asks]
    records = [CostRecord(CostsAsked(tuple(names))) for _ in asks]
    for turn in range(len(query_ids)):
        for at in chance.sample(range(len(asks)), len(asks)):
            records[at].add(orders[at][turn], asks[at](orders[at][turn]))
    return records


def refuse_unrecorded(described: Any, names: Iterable[str], where: str) -> None:
    """InputError for a cost that nothing of this kind of place tells."""
    if isinstance(described, FileSource | DatabaseSource):  # whose columns are looked for when they are read
        return
    known: list[str] = []
    if isinstance(described, HttpSource):
        known = [LATENCY, *described.http.costs]
        rule = "is not told by the engine: give its path in the answer, with http: {costs: {NAME: PATH}}"
    elif isinstance(described, PythonSource) and described.per_query:
        known = [LATENCY]
        rule = "is not known of a function: the time of each call is"
    elif isinstance(described, PythonSource):
        rule = "is not known where one call answers all queries: give per_query: true"
    else:
        rule = "is known of files, databases, functions and search engines over HTTP alone"
    for name in names:
        if name not in known:
            told = f" (known are {', '.join(known)})" if known else ""
            raise InputError(f"{where}: costs: {name} {rule}{told}")


def cost_columns(described: Any, names: Sequence[str]) -> tuple[Layout, Any]:
    """The columns of a ranking that costs are read from, and the place with the names of those columns alone."""
    if isinstance(described, FileSource) and isinstance(getattr(described.given, "data", None), Mapping):
        raise InputError(f"{described.shown}: costs are columns of a table, and dictionaries have none: give a table")
    layout = Layout(
        COSTS,
        (Field("query_id", pa.string()), *(Field(name, pa.float64()) for name in names)),
        order=("query_id",),
    )
    return layout, with_columns(described, lambda field: field in layout.schema.names)


def without_cost_columns(described: Any, names: Sequence[str]) -> Any:
    """The place without the names of columns that hold costs: they are no fields of a ranking."""
    return with_columns(described, lambda field: field not in names)


def with_columns(described: Any, is_kept: Callable[[str], bool]) -> Any:
    """The place with the names of some of the columns that it maps."""
    mapped = getattr(described, "columns", None)
    if not mapped or all(map(is_kept, mapped)):
        return described
    found = described.model_copy(update={"columns": {name: mapped[name] for name in mapped if is_kept(name)}})
    if isinstance(described, FileSource):
        found.hold(described.given)
    return found


def costs_of_rows(table: pa.Table, names: Sequence[str], origin: str) -> pa.Table:
    """One row for each query and cost; InputError where the rows of a query say different things."""
    found: dict[tuple[str, str], float] = {}
    query_ids = table["query_id"].to_pylist()
    for name in names:
        for query_id, value in zip(query_ids, table[name].to_pylist(), strict=True):
            if abs(value) > MOST_COST:
                raise InputError(f"{origin}: query {format_value(query_id)}: {name} = {value:g}: must be below 1e300")
            known = found.setdefault((query_id, name), value)
            if known != value:
                raise InputError(
                    f"{origin}: query {format_value(query_id)}: {name} = {known:g} and {value:g}: must be the same in"
                    " every row of a query"
                )
    rows = [(query_id, name, value, False) for (query_id, name), value in found.items()]
    return cost_table(rows, f"read from the column{'s' * (len(names) > 1)} {', '.join(names)}")
