"""Which metrics decide: one, unless more are named; files that name roles stay as they are."""

from typing import Any

import pytest
from pydantic import ValidationError

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.options.from_options import evaluation_from_arguments, evaluation_from_options
from ndcg_ab.errors import InputError

TWO = ["ndcg@10", "rr@10"]
GUARD = {"guardrails": {"recall@100": 0.02}}
BASE: dict[str, Any] = {"name": "roles", "judgments": {"file": "q"}, "systems": [{"name": "a", "file": "a"}]}

# keys -> metrics that decide, metrics that describe, those that do only by default
OF_A_FILE: dict[str, tuple[dict[str, Any], list[str], list[str], list[str]]] = {
    "nothing": ({}, ["ndcg@10"], [], []),
    "one": ({"metrics": ["rr"]}, ["rr"], [], []),
    "two": ({"metrics": TWO}, ["ndcg@10"], ["rr@10"], ["rr@10"]),
    "first, said": ({"metrics": TWO, "primary_metrics": "first", **GUARD}, ["ndcg@10"], ["rr@10"], ["rr@10"]),
    "all, said": ({"metrics": TWO, "primary_metrics": "all"}, TWO, [], []),
    "one of two": ({"metrics": TWO, "primary_metrics": ["RR@10"]}, ["rr@10"], ["ndcg@10"], []),
    "one beside the others": ({"metrics": TWO, "primary_metrics": ["rr"]}, ["rr"], TWO, []),
    "primary ones alone": ({"primary_metrics": TWO}, TWO, [], []),
    "secondary ones, too": ({"metrics": TWO, "secondary_metrics": ["rr"]}, TWO, ["rr"], []),
    "guardrails, too": ({"metrics": TWO, **GUARD}, TWO, [], []),
    "all three": (
        {"metrics": TWO, "primary_metrics": ["rr@10"], "secondary_metrics": ["rr"], **GUARD},
        ["rr@10"],
        ["ndcg@10", "rr"],
        [],
    ),
}


def roles(found: Evaluation) -> tuple[list[str], list[str], list[str]]:
    return found.metrics, found.secondary_metrics, found.described_by_default


@pytest.mark.parametrize("what", OF_A_FILE)
def test_roles_of_a_configuration(what: str) -> None:
    """And what is kept of it says the same when it is read again."""
    keys, *wanted = OF_A_FILE[what]
    found = Evaluation.model_validate(BASE | keys)
    assert list(roles(found)) == wanted
    assert roles(Evaluation.model_validate(found.model_dump(mode="json"))) == roles(found)
    every = [metric.name for metric in found.metric_list]
    assert every == [*wanted[0], *wanted[1], *keys.get("guardrails", ())]


def test_of_a_command_and_of_python_the_first_decides_beside_guardrails_too() -> None:
    """``--metric`` again and again asks for more numbers, and for no more ways to fail."""
    files = {"judgments": "q", "system": ["a=a", "b=b"]}
    given = {"metric": TWO, "guardrail": ["recall@100=0.02"]}
    assert roles(evaluation_from_options(files | given)) == (["ndcg@10"], ["rr@10"], ["rr@10"])
    assert roles(evaluation_from_options(files | given | {"primary": ["all"]})) == (TWO, [], [])
    assert roles(evaluation_from_options(files | given | {"primary": ["rr@10"]})) == (["rr@10"], ["ndcg@10"], [])
    assert roles(evaluation_from_options(files | given | {"secondary": ["rr"]})) == (TWO, ["rr"], [])
    arguments = {"judgments": "q", "systems": BASE["systems"], "metrics": TWO, "guardrails": {"recall@100": 0.02}}
    assert roles(evaluation_from_arguments(arguments)) == (["ndcg@10"], ["rr@10"], ["rr@10"])
    assert roles(evaluation_from_arguments(arguments | {"primary_metrics": "all"})) == (TWO, [], [])


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ({"primary_metrics": ["rr"], "secondary_metrics": ["rr"]}, "rr: is given in `primary_metrics` and"),
        ({"metrics": TWO, "guardrails": {"rr@10": 0.1}}, "rr@10: is given in `metrics` and `guardrails`"),
        ({"primary_metrics": "some"}, "must be a list of metrics, or first, or all"),
        ({"primary_metrics": []}, "must be a list of metrics, or first, or all"),
        ({"metrics": TWO, "gate": {"no_drop": {"rr@10": 0.1}}}, "name one, or make it one with `primary_metrics"),
    ],
)
def test_what_is_refused(keys: dict[str, Any], sentence: str) -> None:
    with pytest.raises((ValidationError, InputError)) as refused:
        Evaluation.model_validate(BASE | keys)
    assert sentence in str(refused.value)
