"""The worked examples of the definitions, from the SQL and from the core; where the values of a metric lie."""

import functools
import math
import random

import pytest

from ndcg_core.measures.metric import MetricError
from ndcg_core.measures.notation import ExternalMetric, parse
from ndcg_core.measures.registry import MEASURES
from ndcg_core.measures.score import Range, RankedDoc, Result, discount, gain, order_results, score_query, value_range
from tests.laboratory import Case, both_of_cases, both_values, in_order


def ids(ranking: list[RankedDoc]) -> list[str]:
    return [document.doc_id for document in ranking]


GRADED = {"q": {"a": 3, "b": 1, "c": 2, "d": 0, "e": 1}}
STAR = {"q": {"the movie": 1.0, "Zoolander 2": 0.9, "Stiller photo": 0.7, "helicopter": 0.1, "doggy": 0.1}}
FIRST = in_order("helicopter", "the movie", "Stiller photo")
SECOND = in_order("the movie", "doggy", "Zoolander 2")


TAUGHT, OTHER = {"a": 3, "b": 3, "c": 2, "d": 2, "e": 0}, {"a": 0, "b": 2, "c": 3, "d": 1, "e": 3}
WORKED = [  # and the value, and the digits that are printed
    (Case(GRADED["q"], in_order(*"abcde"), "dcg"), 5.018, 3),
    (Case(GRADED["q"], in_order(*"abcde"), "ndcg"), 0.966, 3),
    (Case(TAUGHT, in_order(*"abcde"), "cg@5"), 10, 9),
    (Case(TAUGHT, in_order(*"abcde"), "dcg(discount=reciprocal)"), 5.667, 3),
    (Case(TAUGHT, in_order(*"abcde"), "dcg(discount=jarvelin_kekalainen)"), 8.262, 3),
    (Case(OTHER, in_order(*"abcde"), "dcg(discount=jarvelin_kekalainen)"), 5.685, 3),
    (Case(OTHER, in_order(*"abcde"), "ndcg(discount=jarvelin_kekalainen)"), 0.732, 3),
    (Case(STAR["q"], FIRST, "dcg(discount=reciprocal)@2"), 0.6, 9),
    (Case(STAR["q"], FIRST, "ndcg(discount=reciprocal, ideal=local)@2"), 0.6 / 1.05, 9),
    (Case(STAR["q"], FIRST, "ndcg(discount=reciprocal, ideal=recall)@2"), 0.6 / 1.35, 9),
    (Case(STAR["q"], FIRST, "ndcg(discount=reciprocal, ideal=global)@2"), 0.6 / 1.45, 9),
    (Case(STAR["q"], FIRST, "ndcg(discount=reciprocal, ideal=max)@2"), 0.6 / 1.5, 9),
    (Case(STAR["q"], SECOND, "dcg(discount=reciprocal)@3"), 1.35, 9),
]


@functools.cache
def worked() -> list[tuple[float, float]]:
    return both_of_cases([case for case, *_ in WORKED])


@pytest.mark.parametrize("document", range(len(WORKED)), ids=lambda document: WORKED[document][0].metric)
def test_worked_examples(document: int) -> None:
    _, value, digits = WORKED[document]
    for computed in worked()[document]:
        assert computed == pytest.approx(value, abs=0.5 * 10**-digits)


def test_equal_scores_are_ordered_by_id_as_bytes_descending() -> None:
    # As bytes, "z" (7a) < "é" (c3 a9) < "€" (e2 82 ac) < "𝄞" (f0 9d …), which UTF-16 would order before "€" … "\uffff".
    tied = [Result(doc_id, 1.0) for doc_id in ("z", "é", "€", "𝄞", "\uffff", "Z", "10", "9")]
    expected = ["𝄞", "\uffff", "€", "é", "z", "Z", "9", "10"]
    assert ids(order_results(tied)) == expected
    assert {document.first_rank for document in order_results(tied)} == {1}
    ascending = parse("ndcg(ties=doc_id_asc)")
    assert ids(order_results(tied, ascending)) == expected[::-1]
    falling = {doc_id: document for document, doc_id in enumerate(reversed(expected))}
    rising = {doc_id: document for document, doc_id in enumerate(expected)}
    assert both_of_cases([Case(falling, tied, "ndcg"), Case(rising, tied, ascending.name)]) == [(1.0, 1.0)] * 2


def test_minus_zero_and_zero_are_one_score() -> None:
    orders = ([Result("a", 0.0), Result("b", -0.0)], [Result("a", -0.0), Result("b", 0.0)])
    assert both_of_cases([Case({"a": 0, "b": 1}, order, "ndcg@1") for order in orders]) == [(1.0, 1.0)] * 2


def test_a_ranking_without_scores_is_ordered_by_its_ranks() -> None:
    judgments = {"q": {"a": 1, "b": 0, "c": 0}}
    ranked = [Result("c", None, 2), Result("a", None, 10), Result("b", None, 2)]
    assert ids(order_results(ranked)) == ["c", "b", "a"]
    assert both_values(judgments, ranked, "rr") == (1 / 3, 1 / 3)


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ([Result("a", 1.0), Result("a", 2.0)], "comes twice"),
        ([Result("a", 1.0), Result("b", None, 1)], "some results have a score"),
        ([Result("a")], "does not have either a score or a rank"),
    ],
)
def test_the_core_refuses_what_has_no_order(returned: list[Result], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        order_results(returned)


def test_a_grade_that_a_gain_table_lacks_is_named() -> None:
    with pytest.raises(MetricError, match=r"no entry for grade 2"):
        score_query(parse("ndcg(gain={1:1})@3"), in_order("a"), {"a": 2})


def test_gain_and_discount_by_hand() -> None:
    assert [gain(parse("ndcg(gain=exponential)"), grade) for grade in (-2, 0, 1, 2, 3)] == [0, 0, 1, 3, 7]
    assert gain(parse("ndcg(gain=exponential)"), 0.7) == pytest.approx(0.624504792712471, abs=1e-15)
    assert gain(parse("ndcg"), 0.7) == 0.7
    metric = parse("ndcg(discount=jarvelin_kekalainen, discount_base=10)")
    assert [discount(metric, rank) for rank in (1, 9, 10)] == [1, 1, 1]
    assert discount(metric, 100) == pytest.approx(0.5, abs=1e-15)
    assert discount(parse("cg"), 7) == 1.0


def test_rbp_of_equal_scores_is_cwl_evals_in_the_order_given() -> None:
    """0.40992 is what cwl-eval 1.0.12 gives (`ir_measures QRELS RUN "RBP(p=0.8,rel=1)"`) for these lines."""
    judgments = {"a": 0.0, "b": 1.0, "c": 2.0, "e": 1.0}
    given = [
        Result(doc, score, rank) for rank, (doc, score) in enumerate(zip("bacde", (3, 3, 3, 1, 1), strict=True), 1)
    ]
    assert score_query(parse("rbp(ties=given)"), given, judgments) == pytest.approx(0.40992, abs=1e-12)
    assert score_query(parse("rbp"), given, judgments) == pytest.approx(
        0.2 * (1 + 0.8 + 0.8**3), abs=1e-12
    )  # c, b, a, e


# ---- where the values of a metric lie: by hand, and over every value that the core computes of random rankings


DCG = {  # by hand, with a highest grade of 3
    "cg(gain=binary)@10": 10.0,
    "cg@4": 12.0,
    "dcg@1": 3.0,
    "dcg@2": 3 + 3 / math.log2(3),
    "dcg(gain=exponential)@1": 7.0,
    "dcg(gain={1:0.5, 2:0.25, 3:0.125})@1": 0.5,
    "dcg(gain={1:0.5, 2:0.25, 3:0.125}, no_relevant=one)@1": 1.0,
    "dcg(gain=binary, discount=reciprocal)@3": 1 + 1 / 2 + 1 / 3,
}


@pytest.mark.parametrize(("name", "high"), DCG.items())
def test_of_gains(name: str, high: float) -> None:
    found = value_range(parse(name), 3.0)
    assert found is not None and found.low == 0 and found.high == pytest.approx(high, abs=1e-12)


@pytest.mark.parametrize("name", ["dcg", "dcg@10", "cg(gain=exponential)@3", "ndcg(ideal=local, ties=average)@3"])
def test_it_is_not_known(name: str) -> None:
    assert value_range(parse(name)) is None


def test_of_another_tool_s() -> None:
    names = ("nDCG@10", "-ndcg@10", "P_5", "clicks", "dcg", "gm_map")
    found = [value_range(ExternalMetric(external_name=name)) for name in names]
    assert found == [Range(0.0, 1.0), Range(-1.0, 0.0), Range(0.0, 1.0), None, None, None]


def test_no_value_lies_outside() -> None:
    draw = random.Random(21)
    names = [f"{name}@3" if entry.has_cutoff else name for name, entry in MEASURES.items()]
    names += [*DCG, "ndcg(ideal=max)@2", "rr(no_relevant=one)", "ndcg(ties=average)@2", "ndcg(ideal=recall)@2"]
    reached = dict.fromkeys(names, 0.0)
    for _ in range(150):
        docs = [f"d{number}" for number in range(6)]
        judgments = {doc: float(draw.choice([-1, 0, 1, 2, 3, 3])) for doc in docs[:5]} | {"other": 3.0}
        results = [Result(doc, float(draw.randint(0, 3)), None) for doc in draw.sample(docs, draw.randint(0, 6))]
        for name in names:
            metric = parse(name)
            value, known = score_query(metric, results, judgments, 3.0), value_range(metric, 3.0)
            if value is not None:
                assert known is not None and known.low <= value <= known.high + 1e-12, name
                reached[name] = max(reached[name], value)
    assert reached["dcg@1"] == 3.0 and reached["ndcg@3"] > 0.9
