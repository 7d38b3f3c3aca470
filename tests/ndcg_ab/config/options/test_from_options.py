"""Options and keys: every option of `compare` that describes the evaluation stands for one key of it."""

from pathlib import Path
from typing import Any

import pytest
import typer

from ndcg_ab.config.loading.file import read_config
from ndcg_ab.config.loading.keys import known_keys
from ndcg_ab.config.options.from_options import (
    OPTIONS,
    Option,
    evaluation_from_arguments,
    evaluation_from_options,
    with_resource_options,
)
from ndcg_ab.errors import InputError
from ndcg_ab.flows.cli.app import app
from tests.sentences import refusal_text

# What the command writes and prints, and how.
OF_THE_COMMAND = {"--json", "--per-query", "--report", "--markdown", "--gate", "--details", "--explain", "--quiet"}
OF_THE_COMMAND |= {"--help-all"}
WITH_ANOTHER = {"--cluster"}  # a column of what --queries names
COMPARE = typer.main.get_command(app).commands["compare"]  # type: ignore[attr-defined]
FILES = {"judgments": "qrels", "system": ["old=old.run", "new=new.run"]}


def evaluated(**options: Any) -> Any:
    return evaluation_from_options(FILES | options)


def test_every_option_has_a_row() -> None:
    options = {option for parameter in COMPARE.params for option in parameter.opts[:1] if option.startswith("--")}
    assert {option.name for option in OPTIONS} == options - OF_THE_COMMAND - WITH_ANOTHER
    assert {option.parameter for option in OPTIONS} <= {str(parameter.name) for parameter in COMPARE.params}


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_its_key_is_one_of_an_evaluation(option: Option) -> None:
    *above, last = option.key.replace("[]", "").split(".")
    assert last in known_keys(tuple(above))


def test_what_is_not_given_is_the_model_s() -> None:
    empty = {name: [] for name in ("secondary", "guardrail", "smallest_effect", "slice", "finding", "more_judgments")}
    places = dict.fromkeys(("queries", "documents", "intended", "cheap_judgments"), "")
    flags = dict.fromkeys(("unweighted", "unclustered", "gate", "strict", "all_pairs"), False)
    assert evaluated() == evaluated(**empty, **places, **flags, alpha=None, require=None)
    assert (evaluated().metrics, evaluated().statistics.alpha) == (["ndcg@10"], 0.05)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"alpha": "2"}, "--alpha = 2: must be below 0.5"),
        ({"alpha": "0.001", "resamples": 150}, "--resamples = 150: p cannot fall"),
        ({"format": "x"}, "--format = 'x': must be 'trec'"),
        ({"scores": ["a=s.csv"], "judgments": None, "system": [], "format": "x"}, "--format = 'x': must be 'csv'"),
        ({"system": ["a b=x.run", "a\tb=y.run"]}, "--system = 'a\\tb': must be printable text"),
        ({"system": ["a=x.run", "a=y.run"]}, "--system: the name 'a' is given twice"),
        ({"baseline": "odl"}, "--baseline = 'odl': must be one of the systems (old, new); did you mean 'old'?"),
        ({"slice": ["language"]}, "--queries: missing; --slice needs a file of queries"),
        ({"require": ["judged=2"]}, "--require judged = 2: must be 1.0 or less; did you mean 0.02?"),
        ({"require": ["slice_regression=.1"]}, "are no slices to look at; name attributes with `--slice`"),
        (
            {"require": ["rr=.1"]},
            "--require: rr: is none of the metrics (ndcg@10); add it with `--secondary rr`, or make",
        ),
        ({"require": ["cg(gain=binary)@5=.1"]}, "`--guardrail 'cg(gain=binary)@5=0.1'`"),
        ({"metric": ["rr"], "guardrail": ["rr=.1"]}, "rr: is given in `--metric` and `--guardrail`; it has one role"),
        ({"guardrail": ["ndcg@10=.1"]}, "has one role: give another primary metric with `--metric`"),
        (
            {"smallest_effect": ["rr=.1"]},
            "rr: is none of the metrics (ndcg@10); add it with `--metric rr` or `--secondary",
        ),
        ({"guardrail": ["rr=0.1", "rr=0.2"]}, "--guardrail: a metric is named twice"),
        ({"smallest_effect": ["0.1", "rr=0.2"]}, "--smallest-effect '0.1': must be METRIC=DIFFERENCE"),
        ({"smallest_effect": ["-1"]}, "--smallest-effect = -1: -1: must be a number above 0"),
    ],
)
def test_a_problem_names_the_option(options: dict[str, Any], said: str) -> None:
    assert said in refusal_text(evaluated, **options)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"slices": ["language"]}, "queries: missing; slices needs a file of queries"),
        ({"gate": {"judged": 2}}, 'gate["judged"] = 2: must be 1.0 or less'),
        (
            {"gate": {"not_worse": {"rr": 0.1}}},
            "`secondary_metrics=['rr']`, or make it a guardrail: `guardrails={'rr': 0.",
        ),
    ],
)
def test_a_problem_names_the_argument(arguments: dict[str, Any], said: str) -> None:
    systems = [{"name": "old", "file": "old.run"}, {"name": "new", "file": "new.run"}]
    assert said in refusal_text(evaluation_from_arguments, {"judgments": "qrels", "systems": systems} | arguments)


def test_options_take_the_place_of_what_a_configuration_says_may_be_used(tmp_path: Path) -> None:
    write = (
        "name: n\njudgments: j\nsystems: [{name: a, file: b}]\nresources: {threads: 3, memory_limit: 2GB, spill: here}"
    )
    (tmp_path / "c.yaml").write_text(write)
    evaluation = read_config(tmp_path / "c.yaml")
    assert evaluation.spill_folder == (tmp_path / "here").resolve()
    found = with_resource_options(evaluation, {"memory_limit": "1GB", "spill": "there"})
    assert (found.resources.threads, found.resources.memory_limit) == (3, "1GB")
    assert found.spill_folder == (Path.cwd() / "there").resolve()
    with pytest.raises(InputError, match=r"^--memory-limit = '10MB': is too little to work with"):
        with_resource_options(evaluation, {"memory_limit": "10MB"})
    with pytest.raises(InputError, match=r"^--threads = 0: must be 1 or more"):
        with_resource_options(evaluation, {"threads": 0})
