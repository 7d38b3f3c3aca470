"""Secrets by reference, looked up where they are used and taken out of every text; what looks like a secret."""

import base64
import io
import json
import logging
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from ndcg_ab.config import environment
from ndcg_ab.config.loading.file import read_config
from ndcg_ab.config.model.inputs.sources import PythonSource
from ndcg_ab.config.secrets import redaction
from ndcg_ab.config.secrets.lookup import reveal_address, reveal_secrets
from ndcg_ab.config.secrets.redaction import (
    censor_logs,
    find_plain_secrets,
    redact,
    redacted_error,
    remember_secret,
    remove_known_secrets,
    secrets_in,
)
from ndcg_ab.errors import InputError, UnavailableError
from ndcg_ab.sources import RANKING, pull_source

HERE = Path()


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(redaction, "_known", set())
    redaction.clear_secret_caches()
    yield
    redaction.clear_secret_caches()


def test_each_reference_is_looked_up_and_its_value_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "from the environment 1")
    (tmp_path / "key.txt").write_text("from a file 2\n")
    given = {"a": {"env": "KEY"}, "b": [{"file": "key.txt"}, 7], "c": "index ${KEY}"}
    found = reveal_secrets(given, "x", tmp_path)
    assert found == {"a": "from the environment 1", "b": ["from a file 2", 7], "c": "index from the environment 1"}
    assert redact(f"failed: {found}") == "failed: {'a': '•••', 'b': ['•••', 7], 'c': 'index •••'}"


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ({"env": "NOWHERE"}, "x: the variable NOWHERE is not set: set it, or name another with {env: NAME}"),
        ({"file": "none.txt"}, "x: none.txt: the secret cannot be read: FileNotFoundError"),
        ({"file": "empty.txt"}, "x: empty.txt: the file of the secret is empty: write the secret into it"),
        ({"file": "bytes.bin"}, "x: bytes.bin: the secret cannot be read: UnicodeDecodeError"),
    ],
)
def test_a_secret_that_is_not_there(
    reference: dict[str, str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NOWHERE", raising=False)
    (tmp_path / "empty.txt").write_text("\n")
    (tmp_path / "bytes.bin").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(InputError) as caught:
        reveal_secrets(reference, "x", tmp_path)
    assert str(caught.value).replace(f"{tmp_path}/", "") == said


SECRET = "p@s's\"w/ö+rd <1>\\"


@pytest.mark.parametrize(
    "text",
    [
        SECRET,
        repr(SECRET),
        json.dumps({"key": SECRET}),
        json.dumps({"key": SECRET}, ensure_ascii=False),
        f"https://h/?k={quote(SECRET)}",
        f"https://me:{quote(SECRET, safe='')}@h/",
        f"https://me:{quote(SECRET, safe='').lower()}@h/",
        f"k={quote_plus(SECRET)}",
        *(base64.b64encode(f"{user}:{SECRET}".encode()).decode() for user in ("me", "you", "user")),
        base64.urlsafe_b64encode(SECRET.encode()).decode(),
    ],
)
def test_a_secret_is_found_however_it_is_written(text: str) -> None:
    remember_secret(SECRET)
    hidden = remove_known_secrets(f"before {text} after")
    assert hidden.startswith("before ")
    assert hidden.endswith(" after")
    assert "•••" in hidden
    assert "w/" not in hidden
    assert len(hidden) < len(text) + 4


def test_a_short_secret_is_a_word_of_its_own() -> None:
    remember_secret("post")
    remember_secret("x")
    assert remove_known_secrets("postgresql://post:x@post-1?post=post2") == "postgresql://•••:x@•••-1?•••=post2"


def test_lines_of_a_key_and_a_service_account() -> None:
    remember_secret("-----BEGIN KEY-----\nMIIEowIBAAKCAQEAx7\nwJalrXUtnFEMIK7MDE\n-----END KEY-----")
    remember_secret(json.dumps({"project_id": "my-project", "private_key": "k3y-of-the-account"}))
    text = "MIIEowIBAAKCAQEAx7, wJalrXUtnFEMIK7MDE, k3y-of-the-account, my-project"
    assert remove_known_secrets(text) == "•••, •••, •••, my-project"


def test_of_an_address_the_secret_parts_alone_are_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADDRESS", "http://somebody:p%40ssw0rd1@mlflow.example:80/x?token=t0k3n99&size=1")
    address = reveal_address({"env": "ADDRESS"}, "x", HERE)
    assert address.startswith("http://somebody:p%40ssw0rd1@")
    shown = remove_known_secrets(f"{address} p@ssw0rd1 http://mlflow.example:80/x")
    assert shown == "http://•••@mlflow.example:80/x?token=•••&size=1 ••• http://mlflow.example:80/x"


def test_errors_hold_no_secrets_and_keep_their_kind() -> None:
    remember_secret("s3cr3t-key")
    harmless = InputError("nothing")
    assert redacted_error(harmless) is harmless
    told = redacted_error(UnavailableError("asked with s3cr3t-key"))
    assert (type(told), str(told)) == (UnavailableError, "asked with •••")
    assert repr(redacted_error(KeyError("s3cr3t-key"))) == "RuntimeError(\"KeyError: '•••'\")"
    try:
        try:
            raise KeyError("s3cr3t-key")
        except KeyError as error:
            raise InputError("harmless by itself") from error
    except InputError as error:
        told = redacted_error(error)
    assert (str(told), told.__cause__, told.__context__) == ("harmless by itself", None, None)


def test_logs_hold_no_secrets() -> None:
    remember_secret("s3cr3t-key")
    logger = logging.getLogger("test.secrets")
    logger.propagate = False
    logger.addHandler(logging.StreamHandler(written := io.StringIO()))
    censor_logs("test.secrets")
    logger.warning("asked %s", {"key": "s3cr3t-key"})
    try:
        raise ValueError("s3cr3t-key")
    except ValueError:
        logger.exception("failed")
    logger.warning("%s wanted")
    assert written.getvalue().startswith("asked {'key': '•••'}\n") and "ValueError: •••" in written.getvalue()
    assert "s3cr3t" not in written.getvalue()


CONFIG = """
name: t
judgments: q
queries: queries.tsv
systems:
  - {name: old, file: old.run}
  - {name: new, python: "engine:search", arguments: %s}
mlflow: {tracking_uri: "http://me:pl4in-w0rd@mlflow"}
"""


def read_config_with(folder: Path, arguments: Any) -> Any:
    (folder / "c.yaml").write_text(CONFIG % json.dumps(arguments))
    return read_config(folder / "c.yaml")


def test_a_plain_secret_is_refused_without_being_shown(tmp_path: Path) -> None:
    arguments = {"api_key": "a1b2c3d4e5", "urls": ["https://me:f6g7h8@x/?api_key=i9j0k1l2"], "index": "docs"}
    with pytest.raises(InputError) as refused:
        read_config_with(tmp_path, arguments)
    path = tmp_path / "c.yaml"
    rule = "holds what looks like a secret in plain text: name it as {env: NAME}, {file: PATH} or {prefect: BLOCK}, or"
    keys = ("systems[1].arguments.api_key", "systems[1].arguments.urls[0]", "mlflow.tracking_uri")
    assert [line.partition(", or write")[0] for line in str(refused.value).splitlines()] == [
        f"{path}: {key}: {rule.removesuffix(', or')}" for key in keys
    ]
    assert redact("a1b2c3d4e5 f6g7h8 i9j0k1l2 pl4in-w0rd") == "••• ••• ••• •••", "whoever says it later"


def test_where_a_plain_secret_stands_is_said(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text("mlflow: {tracking_uri: 'http://me:pl4in-w0rd@mlflow'}\n")
    (tmp_path / "c.yaml").write_text("extends: base.yaml\nname: t\njudgments: q\nsystems: [{name: a, file: b}]\n")
    with pytest.raises(InputError, match=r"base\.yaml: mlflow\.tracking_uri: holds what looks like a secret"):
        read_config(tmp_path / "c.yaml")
    (tmp_path / "base.yaml").write_text("{}")
    with pytest.raises(InputError, match=r"^--set: prefect\.api_url: holds what looks like a secret"):
        read_config(tmp_path / "c.yaml", ["prefect.api_url=http://me:pl4in-w0rd@h/api"])


def test_a_function_that_tells_its_key_in_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "k3y-of-the-engine")
    (tmp_path / "engine_that_tells.py").write_text(
        "def search(queries, key):\n    try:\n        raise KeyError(key)\n"
        "    except KeyError as error:\n        raise ConnectionError(f'refused: {key}') from error\n"
    )
    source = PythonSource(python="engine_that_tells:search", arguments={"key": {"env": "KEY"}})
    with pytest.raises(UnavailableError) as caught:
        pull_source(source, RANKING, tmp_path, {"q": "text"})
    assert str(caught.value) == "python = 'engine_that_tells:search' failed: ConnectionError: refused: •••"
    assert "k3y" not in "".join(traceback.format_exception(caught.value))


def test_references_in_a_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "key.txt").write_text("k3y-beside-the-base")
    (tmp_path / "base" / "base.yaml").write_text(
        "name: t\njudgments: q\nqueries: q.tsv\nmlflow: {tracking_uri: {env: A}}\n"
        'systems: [{name: a, python: "e:s", arguments: {key: {file: key.txt}}}]\n'
    )
    (tmp_path / "c.yaml").write_text("extends: base/base.yaml\nmlflow: {tracking_uri: {file: uri.txt}}\n")
    evaluation = read_config(tmp_path / "c.yaml", ["prefect.api_url={env: B}"])
    assert (evaluation.mlflow.tracking_uri, evaluation.prefect.api_url) == ({"file": "uri.txt"}, {"env": "B"})
    (tmp_path / "uri.txt").write_text("http://me:s3cret-w0rd@mlflow\n")
    assert environment.tracking_uri(evaluation) == "http://me:s3cret-w0rd@mlflow"
    assert reveal_secrets(evaluation.systems[0].arguments, "x", tmp_path) == {"key": "k3y-beside-the-base"}
    with pytest.raises(InputError, match=r"prefect\.api_url: must be text, or where the text is: \{env: NAME\}"):
        read_config(tmp_path / "c.yaml", ["prefect.api_url={envi: B}"])


def test_prefect_s_address_is_handed_on_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "https://me:pr3f3ct%2Dw0rd@prefect.example/api")
    monkeypatch.setenv("PREFECT_API_AUTH_STRING", "")
    monkeypatch.setenv("SOME_API_KEY", "k3y-of-the-environment")
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "correcthorse")
    monkeypatch.setenv("PWD", "/srv/evaluations")
    monkeypatch.setenv("DEPLOY_TOKEN", "production")
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "f4lse-or-true")
    environment.prepare_environment()
    assert environment.os.environ["PREFECT_API_URL"] == "https://prefect.example/api"
    assert environment.os.environ["PREFECT_API_AUTH_STRING"] == "me:pr3f3ct-w0rd"
    shown = remove_known_secrets("pr3f3ct-w0rd k3y-of-the-environment correcthorse /srv/evaluations production")
    assert shown == "••• ••• ••• /srv/evaluations production"
    assert remove_known_secrets("f4lse-or-true") == "f4lse-or-true", "no name of a secret"
    environment.prepare_environment()
    assert environment.os.environ["PREFECT_API_AUTH_STRING"] == "me:pr3f3ct-w0rd"
    monkeypatch.setenv("PREFECT_API_URL", "https://another.example/api")
    environment.prepare_environment()
    assert "PREFECT_API_AUTH_STRING" not in environment.os.environ, "another server is not told"


JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTYifQ.dozjgNryP4J3jVmNHl0w"

SECRETS: list[dict[str, Any]] = [
    {"api_key": "a1b2c3d4"},
    {"apiKey": "a1b2c3d4"},
    {"X-Api-Key": "a1b2c3d4"},
    {"password": "hunter2"},
    {"db_passwd": "hunter2"},
    {"client_secret": "x7y8z9"},
    {"access_token": "x7y8z9"},
    {"aws_secret_access_key": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"},
    {"Authorization": "Bearer abc.def"},
    {"headers": [{"Cookie": "session=17"}]},
    {"tokens": {"token": ["one-token", 7]}},
    {"id": "AKIAIOSFODNN7EXAMPLE"},
    {"x": "use ghp_16C7e42F292c6912E7710c838347Ae178B4a"},
    {"x": "sk-proj-abcdefghij0123456789"},
    {"x": JWT},
    {"x": "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----"},
    {"x": "Basic bWU6czNjcmV0czNjcmV0"},
    {"url": "https://me:pass@search.example/"},
    {"url": "https://me:p@ss@search.example/"},
    {"url": "mysql+pymysql://me:pa/ss@db/mlflow"},
    {"url": "https://search.example/find?q=x&api_key=12345678"},
    {"url": "postgresql://me:pw@/judgments?host=/run/postgresql"},
    {"url": "redis://:pa55@cache:6379"},
    {"url": "az://container?sv=2020&sig=abcdEFGH%2F1234&se=2"},
    {"dsn": "host=db user=me password=hunter2"},
    {"connection": "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=c2VjcmV0c2VjcmV0"},
]

NO_SECRETS: list[dict[str, Any]] = [
    {"api_key": {"env": "API_KEY"}},
    {"password": {"file": "~/.secrets/password"}},
    {"token": {"prefect": "search-token"}},
    {"api_key": "${API_KEY}"},
    {"Authorization": "Bearer ${TOKEN}"},
    {"url": "https://me:${PASSWORD}@search.example/"},
    {"api_key": ""},
    {"api_key": None},
    {"password": "<your password>"},
    {"password": "********"},
    {"private_key": "/etc/ssl/private.pem"},
    {"auth": "basic"},
    {"authorization": "none"},
    {"max_tokens": 100},
    {"max_tokens": "100"},
    {"tokenizer": "standard"},
    {"token_field": "title_tokens"},
    {"pad_token": "[PAD]"},
    {"eos_token": "endoftext"},
    {"password_field": "user_password"},
    {"token_url": "https://login.example/oauth2/token"},
    {"key": "title"},
    {"keyword": "secretary"},
    {"primary_key": "document_id"},
    {"sort_key": "published_at"},
    {"query": "how to reset a password: token=none"},
    {"url": "https://search.example:9200/index/_search?size=100&sort=key"},
    {"url": "https://search.example:80/a@b"},
    {"url": "https://me@search.example/"},
    {"url": "http://[::1]:80/x@y"},
    {"config": "standard-config"},
    {"url": "postgresql://reader@db/judgments"},
    {"model": "sentence-transformers/all-MiniLM-L6-v2"},
    {"model": "sk-learn-ranker"},
    {"commit": "9f8e7d6c5b4a39281706f5e4d3c2b1a098765432"},
    {"version": "risk-based-ranking-version-2026"},
    {"mail": "mailto:me@example.org"},
]


@pytest.mark.parametrize("content", SECRETS, ids=str)
def test_a_secret_is_noticed(content: dict[str, Any]) -> None:
    assert len(list(find_plain_secrets(content))) == 1


@pytest.mark.parametrize("content", NO_SECRETS, ids=str)
def test_what_is_none_is_left_alone(content: dict[str, Any]) -> None:
    assert list(find_plain_secrets(content)) == []


@pytest.mark.parametrize("part", ["a:/", "http://a:", "x=", "-eyJ", "-sk-", "Basic ", "password=", "@:/", "http://a:@"])
def test_long_texts_take_no_longer_than_they_must(part: str) -> None:
    text = part * 10_000
    began = time.monotonic()
    list(secrets_in("x", text))
    assert time.monotonic() - began < 2
