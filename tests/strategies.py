"""Random metrics, judgments and rankings for the property tests."""

import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

from ndcg_core.measures.metric import POLICIES, VALUES, Metric
from ndcg_core.measures.registry import MEASURES
from ndcg_core.measures.score import Result

DOCUMENTS = [f"d{number}" for number in range(8)] + ["D1", "é", "€", "𝄞", "007", "with space", "'quoted'"]
QUERIES = ["q1", "q2", "q10", "Q1", "q é", "q3", "q4", "q5"]
GRADES = st.sampled_from([-2.0, -1.0, 0.0, 0.0, 0.3, 0.7, 1.0, 1.0, 2.0, 3.0, 4.0])
# Ties of every kind; the last ones are tied as 32-bit floats only, or lie beyond them.
SCORES = st.sampled_from([0.0, -0.0, 0.5, 0.5, 1.0, 1.0, 2.0, 1.00000001, 16777216.0, 16777217.0, 1e300, 2e300, -1e300])
SCORES |= st.floats(-100, 100, allow_nan=False)
RANKS = st.integers(1, 9)
TABLES = (
    ((0.3, 0.0), (0.7, 2.0), (1.0, 1.0), (2.0, 8.0), (3.0, 3.5), (4.0, 100.0)),
    ((-1.0, 0.0), (0.0, 0.0), (0.3, 1.0), (0.7, 1.0), (1.0, 0.0), (2.0, 2.0), (3.0, 2.0), (4.0, 2.5)),
)
CUTOFFS = (None, 1, 2, 3, 5, 10, 1000)
FEW_POLICIES = [few for size in (0, 1, 2) for few in itertools.combinations(POLICIES, size)]
Choose = Callable[[Sequence[Any]], Any]


def any_metric(choose: Choose, cutoffs: Sequence[int | None] = CUTOFFS) -> Metric:
    """Any metric that can be written, with at most two policies that are not the default.

    choose: takes one of a sequence.
    """
    measure = choose(("ndcg", "ndcg", "ndcg", *MEASURES))
    fields: dict[str, Any] = {"measure": measure, "cutoff": choose(cutoffs)}
    if measure in ("ndcg", "dcg", "cg"):
        fields["gain"] = choose((*VALUES["gain"], *TABLES, *TABLES))
    if measure in ("ndcg", "dcg"):
        fields["discount"] = choose(VALUES["discount"])
        if fields["discount"] == "jarvelin_kekalainen":
            fields["discount_base"] = choose((2.0, 3.0, 10.0))
    if measure == "ndcg":
        fields["ideal"] = choose(VALUES["ideal"])
        fields["ideal_cut"] = choose(VALUES["ideal_cut"])
        if fields["ideal"] == "max":
            fields["max_grade"] = choose((None, 4.0))
            fields["ideal_cut"] = choose(("cutoff", "returned"))
        if fields["ideal"] == "recall":
            cutoff = fields["cutoff"]
            fields["recall_depth"] = choose((None, cutoff, cutoffs[-1])) if cutoff else None
    if measure == "err":
        fields["max_grade"] = choose((None, 4.0))
    if measure == "rbp":
        fields["persistence"] = choose((0.8, 0.5, 0.95))
    if measure in ("rprec", "bpref", "infap"):
        del fields["cutoff"]
    if fields.get("gain") == "binary" or (MEASURES[measure].gain == "binary"):
        fields["relevant_from"] = choose((None, 0.7, 1.0, 2.0))
    for policy in choose(FEW_POLICIES[:1] * len(POLICIES) + FEW_POLICIES):
        fields[policy] = choose(VALUES[policy])
    if not MEASURES[measure].is_additive and fields.get("ties") == "average":
        del fields["ties"]
    if measure == "bpref":
        fields |= {"unjudged": "zero", "negative": "error" if fields.get("negative") == "error" else "zero"}
    elif fields.get("negative") == "unjudged":
        fields["unjudged"] = "condense"
    return Metric(**fields)


@st.composite
def metrics(draw: st.DrawFn) -> Metric:
    """Any metric, drawn choice by choice: a failing one is made as simple as it can be."""
    return any_metric(lambda options: draw(st.sampled_from(options)))


class Many(list[Metric]):
    """Too many to be printed: a test that fails names the one."""

    def __repr__(self) -> str:
        return f"<{len(self)} metrics>"


@st.composite
def many_metrics(draw: st.DrawFn, size: int) -> Many:
    """Many different metrics at once, each drawn as one number, which takes a tenth of the time.

    Every third time none of them looks deeper than three ranks: the SQL ranks no more than is looked at.
    """
    cutoffs: Sequence[int | None] = draw(st.sampled_from([CUTOFFS, CUTOFFS, (1, 2, 3)]))
    numbers = draw(st.lists(st.integers(0, 10**6), min_size=size, max_size=size, unique=True))
    found = {metric.name: metric for number in numbers for metric in [numbered(number, cutoffs)]}
    return Many(metric for metric in found.values() if cutoffs is CUTOFFS or (metric.depth or 4) <= 3)


def numbered(number: int, cutoffs: Sequence[int | None]) -> Metric:
    """The metric that belongs to a number."""
    return any_metric(random.Random(number).choice, cutoffs)


def scored() -> st.SearchStrategy[list[Result]]:
    """Results with scores and ranks that need not agree."""
    found = st.dictionaries(st.sampled_from(DOCUMENTS), st.tuples(SCORES, RANKS), max_size=9)
    return found.map(lambda rows: [Result(doc_id, score, rank) for doc_id, (score, rank) in rows.items()])


def ranked() -> st.SearchStrategy[list[Result]]:
    """Results without scores, some with one rank twice."""
    found = st.dictionaries(st.sampled_from(DOCUMENTS), RANKS, max_size=9)
    return found.map(lambda ranks: [Result(doc_id, None, rank) for doc_id, rank in ranks.items()])


def rankings() -> st.SearchStrategy[dict[str, list[Result]]]:
    return st.dictionaries(st.sampled_from([*QUERIES, "unjudged"]), scored() | ranked(), min_size=3, max_size=9)


JUDGMENTS = st.dictionaries(
    st.sampled_from(QUERIES), st.dictionaries(st.sampled_from(DOCUMENTS), GRADES, min_size=1), min_size=5
)
