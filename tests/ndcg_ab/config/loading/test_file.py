"""The configuration: what it means, and what is said where it is wrong, by the reader and by its JSON Schema."""

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from ndcg_ab.config.loading.file import read_config
from ndcg_ab.config.loading.schema import json_schema
from ndcg_ab.config.loading.yaml_files import read_yaml
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.errors import InputError
from tests.paths import ROOT
from tests.sentences import refusal_text

SYSTEMS: list[dict[str, Any]] = [{"name": "old", "file": "old.run"}, {"name": "new", "file": "runs/new.csv"}]
LEAST: dict[str, Any] = {"name": "t", "judgments": "qrels", "systems": SYSTEMS}


def read_text_as_config(folder: Path, text: str) -> Evaluation:
    path = folder / "c.yaml"
    path.write_text(text, encoding="utf-8")
    return read_config(path)


def with_keys(**keys: Any) -> str:
    """The least configuration with other keys, as YAML; None leaves a key out."""
    content = {key: value for key, value in (LEAST | keys).items() if value is not None}
    return yaml.safe_dump(content, allow_unicode=True)


def first_system(**keys: Any) -> str:
    return with_keys(systems=[{"name": "old"} | keys])


@pytest.mark.parametrize(
    "path",
    sorted({*(ROOT / "configs").glob("*.yaml")} - {ROOT / "configs" / "prefect.yaml"}),
    ids=lambda path: path.name,
)
def test_the_configurations_that_come_along_load(path: Path) -> None:
    assert read_config(path).directory == ROOT / "configs"


UNKNOWN = {
    "judgements": (with_keys(judgments=None, judgements="qrels"), "did you mean 'judgments'?"),
    "systems[0].flie": (first_system(flie="old.run"), "did you mean 'file'?"),
    "statistics.alhpa": (with_keys(statistics={"alhpa": 0.1}), "did you mean 'alpha'? (known here: alpha, resamples"),
    "prefect.url": (with_keys(prefect={"url": "x"}), "did you mean 'api_url'?"),
    "colour": (
        with_keys(colour="red"),
        "is unknown (known here: name, judgments, more_judgments, judgments_precedence, combine, ",
    ),
}


@pytest.mark.parametrize("key", UNKNOWN)
def test_an_unknown_key_is_named_with_the_nearest(key: str, tmp_path: Path) -> None:
    text, hint = UNKNOWN[key]
    sentence = refusal_text(read_text_as_config, tmp_path, text)
    assert sentence.startswith(f"{tmp_path / 'c.yaml'}: key '{key}' is unknown")
    assert hint in sentence
    assert "directory" not in sentence.partition("known here")[2], "that key is not for files"


WRONG = {
    "name = 5: must be text": with_keys(name=5),
    "name = '../t': must be letters, digits": with_keys(name="../t"),
    "name = 't\\n': must be letters, digits": with_keys(name="t\n"),
    "key 'judgments' is missing": with_keys(judgments=None),
    "judgments: must hold keys and values": with_keys(judgments=["qrels"]),
    "judgments.format = 'xml': must be 'trec', 'csv'": with_keys(judgments={"file": "q", "format": "xml"}),
    "systems: must have at least one entry": with_keys(systems=[]),
    "key 'systems[0].name' is missing": with_keys(systems=[{"file": "old.run"}]),
    "systems[0].name = '': must not be empty": with_keys(systems=[{"name": "", "file": "old.run"}]),
    "systems: the name 'old' is given twice": with_keys(systems=[SYSTEMS[0], SYSTEMS[0]]),
    "systems[0]: needs either file, python, database, http, table or extension": first_system(),
    "systems[0]: needs either file, python, database, http, table or extension, to": first_system(
        file="old.run", python="a:b"
    ),
    "systems[0]: arguments go with python": first_system(file="old.run", arguments={"x": 1}),
    "systems[0]: format goes with file, not with python": first_system(python="a:b", format="csv"),
    "systems[0].python = 'search': must be module:function": first_system(python="search"),
    "systems[0].version = 1.1: must be text; put it in quotes": first_system(file="old.run", version=1.10),
    "systems[0].file = 5: must be a path": first_system(file=5),
    "queries: missing; system 'old' is a python source": first_system(python="a:b"),
    "baseline = 'odl': must be one of the systems (old, new)": with_keys(baseline="odl"),
    "metrics = 'ndcg@10': must be a list": with_keys(metrics="ndcg@10"),
    "metrics: 5: must be text like ndcg@10": with_keys(metrics=[5]),
    "did you mean 'ndcg'?": with_keys(metrics=["ndgc@10"]),
    "did you mean 'cutoff'?": with_keys(metrics=[{"measure": "ndcg", "cutof": 10}]),
    "statistics.alpha = '0.05': must be a number": with_keys(statistics={"alpha": "0.05"}),
    "statistics.alpha = 0.5: must be below 0.5": with_keys(statistics={"alpha": 0.5}),
    "statistics.alpha = nan: must be": with_keys(statistics={"alpha": float("nan")}),
    "gate.slice_regression: there are no slices to look at; name attributes with `slices.by`": with_keys(
        gate={"slice_regression": 0.1}
    ),
    "statistics.ranges: dcg@5: is none of the metrics (ndcg@10); take it out": with_keys(
        statistics={"ranges": {"dcg@5": [0, 1]}}
    ),
    "ndcg@10: [1, 0]: must be the lowest and the highest value, as [0, 1]": with_keys(
        statistics={"ranges": {"ndcg@10": [1, 0]}}
    ),
    "ndcg@10: 3: must be the lowest and the highest value": with_keys(statistics={"ranges": {"ndcg@10": 3}}),
    "ndcg@10 is named twice": with_keys(statistics={"ranges": {"ndcg@10": [0, 1], "nDCG@10": [0, 1]}}),
    "statistics.resamples = 1.5: must be a whole number": with_keys(statistics={"resamples": 1.5}),
    "resources.threads = 0: must be 1 or more": with_keys(resources={"threads": 0}),
    "engine.spark: needs either master, as local[4] or spark://": with_keys(engine={"spark": {}}),
    "engine.spark: master = 'lokal': must be local[4]": with_keys(engine={"spark": {"master": "lokal"}}),
    "engine.spark: scratch: missing; it must be": with_keys(engine={"spark": {"master": "spark://head:7077"}}),
    "engine.spark: remote = 'head:15002': must be": with_keys(engine={"spark": {"remote": "head:15002"}}),
    "engine.spark.patience = 0: must be": with_keys(engine={"spark": {"master": "local", "patience": 0}}),
    "judgments: table is read by Spark, and there is none": with_keys(judgments={"table": "lake.judgments"}),
    "where goes with table, not with file": with_keys(judgments={"file": "a.qrels", "where": "day = 1"}),
    "resources.memory_limit = 'lots': must be a size such as 4GB": with_keys(resources={"memory_limit": "lots"}),
    "resources.memory_limit = '200%': must be a size": with_keys(resources={"memory_limit": "200%"}),
    "output: must be a path": with_keys(output=["x"]),
    "key 5 is no text: put it in quotes": with_keys() + "5: x\n",
    "key 'directory' cannot be set in a file": with_keys(directory="/"),
    "must hold keys and values → ndcg-ab init JUDGMENTS BASELINE CANDIDATE --force --output-file ": "- a\n- b\n",
}


@pytest.mark.parametrize("sentence", WRONG)
def test_one_sentence_says_what_is_wrong(sentence: str, tmp_path: Path) -> None:
    message = refusal_text(read_text_as_config, tmp_path, WRONG[sentence])
    assert message.startswith(f"{tmp_path / 'c.yaml'}: ")
    assert sentence in message


@pytest.mark.parametrize(
    ("given", "is_there"), [("true", True), ("false", False), ("{}", True), ("null", False), ("{judged: 0.8}", True)]
)
def test_a_gate_in_a_word(given: str, is_there: bool, tmp_path: Path) -> None:
    found = read_text_as_config(tmp_path, with_keys() + f"gate: {given}\n").gate
    assert (found is not None) == is_there
    assert found is None or (found.no_regression and found.guardrails)


def test_two_faults_are_two_sentences(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_text_as_config(tmp_path, with_keys(metric=["rr"], statistics={"seed": "x"}))
    lines = str(caught.value).splitlines()
    assert len(lines) == 2
    assert all(line.startswith(f"{tmp_path / 'c.yaml'}: ") for line in lines)


def test_yaml_is_read_plainly(tmp_path: Path) -> None:
    """Anchors and merge keys work, and a merged key may be given again."""
    text = """\ufeffname: t
judgments: qrels
systems:
  - &first {name: old, file: old.run, format: csv}
  - {<<: *first, name: new}
"""
    old, new = read_text_as_config(tmp_path, text).systems
    assert (old.name, new.name) == ("old", "new")
    assert new.source == old.source


# ---- variables in a configuration: what they become, what is refused, and that no secret is kept


CONFIG = """
name: t
judgments: {judgments}
systems:
  - name: old
    file: old.run
    version: {version}
resources:
  threads: {threads}
metrics: {metrics}
output: {output}
"""
PLAIN = {"judgments": "qrels", "version": "v1", "threads": "null", "metrics": "[ndcg@10]", "output": "out"}
SET = {"RUNS": "/srv/runs", "THREADS": "2", "COMMIT": "1234567", "METRICS": "[rr, ndcg@5]", "EMPTY": ""}


@pytest.fixture(autouse=True)
def variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UNSET", raising=False)
    for name, value in SET.items():
        monkeypatch.setenv(name, value)


def read_with(folder: Path, **values: str) -> Evaluation:
    return read_text_as_config(folder, CONFIG.format(**PLAIN | values))


def values_of(evaluation: Evaluation) -> dict[str, Any]:
    return {
        "judgments": str(evaluation.judgments.file),
        "version": evaluation.systems[0].version,
        "threads": evaluation.resources.threads,
        "metrics": [metric.name for metric in evaluation.metric_list],
        "output": str(evaluation.output),
    }


VARIABLES: list[tuple[str, str, Any]] = [
    ("judgments", "${RUNS}/qrels", "/srv/runs/qrels"),
    ("judgments", "'${UNSET:-runs}/${UNSET:-q}rels'", "runs/qrels"),
    ("judgments", "a$b$$c$d", "a$b$$c$d"),
    ("judgments", "$${RUNS}/q", "${RUNS}/q"),
    ("judgments", "'{ \"file\": 1 }'", '{ "file": 1 }'),
    ("version", "${COMMIT}", "1234567"),
    ("version", '"${COMMIT}"', "1234567"),
    ("version", "${UNSET:-a:-b}", "a:-b"),
    ("version", "${EMPTY:-main}", "main"),
    ("version", "${UNSET:-}", None),
    ("threads", "${THREADS}", 2),
    ("threads", "${UNSET:-3}", 3),
    ("threads", '"${THREADS:-4}"', 2),
    ("threads", "${UNSET:-}", None),
    ("metrics", "${METRICS}", ["rr", "ndcg@5"]),
    ("metrics", '["${UNSET:-rr}@5"]', ["rr@5"]),
]


@pytest.mark.parametrize(("key", "given", "expected"), VARIABLES)
def test_what_a_variable_becomes(key: str, given: str, expected: Any, tmp_path: Path) -> None:
    assert values_of(read_with(tmp_path, **{key: given}))[key] == expected


REFUSED = [
    ("judgments", "${UNSET}/q", "judgments: ${UNSET} is not set (and has no default): set the variable, or write "),
    ("version", "${EMPTY}", "systems[0].version: ${EMPTY} is not set"),
    ("version", "'${RUNS'", "systems[0].version: '${RUNS': must be ${NAME} or ${NAME:-value}; $${ writes a plain"),
    ("version", "a-${1X}", "systems[0].version: '${1X}': must be ${NAME}"),
    ("version", "${A:-${B}}", "systems[0].version: '${A:-${B}}': must be ${NAME}"),
    ("threads", "${RUNS}", "resources.threads = '/srv/runs': must be a whole number"),
]


@pytest.mark.parametrize(("key", "given", "sentence"), REFUSED)
def test_what_is_refused(key: str, given: str, sentence: str, tmp_path: Path) -> None:
    assert refusal_text(read_with, tmp_path, **{key: given}).startswith(f"{tmp_path / 'c.yaml'}: {sentence}")


def test_what_is_noted_about_publishing_has_no_password() -> None:
    from ndcg_ab.trackers.mlflow import make_published

    made = make_published("https://me:s3cret@mlflow.example.org", "1", "2", new=True)
    assert made.url.startswith("https://mlflow.example.org/#/experiments/1/runs/2")
    assert "s3cret" not in repr(made)


SCHEMA = json_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def faults(content: Any) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in VALIDATOR.iter_errors(content)]


@pytest.mark.slow
def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", ["demo.yaml", "example.yaml"])
def test_the_configurations_that_come_along_keep_it(name: str) -> None:
    assert faults(read_yaml(ROOT / "configs" / name)) == []
    assert all(each.get("description") for each in SCHEMA["properties"].values())


SHORT = "name: t\njudgments: q\nsystems: [{name: a, file: a.run}]\n"
GOOD = [
    SHORT,
    "extends: base.yaml",
    "extends: [a.yaml, b.yaml]\nslices: null\nname: ${NAME}",
    SHORT + 'resources: {threads: "${THREADS:-2}", memory_limit: "${MEMORY}"}\n',
    SHORT + "queries: null\nmetrics: [{measure: ndcg, cutoff: 5, gain: {1: 1}}, {measure: rr, preset: ranx}]\n",
    "name: t\njudgments: {file: 'q-{date}', format: csv}\nsystems: [{name: '{stem}', file: '*', version: 2026-11-20}]",
    SHORT + "statistics: {smallest_effect: 0.1}\nguardrails: {recall@5: 0.02}\ngate: {judged: null}",
    SHORT + "gate: true",
    SHORT + 'statistics: {smallest_effect: {ndcg@10: 0.1}, alpha: "${ALPHA:-0.05}"}',
    SHORT + "metrics: [{measure: nDCG, cutoff: '5', gain: Exponential}, {measure: rr, relevant_from: '2'}]",
    SHORT + "metrics: [{gain: {1: '2'}, preset: Ranx}, {gain: '{1:2}', measure: dcg}]",
    SHORT + "metrics: [{measure: null, cutoff: null, gain: null, preset: null}]\nguardrails: null\nmlflow: null",
    SHORT + "secondary_metrics: null\nretention: null\nslices: null\nstatistics: {alpha: null, resamples: null}",
    "extends: guarded.yaml\nguardrails: {recall@5: null}",
    "name: t\nscores: a.csv",
    "name: t\nscores: {file: a.csv, columns: {query_id: qid}}\nmetrics: [map, -latency]\nguardrails: {P_10: 0.1}",
    "name: t\nscores: [a.csv, {file: b, system: B, format: trec_eval}]\nsystems: [{name: B, version: '2'}]",
]


@pytest.mark.parametrize("text", GOOD)
def test_what_check_takes_is_taken(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"NAME": "t", "MEMORY": "2GB"}.items():
        monkeypatch.setenv(name, value)
    for name in ("base", "a", "b"):
        (tmp_path / f"{name}.yaml").write_text(SHORT)
    (tmp_path / "guarded.yaml").write_text(SHORT + "guardrails: {recall@5: 0.1}")
    read_text_as_config(tmp_path, text)
    assert faults(read_yaml(tmp_path / "c.yaml")) == []


BAD = {
    "unknown keys": SHORT + "metric: [rr]",
    "unknown keys inside": SHORT + "statistics: {alhpa: 0.1}",
    "keys of a metric": SHORT + "metrics: [{measure: ndcg, cutof: 5}]",
    "a measure": SHORT + "metrics: [{measure: ndgc}]",
    "a cutoff": SHORT + "metrics: [{measure: ndcg, cutoff: '0'}]",
    "a gain": SHORT + "metrics: [{measure: ndcg, gain: linaer}]",
    "a type": SHORT + "statistics: {seed: x}",
    "a bound": SHORT + "statistics: {alpha: 0.7}",
    "a choice": SHORT + "combine: z",
    "nothing to read": "name: t\njudgments: q\nsystems: [{name: a}]",
    "two places": "name: t\njudgments: q\nsystems: [{name: a, file: b, python: 'c:d'}]",
    "scores of no kind": "name: t\nscores: [{file: a, format: trec}]",
    "too little": "name: t\njudgments: q",
    "directory": SHORT + "directory: /",
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_wrong_is_marked(what: str, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        read_text_as_config(tmp_path, BAD[what])
    assert len(faults(read_yaml(tmp_path / "c.yaml"))) == 1
