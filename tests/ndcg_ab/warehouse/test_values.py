"""What the queries of `ndcg-ab sql` compute, in six databases, against the Python core.

On the seventh, Spark, a query takes seconds: one is run in the session of tests/ndcg_ab/engines/test_spark.py.
"""

from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import TypeVar

import pytest

from ndcg_ab.errors import InputError
from ndcg_ab.warehouse.dialects import DIALECTS, Tables
from ndcg_ab.warehouse.query import write_query
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.notation import parse
from tests.repeated import mostly_soaked
from tests.strategies import CUTOFFS, numbered
from tests.warehouse_values import ODD, WRONG, Warehouse, all_tables, assert_equal, expected
from tests.warehouses import WAREHOUSES

T = TypeVar("T")

TABLE = "gain={0.3:0.5, 0.7:2, 1:1, 2:8, 3:3.5}"
METRICS = [
    *("ndcg@10", "ndcg", "ndcg@3", "ndcg@25", "ndcg(gain=exponential)@5", f"ndcg({TABLE})@5", "ndcg(gain=binary)@5"),
    *("ndcg(gain=binary, relevant_from=0.7)@5", "ndcg(discount=reciprocal)", "ndcg(discount=none)@4"),
    *("ndcg(discount=jarvelin_kekalainen)@5", "ndcg(discount=jarvelin_kekalainen, discount_base=3)"),
    *("ndcg(ideal=local)@5", "ndcg(ideal=local)", "ndcg(ideal=recall, recall_depth=6)@3"),
    *("ndcg(ideal=recall, ideal_cut=none)@3", "ndcg(ideal=max)@5", "ndcg(ideal=max)", f"ndcg(ideal=max, {TABLE})@5"),
    *("ndcg(ideal=max, max_grade=4, gain=exponential)@5", "ndcg(ideal=max, ideal_cut=returned)@5"),
    *("ndcg(ideal=max, discount=none)", "ndcg(ideal_cut=none)@3", "ndcg(ideal_cut=returned)@10"),
    *("ndcg(ideal_cut=returned)", "ndcg(ties=doc_id_asc)@5", "ndcg(ties=average)@5", "ndcg(ties=given)@5"),
    *("ndcg(ties=average, ideal=local)@3", "ndcg(ties=average, ideal=recall, recall_depth=7)@3"),
    *("ndcg(score_precision=float32)@5", "ndcg(unjudged=condense, ties=average)@5", "ndcg(unjudged=condense)@5"),
    *("ndcg(unjudged=condense, negative=unjudged)@5", "ndcg(unanswered=exclude)@5", "ndcg(no_relevant=zero)@5"),
    *("ndcg(no_relevant=one)@5", "ndcg(duplicates=first)@5", "ndcg(duplicates=first, ties=given)@5"),
    "ndcg(unanswered=exclude, no_relevant=one, unjudged=condense, ties=doc_id_asc, score_precision=float32)",
    *(
        "dcg@5",
        "dcg(gain=exponential)@30",
        "dcg",
        "cg@5",
        "cg",
        "precision@5",
        "precision",
        "precision(ties=average)@3",
    ),
    *("recall@5", "recall", "recall(relevant_from=0.7)@5", "rr@5", "rr", "rr(relevant_from=2)", "accuracy@1"),
    *("accuracy(relevant_from=2)", "judged@5", "judged(no_relevant=one)", "judged(ties=average)@2"),
    "judged(unjudged=condense)@3",
    *("ap@3", "ap", "ap(relevant_from=2)", "rbp", "rbp(persistence=0.5)@25", "rbp(ties=average)@3", "err@5", "err"),
    *("err(max_grade=4)@3", "rprec", "rprec(ties=average)", "bpref", "bpref(relevant_from=2)", "infap"),
    *("infap(relevant_from=0.7)", "infap(unjudged=condense)", "ap(no_relevant=one)@3"),
]
SLOW = [name for name in WAREHOUSES if name != "sqlite"]

REFUSED = {
    "ndcg@10": {"contradicting", "no number", "infinite", "twice"},
    "precision(duplicates=first)@1": {"contradicting", "no number", "infinite"},
    "ndcg(negative=error)@10": {"contradicting", "no number", "infinite", "twice", "below"},
    "ndcg(gain={1:1, 2:2})@10": {"contradicting", "no number", "infinite", "twice", "unlisted"},
    "ndcg(ideal=max, max_grade=4)@10": {"contradicting", "no number", "infinite", "twice", "unlisted"},
    "infap": {"contradicting", "no number", "infinite", "twice"},
    "err(max_grade=4)@10": {"contradicting", "no number", "infinite", "twice", "unlisted"},
    "err@10": {"contradicting", "no number", "infinite", "twice"},
    "ndcg(ideal=max, gain={1:1, 2:2})@10": set(WRONG),  # what every place holds cannot be told
}


@pytest.fixture(
    scope="module", params=[pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in WAREHOUSES]
)
def warehouse(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    with WAREHOUSES[request.param](all_tables(), tmp_path_factory.mktemp(request.param)) as run:
        yield Warehouse(request.param, run)


def share(warehouse: Warehouse, every: Sequence[T]) -> Sequence[T]:
    """All for SQLite; of the other databases, which take longer, each has its share."""
    return every[SLOW.index(warehouse.name) :: len(SLOW)] if warehouse.name in SLOW else every


def assert_ours(warehouse: Warehouse, metric: Metric, name: str) -> None:
    if metric.score_precision == "double" or DIALECTS[warehouse.name].real32:
        assert_equal(warehouse.values(metric), name)


@pytest.mark.parametrize("is_shared", mostly_soaked([True, False], kept=[True]))
def test_every_value_is_ours(warehouse: Warehouse, is_shared: bool) -> None:
    for name in share(warehouse, METRICS) if is_shared else METRICS:
        assert_ours(warehouse, parse(name), name)


def drawn(count: int) -> list[Metric]:
    """Metrics in combinations that nobody thought of; but those that refuse the data."""
    found = {metric.name: metric for number in range(count) for metric in [numbered(number, CUTOFFS)]}
    return [each for each in found.values() if each.negative != "error" or "negative" not in each.choices()]


@pytest.mark.parametrize("count", mostly_soaked([40, 400], kept=[40]))
def test_any_metric(warehouse: Warehouse, count: int) -> None:
    for metric in share(warehouse, drawn(count)) if count == 40 else drawn(count):
        assert_ours(warehouse, metric, metric.name)


def test_what_is_refused_has_no_value(warehouse: Warehouse) -> None:
    tables = Tables("wrong_judgments", "wrong_rankings")
    for name, wrong in REFUSED.items():
        found = warehouse.values(parse(name), tables)
        # SQLite has a null for what is no number, which is no judgment.
        refused = wrong - {"no number"} if warehouse.name == "sqlite" and wrong != set(WRONG) else wrong
        assert {query for (_, query), value in found.items() if value is None} == refused, name
        assert found["new", "right"] or "right" in wrong, name


def test_the_mean_and_that_of_refused_values_is_none(warehouse: Warehouse) -> None:
    metric = parse("ndcg(unanswered=exclude)@5")
    found = {system: (value, count) for system, value, count in warehouse.rows(metric, mean=True)}
    wanted: dict[str, list[float]] = {}
    for (system, _), value in expected("ndcg(unanswered=exclude)@5").items():
        wanted.setdefault(system, []).append(value)
    assert {system: count for system, (_, count) in found.items()} == {name: len(all_) for name, all_ in wanted.items()}
    for system, values in wanted.items():
        assert float(found[system][0]) == pytest.approx(fmean(values), rel=1e-12)
    rows = warehouse.rows(parse("ndcg@10"), Tables("wrong_judgments", "wrong_rankings"), mean=True)
    assert rows == [("new", None, len(WRONG))]


def test_names_of_every_kind(warehouse: Warehouse) -> None:
    """Capitals, words of SQL, blanks and quotation marks; and systems with a table of their own."""
    judged = {field: ODD[field] for field in ("query_id", "doc_id", "grade")}
    columns = {field: ODD[field] for field in ("system_id", "query_id", "doc_id", "score")}
    tables = Tables("odd_judgments", "odd_rankings", judgments_columns=judged, columns=columns)
    assert_equal(warehouse.values(parse("ndcg@3"), tables), "ndcg@3")
    each_its_own = Tables("wrong_judgments", systems={"a": "wrong_rankings", "b c": "wrong_rankings"})
    found = warehouse.values(parse("ndcg@3"), each_its_own)
    assert found["a", "right"] == found["b c", "right"] == 1.0
    assert {system for system, _ in found} == {"a", "b c"}


def test_what_cannot_be_said() -> None:
    for name in ("sqlite", "snowflake", "bigquery"):
        with pytest.raises(InputError, match="score_precision = float32 cannot be said in"):
            write_query(parse("ndcg(score_precision=float32)@10"), name)
