"""Keys that contradict or need each other, cron expressions, and guardrails on what requests cost."""

import re
from typing import Any

import pytest
from pydantic import ValidationError

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.inputs.judgments import JudgmentSource
from ndcg_ab.config.model.inputs.sources import KINDS, System, TableSource
from ndcg_ab.config.model.operation import cron_fault
from ndcg_ab.config.options.from_options import evaluation_from_arguments, evaluation_from_options
from ndcg_ab.errors import InputError

SYSTEMS = [{"name": "old", "file": "old.run"}, {"name": "new", "file": "new.run"}]
RANKED: dict[str, Any] = {"name": "small", "judgments": "qrels", "systems": SYSTEMS}
SCORED: dict[str, Any] = {"name": "small", "scores": "scores.csv", "metrics": ["ndcg@10"]}
JUDGE = {"python": "judging:grade"}
SPARK = {"spark": {"remote": "sc://host:15002"}}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (SCORED | {"judgments": "qrels"}, "judgments: goes with rankings"),
        (SCORED | {"more_judgments": ["qrels"]}, "more_judgments: goes with rankings"),
        (SCORED | {"costs": ["latency_ms"]}, "costs: goes with rankings, and `scores` hold none: take one of the two"),
        (SCORED | {"gate": {"judged": 0.5}}, "gate.judged: is not known of scores"),
        (SCORED | {"gate": {"unanswered": 3}}, "gate.unanswered: is not known of scores"),
        (RANKED | {"more_judgments": [{"table": "t"}], "engine": SPARK}, "more_judgments: are put together on"),
        (RANKED | {"slices": {"by": ["kind"]}}, "queries: missing; slices.by needs a file of queries"),
        (RANKED | {"gate": {"proof": True}}, "gate.proof: no guardrail or margin could be shown to hold; give one"),
        (RANKED | {"careful_unseen": "ids.csv"}, "careful_unseen: goes with `cheap_judgments`"),
        (RANKED | {"judgments": JUDGE}, "queries: missing; the function of judgments"),
        (RANKED | {"systems": [{"name": "bell\a", "file": "a.run"}]}, "must be printable text on one line"),
        (RANKED | {"judgments": JUDGE, "more_judgments": [JUDGE], "queries": "q"}, "more_judgments[0]: judgments"),
        (RANKED | {"judgments": JUDGE, "queries": "q", "cheap_judgments": "c"}, "cheap_judgments: go with"),
    ],
)
def test_what_contradicts_is_refused(content: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(said)):
        Evaluation.model_validate(content)


@pytest.mark.parametrize("model", [System, JudgmentSource, TableSource])
def test_a_key_that_a_kind_needs_is_named(model: type) -> None:
    """For each key of each kind that a place can have, in the sentence of the place."""
    count = 0
    for kind, described in KINDS.items():
        needed = [key for key, field in described.model_fields.items() if field.is_required() and key != kind]
        if kind in model.kinds and needed:
            count += 1
            content = {kind: "sqlite:///a.db"} | ({"name": "a"} if model is System else {})
            with pytest.raises(ValidationError, match=f"the key {' and '.join(needed)} must be given with {kind}"):
                model.model_validate(content)
    assert count


FITS = ("0 2 29 2 *", "0 2 31 apr-may *", "0 2 * * fri#2", "*/5 0-4,8 L jan,7 fri-mon")
FITS_NOT = ("0 24 * * *", "0 2 * * foo", "0 2 * *", "@daily")


@pytest.mark.parametrize("cron", FITS + FITS_NOT)
def test_a_cron_expression_fits(cron: str) -> None:
    assert (cron_fault(cron) is None) == (cron in FITS)


# ---- which metrics decide: one, unless more are named; files that name roles stay as they are


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
    return found.metrics, found.secondary_metrics, found.default_secondary_metrics


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
def test_what_no_role_admits(keys: dict[str, Any], sentence: str) -> None:
    with pytest.raises((ValidationError, InputError), match=re.escape(sentence)):
        Evaluation.model_validate(BASE | keys)


# ---- guardrails on what requests cost are written as those on metrics, and go to a place of their own


def made(**keys: Any) -> Evaluation:
    return Evaluation.model_validate(BASE | keys)


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
