"""The JSON Schema of a configuration, held against the model and against files that `check` takes or refuses."""

from pathlib import Path
from typing import Any

import jsonschema
import pytest

from ndcg_ab.config.loading.file import read_config
from ndcg_ab.config.loading.schema import json_schema
from ndcg_ab.config.loading.yaml_files import read_yaml
from tests.paths import ROOT

SCHEMA = json_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def faults(content: Any) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in VALIDATOR.iter_errors(content)]


def read_text_as_config(folder: Path, text: str) -> Any:
    path = folder / "c.yaml"
    path.write_text(text)
    return read_yaml(path)


@pytest.mark.slow
def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", ["demo.yaml", "example.yaml"])
def test_the_configurations_that_come_along_keep_it(name: str) -> None:
    assert faults(read_yaml(ROOT / "configs" / name)) == []
    assert all(each.get("description") for each in SCHEMA["properties"].values())


LEAST = "name: t\njudgments: q\nsystems: [{name: a, file: a.run}]\n"
GOOD = [
    LEAST,
    "extends: base.yaml",
    "extends: [a.yaml, b.yaml]\nslices: null\nname: ${NAME}",
    LEAST + 'resources: {threads: "${THREADS:-2}", memory_limit: "${MEMORY}"}\n',
    LEAST + "queries: null\nmetrics: [{measure: ndcg, cutoff: 5, gain: {1: 1}}, {measure: rr, preset: ranx}]\n",
    "name: t\njudgments: {file: 'q-{date}', format: csv}\nsystems: [{name: '{stem}', file: '*', version: 2026-11-20}]",
    LEAST + "statistics: {smallest_effect: 0.1}\nguardrails: {recall@5: 0.02}\ngate: {judged: null}",
    LEAST + "gate: true",
    LEAST + 'statistics: {smallest_effect: {ndcg@10: 0.1}, alpha: "${ALPHA:-0.05}"}',
    LEAST + "metrics: [{measure: nDCG, cutoff: '5', gain: Exponential}, {measure: rr, relevant_from: '2'}]",
    LEAST + "metrics: [{gain: {1: '2'}, preset: Ranx}, {gain: '{1:2}', measure: dcg}]",
    LEAST + "metrics: [{measure: null, cutoff: null, gain: null, preset: null}]\nguardrails: null\nmlflow: null",
    LEAST + "secondary_metrics: null\nretention: null\nslices: null\nstatistics: {alpha: null, resamples: null}",
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
        (tmp_path / f"{name}.yaml").write_text(LEAST)
    (tmp_path / "guarded.yaml").write_text(LEAST + "guardrails: {recall@5: 0.1}")
    assert faults(read_text_as_config(tmp_path, text)) == []
    read_config(tmp_path / "c.yaml")


BAD = {
    "unknown keys": LEAST + "metric: [rr]",
    "unknown keys inside": LEAST + "statistics: {alhpa: 0.1}",
    "keys of a metric": LEAST + "metrics: [{measure: ndcg, cutof: 5}]",
    "a measure": LEAST + "metrics: [{measure: ndgc}]",
    "a cutoff": LEAST + "metrics: [{measure: ndcg, cutoff: '0'}]",
    "a gain": LEAST + "metrics: [{measure: ndcg, gain: linaer}]",
    "a type": LEAST + "statistics: {seed: x}",
    "a bound": LEAST + "statistics: {alpha: 0.7}",
    "a choice": LEAST + "combine: z",
    "nothing to read": "name: t\njudgments: q\nsystems: [{name: a}]",
    "two places": "name: t\njudgments: q\nsystems: [{name: a, file: b, python: 'c:d'}]",
    "scores of no kind": "name: t\nscores: [{file: a, format: trec}]",
    "too little": "name: t\njudgments: q",
    "directory": LEAST + "directory: /",
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_wrong_is_marked(what: str, tmp_path: Path) -> None:
    assert len(faults(read_text_as_config(tmp_path, BAD[what]))) == 1
