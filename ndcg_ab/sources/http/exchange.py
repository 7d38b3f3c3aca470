"""Build the requests to a search engine and read the hits in its answers.

A request is made by filling a template for each query; the secrets of the template are looked up once. Hits are found
by JMESPath expressions, and each hit is checked.
"""

import dataclasses
import hashlib
import json
import re
from collections.abc import Container, Mapping
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from ndcg_ab.config.model.inputs.http import PLACEHOLDER, HttpRequest, HttpResults
from ndcg_ab.config.secrets.lookup import redact, reveal_secrets
from ndcg_ab.errors import InputError, first_characters, format_value, on_one_line, shorten
from ndcg_ab.sources.costs import MOST_COST
from ndcg_ab.sources.files.streams import RepeatedKeyError, make_strict_object
from ndcg_ab.sources.tables.schema import DOC_ID, NO_VALUE, Field, is_valid_text, read_value

ADDRESS = re.compile(r"https?://[^/?#\s]")
HEADER = re.compile(r"[\x20-\x7e\t]*")
NOTHING = object()  # the value of an empty attribute: its key is left out


@dataclasses.dataclass(frozen=True)
class Request:
    """The HTTP request for one query.

    key: a digest of the request without secrets.
    """

    query_id: str
    method: str
    url: str
    headers: dict[str, str]
    parameters: list[tuple[str, str]]
    body: bytes | None
    key: str


class Template:
    """The configured request with secrets looked up, which is filled for each query.

    where: the configuration key, for messages.
    """

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

    def fill(self, query_id: str, text: str, attributes: Mapping[str, str]) -> Request:
        """Return the request for one query.

        attributes: column -> value of the query, for the columns that the template names. Raises InputError if a header
        is not plain ASCII on one line, or if a placeholder for a number has another value.
        """
        values = {"query": text, "text": text, "query_id": query_id, "depth": self.described.depth}
        values |= {name: None if value in ("", NO_VALUE) else value for name, value in attributes.items()}
        where = f"{self.where}, query {format_value(query_id)}"
        body = self.known["body"]
        if body is not None:
            body = json.dumps(
                fill_content(without_nulls(body), values, where), ensure_ascii=False, allow_nan=False
            ).encode()
        headers = {"accept": "application/json"} | ({"content-type": "application/json"} if body is not None else {})
        for name, value in self.known["headers"].items():
            header = as_text(fill_content(value, values, where))
            if not HEADER.fullmatch(header):
                raise InputError(f"{where}: headers.{name}: must be plain ASCII on one line")
            headers[str(name).lower()] = header
        key = hashlib.sha256(json.dumps([self.signature, sorted(values.items(), key=str)]).encode()).hexdigest()
        parameters = fill_content(without_nulls(self.known["parameters"]), values, where)
        lists = {name: value if isinstance(value, list) else [value] for name, value in parameters.items()}
        pairs = [(str(name), as_text(each)) for name, several in lists.items() for each in several]
        url = fill_text(self.known["url"], values, safe=True)
        return Request(query_id, self.method, url, headers, pairs, body, key)


def fill_content(content: Any, values: Mapping[str, Any], where: str) -> Any:
    """Return nested dicts and lists with the placeholders in their texts filled.

    values: name of a placeholder -> value for one query; None for an empty attribute. A key or entry whose value is an
    empty attribute is left out. where: the location for messages. Raises InputError if a placeholder for a number has
    another value.
    """
    if isinstance(content, dict):
        filled = {key: fill_content(value, values, where) for key, value in content.items()}
        return {key: value for key, value in filled.items() if value is not NOTHING}
    if isinstance(content, list):
        return [value for each in content if (value := fill_content(each, values, where)) is not NOTHING]
    match = PLACEHOLDER.fullmatch(content) if isinstance(content, str) else None
    if match is None or match["name"] not in values:
        return fill_text(content, values) if isinstance(content, str) else content
    value = values[match["name"]]  # itself, such as a number, where the text is a single placeholder
    if value is None:
        return NOTHING
    return number_value(value, f"{where}: {content}") if match["number"] else value


def fill_text(text: str, values: Mapping[str, Any], safe: bool = False) -> str:
    """Return a text with placeholders filled; values are percent-encoded if `safe`.

    values: name of a placeholder -> value.
    """

    def filled(match: re.Match[str]) -> str:
        if match["name"] is None:
            return f"{{{match['plain']}}}"
        if match["name"] not in values:  # of a secret
            return match[0]
        value = values[match["name"]]
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
    """Return the mapping without the keys that are null, which a configuration uses to remove keys of a preset."""
    return {key: value for key, value in content.items() if value is not None}


def as_text(value: Any) -> str:
    """Return a value as text: texts unchanged, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


SCORE = Field("score", pa.float64())
LONGEST = 500  # characters of a title or an address
MOST_KEYS = 12  # in a message
EXCERPT = 200  # characters of an answer in a message
ENOUGH = 1 << 16  # bytes of it that are looked at for that


class QueryError(Exception):
    """Raised if one query has no answer; the text says why.

    Attributes
    ----------
    may_pass : bool
        Whether a retry may help.
    seconds : float or None
        The time from sending the last request until it was given up; None if nothing was sent.
    pause : float or None
        The number of seconds that the engine asks to wait; None if it does not ask.
    """

    def __init__(
        self, message: str, may_pass: bool = False, seconds: float | None = None, pause: float | None = None
    ) -> None:
        super().__init__(message)
        self.may_pass, self.seconds, self.pause = may_pass, seconds, pause


@dataclasses.dataclass(frozen=True)
class Hit:
    """One result of a query.

    score: None if results are ranked in the order of the answer. title, url: None if unknown.
    """

    doc_id: str
    score: float | None
    title: str | None = None
    url: str | None = None


class AnswerPath:
    """A JMESPath expression of a configuration, which finds a value in an answer.

    where, key: the key of the expression, for messages. Raises InputError if it is no JMESPath expression.
    """

    def __init__(self, where: str, key: str, written: str) -> None:
        import jmespath.exceptions

        self.text = f"{key} = {written!r}"
        self.trouble = jmespath.exceptions.JMESPathError
        try:
            self.expression = jmespath.compile(written)
        except self.trouble as error:
            reason = excerpt(str(error).splitlines()[0])
            raise InputError(f"{where}.{self.text}: must be a JMESPath expression: {reason}") from None

    def find(self, content: Any) -> Any:
        """Return the value that the expression finds; raise QueryError if the expression fails."""
        try:
            return self.expression.search(content)
        except self.trouble as error:
            raise QueryError(f"{self.text} fails: {excerpt(str(error))}") from None


class AnswerReader:
    """A reader that extracts hits and costs from answers by the JMESPath expressions of a configuration."""

    def __init__(self, described: HttpRequest, where: str) -> None:
        self.depth = described.depth
        self.paths = {
            field: AnswerPath(where, f"results.{field}", path)
            for field in HttpResults.model_fields
            if (path := getattr(described.results, field)) is not None
        }
        self.costs = {name: AnswerPath(where, f"costs.{name}", path) for name, path in described.costs.items()}

    def read_hits(self, answer: Any) -> list[Hit]:
        """Return the hits of an answer.

        Raises QueryError if the answer states an error, has no list of hits or more hits than `depth`, or a hit breaks
        a rule.
        """
        if error := self.find_field("error", answer):
            raise QueryError(f"the answer holds an error: {excerpt(error)}")
        hits = self.find_field("hits", answer)
        if not isinstance(hits, list):
            raise QueryError(
                f"{self.paths['hits'].text} finds {json_type(hits)} in the answer, and must find a list; the answer"
                f" {keys_text(answer)}"
            )
        if len(hits) > self.depth:
            raise QueryError(
                f"{len(hits)} hits came, more than depth = {self.depth}: give a larger depth, or pass {{depth}} on in"
                " parameters or body"
            )
        return [self.hit(hit, rank) for rank, hit in enumerate(hits, start=1)]

    def read_costs(self, answer: Any, names: Container[str]) -> dict[str, float]:
        """Return the mapping name -> value of the costs that an answer states.

        names: the costs to read; a cost that is missing or null is left out. Raises QueryError if a cost is no finite
        number of at least 0.
        """
        costs = {}
        for name, path in self.costs.items():
            value = path.find(answer) if name in names else None
            if value is None:
                continue
            if type(value) not in (int, float) or not 0 <= value <= MOST_COST:
                shown = format_value(value) if type(value) in (int, float) else json_type(value)
                raise QueryError(f"{path.text} finds {shown}, and must find a finite number, 0 or more")
            costs[name] = float(value)
        return costs

    def hit(self, hit: Any, rank: int) -> Hit:
        doc_id = str(self.value(DOC_ID, "id", hit, f"hit {rank}"))
        where = f"hit {rank}, document {format_value(doc_id)}"
        score = float(self.value(SCORE, "score", hit, where)) if "score" in self.paths else None
        return Hit(doc_id, score, self.read_words("title", hit), self.read_words("url", hit))

    def value(self, field: Field, path: str, hit: Any, where: str) -> str | float:
        """Return the id or the score of a hit; raise QueryError if the value is missing or not valid in a table.

        path: the key of the JMESPath expression in `results`. where: the location for messages.
        """
        try:
            return read_value(field, self.find_field(path, hit), f"{where}: {self.paths[path].text}")
        except InputError as error:
            hint = "; leave results.score out, and places count" if field is SCORE else ""
            raise QueryError(f"{error}{hint}; the hit {keys_text(hit)}") from None

    def read_words(self, field: str, hit: Any) -> str | None:
        """Return the title or address of a hit as text, or None if there is no usable value.

        If the hit has a list, the first entry counts. field: ``title`` or ``url``.
        """
        value = self.find_field(field, hit)
        if isinstance(value, list):
            value = value[0] if value else None
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return None
        text = " ".join(first_characters(str(value), LONGEST).split())
        return text if is_valid_text(text) else None

    def find_field(self, field: str, content: Any) -> Any:
        return self.paths[field].find(content) if field in self.paths else None


def parse_answer(content: bytes) -> Any:
    """Return the JSON value of an answer.

    Raises QueryError if the answer is not JSON, has a repeated key or is nested too deeply.
    """
    try:
        return json.loads(content, object_pairs_hook=make_strict_object)
    except RecursionError:
        raise QueryError("the answer is nested too deeply to be read") from None
    except RepeatedKeyError as error:
        raise QueryError(f"the answer cannot be read: {error}") from None
    except ValueError as error:
        start = content[:ENOUGH].decode(errors="replace").strip()
        if start.startswith("<"):
            raise QueryError(
                f"the answer is no JSON but HTML ({excerpt(start)}): is it the address of the search itself?"
            ) from None
        problem = f"the answer is no whole JSON: {error}" if start else "the answer is empty"
        raise QueryError(problem, may_pass=True) from None


def keys_text(content: Any) -> str:
    """Return a description of JSON content without its values, such as ``has the keys took, hits``, for a message."""
    if isinstance(content, dict):
        keys = [shorten(str(key), 40) for key in islice(content, MOST_KEYS + 1)]
        return f"has the keys {', '.join([*keys[:MOST_KEYS], *['…'] * (len(keys) > MOST_KEYS)]) or '(none)'}"
    return f"is {json_type(content)}" + (f" of {len(content)}" if isinstance(content, list) else "")


def json_type(value: Any) -> str:
    if value is None:
        return "nothing"
    names = {dict: "a mapping", list: "a list", bool: "true or false", str: "a text", int: "a number"}
    return names.get(type(value), "a number") if value != "" else "an empty text"


def excerpt(value: Any) -> str:
    """Return the beginning of an engine's message on one line, without known secrets."""
    text = on_one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), EXCERPT)
    return text if text.isprintable() else shorten(ascii(text)[1:-1], EXCERPT)
