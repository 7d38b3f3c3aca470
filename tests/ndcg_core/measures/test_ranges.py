"""Where the values of a metric lie: by hand, and over every value that the core computes of random rankings."""

import math
import random

import pytest

from ndcg_core.measures.notation import ExternalMetric, parse
from ndcg_core.measures.registry import MEASURES
from ndcg_core.measures.score import Range, Result, score_query, value_range

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


@pytest.mark.parametrize("name", [name for name, entry in MEASURES.items() if entry.is_bounded])
def test_of_shares(name: str) -> None:
    assert value_range(parse(name)) == Range(0.0, 1.0)


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
