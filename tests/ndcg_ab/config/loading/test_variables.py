"""Variables in a configuration: what they become, what is refused, and that no secret is kept."""

from pathlib import Path
from typing import Any

import pytest

from ndcg_ab.config.environment import tracking_uri
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.inputs.sources import PythonSource
from ndcg_ab.config.secrets.lookup import without_password
from ndcg_ab.errors import InputError
from ndcg_ab.sources import RANKING, pull_source
from tests.ndcg_ab.config.loading.test_file import read_text_as_config

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


def found(evaluation: Evaluation) -> dict[str, Any]:
    return {
        "judgments": str(evaluation.judgments.file),
        "version": evaluation.systems[0].version,
        "threads": evaluation.resources.threads,
        "metrics": [metric.name for metric in evaluation.metric_list],
        "output": str(evaluation.output),
    }


GIVEN: list[tuple[str, str, Any]] = [
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


@pytest.mark.parametrize(("key", "given", "expected"), GIVEN)
def test_what_a_variable_becomes(key: str, given: str, expected: Any, tmp_path: Path) -> None:
    assert found(read_with(tmp_path, **{key: given}))[key] == expected


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
    with pytest.raises(InputError) as caught:
        read_with(tmp_path, **{key: given})
    assert str(caught.value).startswith(f"{tmp_path / 'c.yaml'}: {sentence}")
    assert "\n" not in str(caught.value)


def test_the_home_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    evaluation = read_with(tmp_path, judgments="~/qrels", output="'~'", version="~")
    assert str(evaluation.judgments.file) == "/home/somebody/qrels"
    assert str(evaluation.output) == "/home/somebody"
    assert str(read_with(tmp_path, judgments="a/~/q~").judgments.file) == "a/~/q~"


SECRETS = """
name: t
judgments: q
queries: queries.tsv
systems:
  - {name: old, python: "engine:search", arguments: {key: "${KEY}", more: [{url: "https://${KEY}@x"}], depth: 5}}
mlflow: {tracking_uri: "http://me:${KEY}@mlflow"}
prefect: {api_url: "http://${KEY}@prefect"}
"""


def test_no_secret_is_kept_and_each_is_there_when_it_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "s3cret")
    evaluation = read_text_as_config(tmp_path, SECRETS)
    assert "s3cret" not in evaluation.model_dump_json()
    assert tracking_uri(evaluation) == "http://me:s3cret@mlflow"
    code = "def search(queries, **given):\n    return {'q': [(repr(given), 1.0)]}\n"
    (tmp_path / "engine_with_a_key.py").write_text(code)
    source = PythonSource(python="engine_with_a_key:search", arguments=evaluation.systems[0].arguments)
    (given,) = pull_source(source, RANKING, tmp_path, {"q": "text"}).table["doc_id"].to_pylist()
    assert given == "{'key': 's3cret', 'more': [{'url': 'https://s3cret@x'}], 'depth': 5}"
    monkeypatch.delenv("KEY")
    with pytest.raises(InputError, match=r"c\.yaml: systems\[0\]\.arguments\.key: \$\{KEY\} is not set"):
        read_text_as_config(tmp_path, SECRETS)
    with pytest.raises(InputError, match=r"^t: mlflow\.tracking_uri: \$\{KEY\} is not set"):
        tracking_uri(evaluation)


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("https://me:s3cret@mlflow.example.org/x@y", "https://mlflow.example.org/x@y"),
        ("postgresql://me:s3cret@db/mlflow", "postgresql://db/mlflow"),
        ("https://mlflow.example.org/a:b@c", "https://mlflow.example.org/a:b@c"),
        ("sqlite:////srv/me@here/mlflow.db", "sqlite:////srv/me@here/mlflow.db"),
    ],
)
def test_an_address_is_shown_without_its_password(uri: str, shown: str) -> None:
    assert without_password(uri) == shown


@pytest.mark.slow
def test_what_is_noted_about_publishing_has_no_password() -> None:
    from ndcg_ab.trackers.mlflow import make_published

    made = make_published("https://me:s3cret@mlflow.example.org", "1", "2", new=True)
    assert made.url.startswith("https://mlflow.example.org/#/experiments/1/runs/2")
    assert "s3cret" not in repr(made)
