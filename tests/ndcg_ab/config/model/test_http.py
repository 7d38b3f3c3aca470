"""`http:` of a system: presets and what overrides them, what is refused, what is kept, and the examples of the page."""

import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from ndcg_ab.config.loading.file import read_config
from ndcg_ab.config.loading.schema import json_schema
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.inputs.http import PRESETS, HttpRequest
from ndcg_ab.sources.http.exchange import AnswerReader, Hit, QueryError
from tests.paths import ROOT
from tests.sentences import refusal_text

URL = "https://search.example/products/_search"
PAGE = (ROOT / "docs" / "http.md").read_text(encoding="utf-8")


def read_http_config(folder: Path, http: str, *settings: str) -> Evaluation:
    path = folder / "c.yaml"
    path.write_text(f"name: t\njudgments: q\nqueries: q.tsv\nsystems:\n  - name: a\n    http: {http}\n")
    return read_config(path, settings)


def request(**keys: Any) -> HttpRequest:
    return HttpRequest.model_validate({"url": URL, **keys})


def test_any_key_overrides_a_preset() -> None:
    plain = request(preset="typesense")
    assert plain.parameters == {"q": "{query}", "per_page": "{depth}"}
    changed = request(preset="typesense", parameters={"query_by": "t", "per_page": None}, results={"id": "x"})
    assert changed.parameters == {"q": "{query}", "per_page": None, "query_by": "t"}
    assert (changed.results.id, changed.results.hits, changed.results.title) == ("x", "hits", "document.title")
    assert request(preset="solr", method=None, results={"title": None}) == request(preset="solr")


@pytest.mark.parametrize("preset", [None, *PRESETS])
def test_what_is_kept_is_read_as_the_same(preset: str | None) -> None:
    """A bundle holds the request with its preset's keys, and is read again; Prefect hands it on in the same way."""
    given = request(preset=preset, parameters={"q": None}, body={"size": None, "more": 1})
    assert HttpRequest.model_validate(given.model_dump(mode="json")) == given


def test_the_columns_that_a_request_names() -> None:
    found = request(
        url=f"{URL}/{{shop}}?k=${{KEY}}",
        headers={"X": "{shop} {lang}"},
        parameters={"a": ["{query}", {"b": "{price:number}"}]},
        body={"x": "{{plain}} {!func} {targetHits:10} {depth} {query_id} {text}", "k": {"env": "NAME"}},
    )
    assert found.attributes == ("shop", "lang", "price")


WRONG = {
    "systems[0].http.url = 'search.example': must be an address that begins with http": "{url: search.example}",
    "systems[0].http.url = 'http:///x': must be an address": "{url: 'http:///x'}",
    "a name and password go into `headers`, as {env: NAME}": "{url: 'https://u@h/x'}",
    "the host must be the same for every query": "{url: 'https://{query}.example/x'}",
    "systems[0].http.preset = 'elastic': must be 'elasticsearch', ": "{url: 'http://h', preset: elastic}",
    "key 'systems[0].http.dept' is unknown; did you mean 'depth'?": "{url: 'http://h', dept: 5}",
    "key 'systems[0].http.url' is missing": "{preset: solr}",
    "systems[0].http.depth = 0: must be 1 or more": "{url: 'http://h', depth: 0}",
}


@pytest.mark.parametrize("sentence", WRONG)
def test_one_sentence_says_what_is_wrong(sentence: str, tmp_path: Path) -> None:
    assert sentence in refusal_text(read_http_config, tmp_path, WRONG[sentence])


def test_secrets_are_looked_up_late_and_other_variables_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_DEPTH", "7")
    text = '{url: "${HTTP_PLACE:-http://h}/x", headers: {k: "${HTTP_KEY}", t: {env: HTTP_KEY}}, depth: "${HTTP_DEPTH}"}'
    monkeypatch.setenv("HTTP_KEY", "s3cret-in-headers")
    found = read_http_config(tmp_path, text, "systems.a.http.parameters.q=${HTTP_KEY}", "systems.a.http.timeout=3")
    assert "s3cret" not in found.model_dump_json()
    http = found.systems[0].http
    assert http is not None
    assert (http.url, http.depth, http.timeout) == ("${HTTP_PLACE:-http://h}/x", 7, 3)
    assert http.parameters == {"q": "${HTTP_KEY}"}


@pytest.mark.parametrize("example", re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL))
def test_the_examples_of_the_page_are_configurations(example: str) -> None:
    content = yaml.safe_load(example)
    systems = content.get("systems") or [{"name": "a", "http": content["http"]}]
    whole = {"name": "t", "judgments": "q", "queries": "q.tsv", "systems": systems}
    assert list(jsonschema.Draft202012Validator(json_schema()).iter_errors(whole)) == []
    for system in Evaluation.model_validate(whole).systems:
        assert system.http is not None
        AnswerReader(system.http, "http")


def test_the_page_has_every_preset_and_key() -> None:
    for name in PRESETS:
        assert f"`{name}`" in PAGE
    for name in (*HttpRequest.model_fields, "hits", "id", "score", "title", "url", "error"):
        assert f"`{name}`" in PAGE or f"{name}:" in PAGE, name


ANSWERS: dict[str, tuple[Any, list[Hit], Any]] = {  # what is read of an answer, its hits, and one that is not complete
    "elasticsearch": (
        {"timed_out": False, "_shards": {"failed": 0}, "hits": {"hits": [{"_id": "0", "_source": {"title": "T"}}]}},
        [Hit("0", None, "T")],
        {"timed_out": False, "_shards": {"failed": 1}, "hits": {"hits": []}},
    ),
    "solr": (
        {
            "responseHeader": {"status": 0},
            "response": {"docs": [{"id": "978", "title": ["T", "U"], "url": "http://u"}]},
        },
        [Hit("978", None, "T", "http://u")],
        {"responseHeader": {"status": 0, "partialResults": True}, "response": {"docs": []}},
    ),
    "vespa": (
        {"root": {"coverage": {"full": True}, "children": [{"id": "id:p:p::1", "fields": {"title": "T"}}]}},
        [Hit("id:p:p::1", None, "T")],
        {"root": {"fields": {"totalCount": 0}, "coverage": {"coverage": 50, "degraded": {"timeout": True}}}},
    ),
    "meilisearch": (
        {"hits": [{"id": 25684, "title": "T"}]},
        [Hit("25684", None, "T")],
        {"message": "Index `p` not found.", "code": "index_not_found"},
    ),
    "typesense": (
        {"hits": [{"document": {"id": "1", "title": "T"}}], "search_cutoff": False},
        [Hit("1", None, "T")],
        {"hits": [], "search_cutoff": True},
    ),
    "groonga": (
        [[0, 1.0, 0.1], [[[2], [["_key", "ShortText"]], ["a"], ["b"]]]],
        [Hit("a", None), Hit("b", None)],
        [[-22, 1.0, 0.1, "invalid name", []], []],
    ),
    "json": ({"hits": [{"id": "1", "url": "u"}]}, [Hit("1", None, None, "u")], {"error": "quota", "hits": []}),
}
ANSWERS["opensearch"] = ANSWERS["elasticsearch"]


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_reads_an_answer_and_refuses_half_of_one(preset: str) -> None:

    whole, hits, half = ANSWERS[preset]
    reader = AnswerReader(request(preset=preset), "http")
    assert reader.read_hits(whole) == hits
    with pytest.raises(QueryError, match=r"the answer holds an error|must find a list"):
        reader.read_hits(half)


def test_vespa_leaves_the_list_out_where_it_finds_nothing() -> None:
    reader = AnswerReader(request(preset="vespa"), "http")
    assert reader.read_hits({"root": {"id": "toplevel", "fields": {"totalCount": 0}}}) == []
    with pytest.raises(QueryError, match=r"must find a list; the answer has the keys root"):
        reader.read_hits({"root": {"id": "toplevel", "fields": {"totalCount": 5}}})
