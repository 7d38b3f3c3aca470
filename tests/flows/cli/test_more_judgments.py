"""More files of judgments and several judges, by the command, in Python, in a configuration and in kept evaluations."""

import functools
import json
from pathlib import Path
from typing import Any

import pytest

import ndcg_ab
from ndcg_ab.api.comparing import evaluate
from ndcg_ab.config.loading.file import read_config
from ndcg_ab.engines.duckdb import StoredTables
from ndcg_ab.history.bundle import read_bundle
from tests.commands import compare_command, invoke, read_json
from tests.inputs import write_rankings
from tests.small_evaluation import calling, is_known, no_tracker, perform_run, plain_page

pytestmark = pytest.mark.slow

QUERIES = 30
COLUMNS = "query_id,doc_id,grade,judge,source"


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two systems over 30 queries; whole: the judgments in one file of TREC, which the others are parts of."""
    folder = tmp_path_factory.mktemp("more")
    changed = {f"q{query:02d}": "bacd" if query % 5 else "abcd" for query in range(QUERIES)}
    write_rankings(folder, {"old": dict.fromkeys(changed, "abcd"), "new": changed})
    whole = {(f"q{query:02d}", doc): grade for query in range(QUERIES) for doc, grade in (("a", 1), ("b", 2), ("d", 1))}
    first = {key: 1 if key == ("q07", "b") else grade for key, grade in whole.items() if key[1] != "d"}
    second = {key: grade for key, grade in whole.items() if key[1] == "d"} | {("q07", "b"): 2, ("q08", "b"): 2}
    for name, grades in (("whole", whole), ("first", first)):
        (folder / name).write_text("".join(f"{query} 0 {doc} {grade}\n" for (query, doc), grade in grades.items()))
    rows = [f"{query},{doc},{grade},ann,clicks" for (query, doc), grade in second.items()]
    (folder / "second.csv").write_text("\n".join([COLUMNS, *rows]) + "\n")
    judged = [f"{q},{doc},{grade},{who},pool" for (q, doc), grade in whole.items() for who in ("ann", "bob", "cy")]
    (folder / "agreed.csv").write_text("\n".join([COLUMNS, *judged]) + "\n")
    (folder / "odd.csv").write_text("\n".join([COLUMNS, *judged]).replace("q03,b,2,cy", "q03,b,0,cy") + "\n")
    return folder


@functools.cache
def content(inputs: Path, judgments: str, *options: str) -> dict[str, Any]:
    made: dict[str, Any] = read_json(compare_command(inputs, "--metric", "ndcg@3", *options, judgments=judgments))
    return made


@pytest.fixture(scope="module")
def expected(inputs: Path) -> dict[str, Any]:
    return without_parts_on_sources(content(inputs, "whole"))


def without_parts_on_sources(made: dict[str, Any], *codes: str) -> dict[str, Any]:
    """Return the JSON without the parts that only describe several files and judges."""
    ledger = [row for row in made["ledger"] if row["stage"] != "judgments"]
    findings = [row for row in made["findings"] if row["code"] not in codes]
    return made | {"judges": None, "findings": findings, "ledger": ledger}


def test_two_files_are_as_one(inputs: Path, expected: dict[str, Any]) -> None:
    made = content(inputs, "first", "--more-judgments", "{}/second.csv")
    assert made["judges"] is None and without_parts_on_sources(made, "more_judgments") == expected
    (told,) = [row for row in made["findings"] if row["code"] == "more_judgments"]
    assert told["message"] == (
        "judgments: second.csv: adds 30, changes 1 and leaves 1 of those before it (judgments_precedence = last) (such"
        " as query 'q07', document 'b': 1 is now 2)"
    )
    assert (told["severity"], told["count"]) == ("note", 31)
    assert content(inputs, "first", "--more-judgments", "{}/second.csv", "--judgments-precedence", "first") != made


def test_judges_who_agree_are_as_one_and_those_who_do_not_need_a_rule(inputs: Path, expected: dict[str, Any]) -> None:
    made = content(inputs, "agreed.csv")
    assert without_parts_on_sources(made, "several_judges") == expected
    made = content(inputs, "odd.csv", "--combine", "majority")
    assert without_parts_on_sources(made, "several_judges") == expected
    (told,) = [row for row in made["findings"] if row["code"] == "several_judges"]
    assert told["message"] == (
        "judgments: 90 documents are judged by several of 3 judges, who disagree on 1: majority counts"
    )
    assert content(inputs, "odd.csv", "--combine", "mean")["comparisons"] != expected["comparisons"]


def test_judges_who_disagree_need_a_rule(inputs: Path) -> None:
    found = invoke(compare_command(inputs, "--metric", "ndcg@3", judgments="odd.csv"))
    assert found.exit_code == 2 and "where judges disagree, say what counts: --combine majority, median" in found.stderr


def test_the_same_in_python(inputs: Path, expected: dict[str, Any]) -> None:
    runs = {name: str(inputs / f"{name}.run") for name in ("old", "new")}
    more = [{"q07": {"b": 2}}, {f"q{query:02d}": {"d": 1} for query in range(QUERIES)}]
    found = ndcg_ab.compare(str(inputs / "first"), runs, more_judgments=more, metrics="ndcg@3")
    assert json.loads(found.to_json())["comparisons"] == expected["comparisons"]
    with pytest.raises(ndcg_ab.InputError, match=r"^more_judgments: goes with rankings, and scores hold none"):
        ndcg_ab.compare(scores="s.csv", more_judgments=str(inputs / "first"))
    with pytest.raises(ndcg_ab.InputError, match=r"^more_judgments\[0\]"):
        ndcg_ab.compare(str(inputs / "first"), runs, more_judgments={"q07": {"b": "two"}})


def configured(inputs: Path, folder: Path, more: str) -> Path:
    """A configuration in a folder of its own, on one beside the files: paths stay relative to theirs."""
    systems = [{"name": name, "file": f"{name}.run"} for name in ("old", "new")]
    base = {"judgments": "first", "more_judgments": [more], "systems": systems, "metrics": ["ndcg@3"]}
    (inputs / "base.yaml").write_text(json.dumps(base))
    (folder / "own.yaml").write_text(json.dumps({"extends": str(inputs / "base.yaml"), "name": "own", "output": "out"}))
    return folder / "own.yaml"


def test_a_configuration_has_them_too(inputs: Path, expected: dict[str, Any], tmp_path: Path) -> None:
    path = configured(inputs, tmp_path, "second.*")
    assert json.loads(evaluate(path).to_json())["comparisons"] == expected["comparisons"]
    content = {
        "name": "e",
        "judgments": "j",
        "more_judgments": [{"table": "t"}],
        "systems": [{"name": "s", "file": "s"}],
    }
    content["engine"] = {"spark": {"remote": "sc://host:15002"}}
    with pytest.raises(ndcg_ab.InputError, match="more_judgments: are put together on this machine"):
        evaluate(content)


def test_a_kept_evaluation_keeps_each_file_and_each_judgment(
    inputs: Path, expected: dict[str, Any], tmp_path: Path
) -> None:
    evaluation = read_config(configured(inputs, tmp_path, "second.csv"))
    call = calling(PUBLISH=no_tracker, DRAW_PAGE=plain_page)
    told: list[str] = []
    performed = perform_run(evaluation, call, say=told.append)
    assert "pull judgments second.csv" in told and "score by each judge" in told
    bundle = read_bundle(performed.bundle)
    assert json.loads(bundle.outcome.to_json())["comparisons"] == expected["comparisons"]
    assert [(row["kind"], row["name"], row["rows"]) for row in bundle.inputs[:2]] == [
        ("judgments", "first", 60),
        ("judgments", "second.csv", 32),
    ]
    with StoredTables(performed.bundle / "evaluation.duckdb") as tables:
        rows = tables.rows("pulled_single_judgment", ("grade", "judge", "source", "file"), where={"query_id": "q07"})
    assert sorted(rows, key=str) == [
        (1.0, "ann", "clicks", "second.csv"),
        (1.0, None, None, "first"),
        (1.0, None, None, "first"),
        (2.0, "ann", "clicks", "second.csv"),
    ]
    assert is_known(evaluation)
    other = evaluation.judgments.model_copy(update={"file": inputs / "whole"})  # type: ignore[union-attr]
    first = evaluation.model_copy(update={"judgments": other})
    told.clear()
    assert not is_known(first, told.append), "each of the files counts"
    assert sum("not read again" in line for line in told) == 3, "but for the file that is another"
    odd = evaluation.judgments.model_copy(update={"file": inputs / "odd.csv"})  # type: ignore[union-attr]
    judged = evaluation.model_copy(update={"judgments": odd, "more_judgments": [], "combine": "majority"})
    kept = read_bundle(perform_run(judged, call).bundle).outcome
    assert kept.judges is not None
    assert json.loads(kept.to_json())["judges"] == content(inputs, "odd.csv", "--combine", "majority")["judges"]
