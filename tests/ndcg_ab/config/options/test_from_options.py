"""Options and keys, and files without options: which is which, what it is called, and what is refused."""

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
from ndcg_ab.config.options.positional import (
    assign_files,
    distinct_names,
    expand_patterns,
    parse_named_files,
    systems_by_name,
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


def placed(**options: Any) -> tuple[str, list[tuple[str, str]]]:
    found = assign_files(options, "compare")
    return found["judgments"], [(name, file) for name, file, _ in found["system"]]


def test_the_first_is_the_judgments_and_the_others_are_rankings() -> None:
    expected = ("q.qrels", [("old", "runs/old.run"), ("new", "runs/new.run.gz")])
    files = ["runs/old.run", "runs/new.run.gz"]
    assert placed(files=["q.qrels", *files]) == expected
    assert placed(files=files, judgments="q.qrels") == expected
    assert placed(judgments="q.qrels", system=files) == expected
    assert placed(files=["q.qrels"], system=["old=runs/old.run", files[1]]) == expected


@pytest.mark.parametrize(
    ("files", "names"),
    [
        (["bm25.run", "bm25.v2.run.gz"], ["bm25", "bm25.v2"]),
        (["old/test.run", "new/test.run"], ["old", "new"]),
        (["a/bm25.run", "b/bm25.run", "b/dense.run"], ["a-bm25", "b-bm25", "b-dense"]),
        (["x/old/test.run", "y/old/test.run"], ["test", "test-2"]),
        (["s3://bucket/nights/new.run?version=3", "C:\\runs\\old.csv"], ["new", "old"]),
    ],
)
def test_names_are_the_plainest_that_tell_files_apart(files: list[str], names: list[str]) -> None:
    assert distinct_names(files) == names


@pytest.mark.parametrize("name", ["bm25_k1=0.9.run", "a=b=c.run", "=x.run", "x=.run", "k1=0.9,b=0.4.csv.gz"])
def test_a_file_name_may_hold_equals_signs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    for path in (Path(name), Path("runs") / name):
        path.touch()
        for placing in ({"files": ["q", str(path)]}, {"judgments": "q", "system": [str(path)]}):
            assert [file for _, file in placed(**placing)[1]] == [str(path)]
        assert placed(judgments="q", system=[f"my={path}"])[1] == [("my", str(path))]
    assert parse_named_files(["gone/k=1.run"])[0][1] == "gone/k=1.run", "a folder is in no name"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"files": ["a.run", "b.run"], "system": ["o=o.run"]}, "b.run: is no option; say --system b=b.run, or give"),
        ({"files": ["b.run"], "system": ["o=o.run"], "judgments": "q"}, "b.run: is no option; say --system b=b.run"),
        ({"files": ["n=b.run"], "system": ["o=o.run"]}, "n=b.run: is no option; say --system n=b.run"),
        ({"files": ["q=q.qrels", "b.run"]}, "q=q.qrels: the first file is the judgments, without a name: JUDGMENTS"),
        ({"files": ["new.eval"], "scores": ["old.eval"]}, "new.eval: is no option; say --scores new.eval"),
        ({"files": ["q.qrels"]}, "--system: is missing: give the files, ndcg-ab compare JUDGMENTS BASELINE CANDIDATE…"),
        ({}, "--judgments: is missing: give the files, ndcg-ab compare JUDGMENTS"),
    ],
)
def test_what_cannot_be_told_is_refused(options: dict[str, Any], message: str) -> None:
    assert refusal_text(assign_files, options, "compare").startswith(message)


def test_a_system_named_twice_is_refused() -> None:
    assert systems_by_name(["a.run", "b=b.run"]) == {"a": Path("a.run"), "b": Path("b.run")}
    with pytest.raises(InputError, match="the name 'a' is given twice"):
        systems_by_name(["a=x.run", "a=y.run"])


def test_a_pattern_is_one_table_with_a_name_and_several_files_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    for name in ("runs/b.run", "runs/a.run", "runs/.hidden.run", "q.qrels", "[x].run"):
        (tmp_path / name).touch()
    pattern, address = "runs/*.run", "s3://bucket/*.run"
    matching = ["runs/a.run", "runs/b.run"]
    assert [*expand_patterns(["q.qrels", pattern, "[x].run", address])] == ["q.qrels", *matching, "[x].run", address]
    assert placed(files=["q.qrels", pattern]) == ("q.qrels", [("a", matching[0]), ("b", matching[1])])
    assert parse_named_files([f"p={pattern}", "f=runs", pattern, "g=[x].run", f"o={address}"]) == [
        ("p", pattern, True),
        ("f", "runs", True),
        ("a", matching[0], False),
        ("b", matching[1], False),
        ("g", "[x].run", False),
        ("o", address, False),
    ]
    with pytest.raises(InputError, match=r"^runs/\*.csv: no file matches it; in runs there is a.run"):
        parse_named_files(["runs/*.csv"])
    with pytest.raises(InputError, match=r"^--system runs: is a folder: if it is one table, say --system runs=runs"):
        systems_by_name(["runs"])
