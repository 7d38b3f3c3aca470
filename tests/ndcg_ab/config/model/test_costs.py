"""Guardrails on what requests cost are written as those on metrics, and go to a place of their own."""

import re
from typing import Any

import pytest
from pydantic import ValidationError

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.options.from_options import evaluation_from_options
from ndcg_ab.errors import InputError

USUAL: dict[str, Any] = {"name": "n", "judgments": "j", "systems": [{"name": "a", "file": "a"}]}


def made(**keys: Any) -> Evaluation:
    return Evaluation.model_validate(USUAL | keys)


def test_a_guardrail_on_a_cost_is_no_guardrail_on_a_metric() -> None:
    found = made(guardrails={"recall@10": 0.02, "latency_ms@p95": 20, "tokens@mean": 3.5})
    assert found.guardrails == {"recall@10": 0.02}
    assert found.costs.guardrails == {"latency_ms@p95": 20.0, "tokens@mean": 3.5}
    assert found.costs.names == ["latency_ms", "tokens"], "what it names is recorded"
    assert [metric.name for metric in found.metric_list] == ["ndcg@10", "recall@10"]
    assert Evaluation.model_validate(found.model_dump()) == found


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"guardrails": {"latency_ms@p100": 1}}, "'p100': must be mean or a percentile from p1 to p99.999, as p95"),
        ({"guardrails": {"latency_ms@p95": 0}}, "latency_ms@p95: 0: must be a number above 0"),
        ({"guardrails": {"score@p95": 1}}, "'score': the name of a cost has letters, digits and _"),
        ({"costs": {"guardrails": {"latency_ms": 2}}}, "'latency_ms': must be COST@STATISTIC, as latency_ms@p95"),
        (
            {"costs": {"guardrails": {"a@p95": 2}}, "guardrails": {"a@p95": 3}},
            "a@p95 is named twice, in guardrails and in costs.guardrails",
        ),
        (
            {"guardrails": {"total_tokens": 3}},
            "guardrails: 'total_tokens': a guardrail on a cost is COST@mean or, for a percentile, COST@p95; write"
            " `guardrails: {total_tokens@p95: 3}`",
        ),
        ({"guardrails": {"cpu@95": 3}, "costs": ["cpu"]}, "write `guardrails: {cpu@p95: 3}`"),
        ({"costs": {"warm_up": 3, "by_turns": True}}, "warm_up: by_turns asks every query once before it counts"),
        (
            {"guardrails": {"latency_ms@p95": "10%"}},
            "latency_ms@p95: '10%': must be a number above 0, in the unit of the cost, such as 20",
        ),
    ],
)
def test_what_is_refused(keys: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(said)):
        made(**keys)


def test_an_option_is_named_by_what_was_typed() -> None:
    options = {"judgments": "j", "system": ["a=a", "b=b"]}
    assert evaluation_from_options(options | {"guardrail": ["latency_ms@p95=20"]}).costs.guardrails == {
        "latency_ms@p95": 20.0
    }
    assert evaluation_from_options(options | {"cost": ["price"]}).costs.names == ["price"]
    for typed, said in (
        ("latency_ms@p0=20", "--guardrail: 'p0': must be mean or a percentile"),
        ("latency_ms@95=20", "--guardrail: 'latency_ms@95': a .* write `--guardrail latency_ms@p95=20`"),
        ("latency_ms@p95=10%", "--guardrail: latency_ms@p95: '10%': must be a number above 0, in the unit of the"),
        ("latency_ms@p95", "must be COST@STATISTIC=DIFFERENCE; say --guardrail latency_ms@p95=20 for a difference"),
    ):
        with pytest.raises(InputError, match=said):
            evaluation_from_options(options | {"guardrail": [typed]})
