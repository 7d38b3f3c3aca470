"""Files that extend others, and what --set changes: what comes out, and where a wrong value is said to stand."""

from pathlib import Path
from typing import Any

import pytest

from ndcg_ab.config.loading.file import read_config
from ndcg_ab.errors import InputError
from tests.sentences import refusal_text

BASE = """
name: base
judgments: qrels
queries: {file: queries.tsv, columns: {text: question}}
systems: [{name: old, file: old.run}, {name: new.v2, file: ~/new.run}]
metrics: [ndcg@10, rr]
guardrails: {recall@5: 0.02}
statistics: {alpha: 0.01, seed: 3}
output: out
gate: {judged: 0.2}
"""


def write(folder: Path, **files: str) -> Path:
    """Files by their names (`__` is a slash); the path of the first."""
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return folder / f"{next(iter(files)).replace('__', '/')}.yaml"


def test_mappings_are_merged_lists_replaced_and_null_takes_away(tmp_path: Path) -> None:
    top = """
extends: [middle.yaml, other.yaml]
judgments: {format: csv}
queries: {columns: {weight: visits}}
metrics: [rr@5]
statistics: {alpha: 0.02}
gate: null
"""
    middle = "extends: base.yaml\nname: middle\nstatistics: {seed: 4}"
    other = "name: other\nstatistics: {resamples: 500}"
    found = read_config(write(tmp_path, top=top, middle=middle, other=other, base=BASE))
    assert (found.name, found.metrics, found.gate) == ("other", ["rr@5"], None)
    assert (str(found.judgments.file), found.judgments.format) == ("qrels", "csv")
    assert found.queries is not None
    assert found.queries.columns == {"text": "question", "weight": "visits"}
    assert (found.statistics.alpha, found.statistics.seed, found.statistics.resamples) == (0.02, 4, 500)
    assert [system.name for system in found.systems] == ["old", "new.v2"]


def test_null_takes_away_what_an_entry_says_and_is_a_value_of_arguments(tmp_path: Path) -> None:
    source = BASE.replace("file: old.run", "python: 'a:b', arguments: {k: null}")
    base = write(tmp_path, base=source)
    found = read_config(base, ["guardrails.recall@5=null", "systems.old.arguments.m=null"])
    assert found.guardrails == {}
    assert found.systems[0].arguments == {"k": None, "m": None}
    with pytest.raises(InputError, match="guardrails"):
        read_config(write(tmp_path, wrong=BASE.replace("recall@5: 0.02", "recall@5: null")))
    with pytest.raises(InputError, match="--set: key 'name' is missing"):
        read_config(base, ["name=null"])


def test_paths_of_a_base_start_from_the_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    top = write(tmp_path, nights__top="extends: ../base.yaml\nqueries: q.tsv\n", base=BASE)
    found = read_config(top)
    assert found.path(found.judgments.file) == tmp_path.resolve() / "qrels"
    assert [str(system.file) for system in found.systems] == [str(tmp_path.resolve() / "old.run"), "/home/me/new.run"]
    assert found.queries is not None
    assert found.path(found.queries.file) == tmp_path.resolve() / "nights" / "q.tsv"
    assert found.output_directory == tmp_path.resolve() / "out"


WRONG: list[tuple[dict[str, str], str]] = [
    ({"a": "extends: b.yaml", "b": "extends: a.yaml"}, "{f}/a.yaml: extends: {f}/a.yaml extends {f}/b.yaml extends "),
    ({"a": "extends: a.yaml"}, "{f}/a.yaml: extends: {f}/a.yaml extends {f}/a.yaml: a circle"),
    ({"a": "extends: b.yaml"}, "{f}/b.yaml: there is no such configuration file ({f}/a.yaml: extends)"),
    ({"a": "extends: 5"}, "{f}/a.yaml: extends = 5: must be the name of a file, or a list of names"),
    ({"a": "extends: b.yaml", "b": "- x"}, "{f}/b.yaml: must hold keys and values"),
    ({"a": "extend: b.yaml\n" + BASE}, "{f}/a.yaml: key 'extend' is unknown; did you mean 'extends'?"),
    ({"a": "extends: b.yaml", "b": BASE + "retention: {bundels: 3}"}, "{f}/b.yaml: key 'retention.bundels' is unknown"),
    ({"a": "extends: b.yaml\nstatistics: {alpha: 2}", "b": BASE}, "{f}/a.yaml: statistics.alpha = 2: must be below"),
    ({"a": "extends: b.yaml\nstatistics: {seed: 2}", "b": BASE.replace("0.01", "2")}, "{f}/b.yaml: statistics.alpha"),
    ({"a": "extends: b.yaml\njudgments: 5", "b": BASE + "  "}, "{f}/a.yaml: judgments = 5: must hold keys and values"),
    ({"a": "extends: b.yaml\nname: null", "b": BASE}, "{f}/a.yaml: key 'name' is missing"),
    ({"a": "extends: ${NOT_SET}"}, "{f}/a.yaml: extends: ${NOT_SET} is not set"),
    ({"a": "extends: b.yaml", "b": BASE.replace("old.run", "'x-{date:%Q}'")}, "{f}/b.yaml: systems[0].file = "),
]


@pytest.mark.parametrize(("files", "sentence"), WRONG)
def test_the_file_is_named_in_which_the_wrong_value_stands(
    files: dict[str, str], sentence: str, tmp_path: Path
) -> None:
    assert refusal_text(read_config, write(tmp_path, **files)).startswith(sentence.replace("{f}", str(tmp_path)))


SETTINGS: list[tuple[str, str, Any]] = [
    ("statistics.alpha=0.05", "statistics.alpha", 0.05),
    ("resources.threads = 2", "resources.threads", 2),
    ("name=other", "name", "other"),
    ("systems.0.version=abc", "systems.0.version", "abc"),
    ("systems.new.v2.file=/x.run", "systems.1.file", Path("/x.run")),
    ("systems.old.columns.doc_id=url", "systems.0.columns", {"doc_id": "url"}),
    ("judgments.format=csv", "judgments.format", "csv"),
    ("judgments=other", "judgments.file", Path("other")),
    ("metrics=[ndcg@5]", "metrics", ["ndcg@5"]),
    ("metrics.1=rr@5", "metrics", ["ndcg@10", "rr@5"]),
    ("guardrails.recall(relevant_from=1.5)@5=0.03", "guardrails.recall(relevant_from=1.5)@5", 0.03),
    ("gate.judged=null", "gate.judged", None),
    ("schedule.cron=0 2 * * *", "schedule.cron", "0 2 * * *"),
    ("mlflow.experiment=", "mlflow.experiment", None),
]


def value_at(content: Any, key: str) -> Any:
    while key:
        if isinstance(content, dict):
            if key in content:
                return content[key]
            first, _, key = key.partition(".")
            content = content[first]
        else:
            first, _, key = key.partition(".")
            content = content[int(first)]
    return content


@pytest.mark.parametrize(("setting", "key", "expected"), SETTINGS)
def test_set_changes_one_key(setting: str, key: str, expected: Any, tmp_path: Path) -> None:
    path = write(tmp_path, base=BASE)
    before, after = read_config(path).model_dump(), read_config(path, [setting]).model_dump()
    assert value_at(after, key) == expected
    top = key.partition(".")[0]
    assert before[top] != after[top] or expected is None
    assert {name: value for name, value in before.items() if name != top} == {
        name: value for name, value in after.items() if name != top
    }


WRONG_SETTINGS = {
    "alpha=1": "key 'alpha' is unknown; did you mean 'statistics.alpha'? (known here: name, judgments",
    "systems.olt.file=x": "systems has no entry 'olt'; did you mean 'old'? (entries: old, new.v2)",
    "systems.2.file=x": "systems has no entry '2' (entries: old, new.v2)",
    "metrics.5=rr": "metrics has no entry '5' (entries: 0 to 1)",
    "statistics.alpha=2": "statistics.alpha = 2: must be below 0.5",
    "name.x=1": "key 'name' has no keys below it",
    "name": "must be KEY=VALUE, such as statistics.alpha=0.01",
    "metrics=[rr": "'[rr' is not YAML",
    "extends=x.yaml": "extends is allowed in a file only",
}


@pytest.mark.parametrize("setting", WRONG_SETTINGS)
def test_a_wrong_setting_is_told_in_one_sentence(setting: str, tmp_path: Path) -> None:
    where, _, said = refusal_text(read_config, write(tmp_path, base=BASE), [setting]).partition(": ")
    assert where in ("--set", f"--set {setting!r}") and said.startswith(WRONG_SETTINGS[setting])
