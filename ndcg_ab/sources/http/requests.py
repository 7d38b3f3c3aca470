"""The requests to a search engine: a template whose secrets are looked up once, and filled for each query."""

import dataclasses
import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ndcg_ab.config.model.inputs.http import PLACEHOLDER, HttpRequest
from ndcg_ab.config.secrets.lookup import redact, reveal_secrets
from ndcg_ab.errors import InputError, format_value
from ndcg_ab.sources.tables.schema import NO_VALUE

ADDRESS = re.compile(r"https?://[^/?#\s]")
HEADER = re.compile(r"[\x20-\x7e\t]*")
NOTHING = object()  # the value of an empty attribute: its key is left out


@dataclasses.dataclass(frozen=True)
class Request:
    """What is sent for one query; key: a digest of it that secrets are no part of."""

    query_id: str
    method: str
    url: str
    headers: dict[str, str]
    parameters: list[tuple[str, str]]
    body: bytes | None
    key: str


class Template:
    """The request of a configuration with its secrets, ready to be filled."""

    def __init__(self, described: HttpRequest, directory: Path, where: str) -> None:
        self.described = described
        self.where = where
        written = {name: getattr(described, name) for name in ("url", "headers", "parameters", "body")}
        self.known: dict[str, Any] = {
            name: reveal_secrets(each, f"{where}.{name}", directory) for name, each in written.items()
        }
        self.method = described.method or ("GET" if described.body is None else "POST")
        self.signature = json.dumps(described.model_dump(mode="json"), sort_keys=True)
        url = str(self.known["url"])
        if not ADDRESS.match(url):
            raise InputError(
                f"{where}.url: {redact(format_value(url))}: must begin with http:// or https:// and a host"
            )

    def filled(self, query_id: str, text: str, attributes: Mapping[str, str]) -> Request:
        """Return the request for one query.

        attributes: the columns of the queries' file that the template names.
        """
        values = {"query": text, "text": text, "query_id": query_id, "depth": self.described.depth}
        values |= {name: None if value in ("", NO_VALUE) else value for name, value in attributes.items()}
        fill = TemplateFiller(values, f"{self.where}, query {format_value(query_id)}")
        body = self.known["body"]
        if body is not None:
            body = json.dumps(fill.structure(without_nulls(body)), ensure_ascii=False, allow_nan=False).encode()
        headers = {"accept": "application/json"} | ({"content-type": "application/json"} if body is not None else {})
        for name, value in self.known["headers"].items():
            header = as_text(fill.structure(value))
            if not HEADER.fullmatch(header):
                raise InputError(f"{fill.where}: headers.{name}: must be plain ASCII on one line")
            headers[str(name).lower()] = header
        key = hashlib.sha256(json.dumps([self.signature, sorted(values.items(), key=str)]).encode()).hexdigest()
        return Request(
            query_id,
            self.method,
            fill.text(self.known["url"], safe=True),
            headers,
            list(parameter_pairs(fill.structure(without_nulls(self.known["parameters"])))),
            body,
            key,
        )


@dataclasses.dataclass(frozen=True)
class TemplateFiller:
    """Puts the values of one query into a template; where: for messages."""

    values: Mapping[str, Any]
    where: str

    def structure(self, content: Any) -> Any:
        """The same with its placeholders filled; a key whose value is an empty attribute is left out."""
        if isinstance(content, dict):
            found = {key: self.structure(value) for key, value in content.items()}
            return {key: value for key, value in found.items() if value is not NOTHING}
        if isinstance(content, list):
            return [value for each in content if (value := self.structure(each)) is not NOTHING]
        return self.value(content) if isinstance(content, str) else content

    def value(self, text: str) -> Any:
        """A text that is one placeholder and nothing else is the value itself; others are texts."""
        whole = PLACEHOLDER.fullmatch(text)
        if whole is None or whole["name"] not in self.values:
            return self.text(text)
        value = self.values[whole["name"]]
        if value is None:
            return NOTHING
        return number_value(value, f"{self.where}: {text}") if whole["number"] else value

    def text(self, text: str, safe: bool = False) -> str:
        """Fill the placeholders of a text; safe: with values that are percent-encoded."""

        def filled(found: re.Match[str]) -> str:
            if found["name"] is None:
                return f"{{{found['plain']}}}"
            if found["name"] not in self.values:  # of a secret
                return found[0]
            value = self.values[found["name"]]
            written = "" if value is None else str(value)
            return quote(written, safe="") if safe else written

        return PLACEHOLDER.sub(filled, text)


def number_value(value: Any, where: str) -> int | float:
    text = str(value).strip()
    for kind in (int, float):
        try:
            parsed = kind(text)
        except ValueError:
            continue
        if abs(parsed) < float("inf"):
            return parsed
    raise InputError(f"{where} = {format_value(value)}: must be a finite number")


def without_nulls(content: Mapping[str, Any]) -> dict[str, Any]:
    """Without the keys at the top that a null takes away from a preset."""
    return {key: value for key, value in content.items() if value is not None}


def parameter_pairs(parameters: Mapping[str, Any]) -> Any:
    """What comes after ? in the address; a list gives its key several times."""
    for name, value in parameters.items():
        for each in value if isinstance(value, list) else [value]:
            yield str(name), as_text(each)


def as_text(value: Any) -> str:
    """A value as a text: true and false as JSON has them, mappings as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
