"""What looks like a secret in a configuration, and what does not."""

import time
from typing import Any

import pytest

from ndcg_ab.config.secrets.redaction import find_plain_secrets, has_secret_name, secrets_in

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


def test_names_of_variables() -> None:
    assert has_secret_name("PREFECT_API_KEY")
    assert has_secret_name("MLFLOW_TRACKING_PASSWORD")
    assert not has_secret_name("TOKENIZERS_PARALLELISM")
