"""The model of a search engine over HTTP: request template, paths in the answer, limits.

A request is a template over parsed values, never over JSON text. Texts may contain the placeholders
    {query} or {text}  the query's text        {query_id}  its id        {depth}  number of results to request
    {NAME}             the column NAME of the file of queries
    {NAME:number}      the value of that column as a number, if the text consists of this placeholder only
`{{NAME}}` stands for a plain `{NAME}`. Other braces stay.
"""

import re
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import field_validator, model_validator

from ndcg_ab.config.model.costs import LATENCY, refuse_name
from ndcg_ab.config.model.inputs.connections import SourceModel, safe_address
from ndcg_ab.config.model.keys import Model, Trait, key
from ndcg_ab.config.walking import walk_texts

REMOVABLE = ("parameters", "body")  # keys in which a null takes away what the preset has
MERGED = ("parameters", "body", "results", "costs")  # keys whose own keys are overridden one by one


def usual_request(
    method: str, request: dict[str, Any], hits: str, took: str | None = None, **results: str | None
) -> dict[str, Any]:
    """Return the usual request and answer of a search engine, as defaults of the keys of `http`.

    request: the parameters of a GET, or the body of a POST. hits, results: JMESPath expressions, as in `HttpResults`;
    by default a hit has an id, a title and a url. took: the path of the engine's own time in milliseconds.
    """
    keys: dict[str, Any] = {"method": method, "body" if method == "POST" else "parameters": request}
    keys["results"] = {"hits": hits, "id": "id", "title": "title", "url": "url", **results}
    return keys | ({"costs": {"took_ms": took}} if took else {})


LUCENE = usual_request(
    "POST",
    {"size": "{depth}", "query": {"multi_match": {"query": "{query}"}}},
    "hits.hits",
    "took",
    id="_id",
    title="_source.title",
    url="_source.url",
    error="error.reason || error || (timed_out && 'timed_out') || (_shards.failed > `0` && '_shards.failed')",
)
# The defaults that a preset gives, which any key overrides. `error` finds what an engine says in an answer that is no
# whole one, though its status is 200: some of the shards failed, the time was up.
PRESETS: dict[str, dict[str, Any]] = {
    "elasticsearch": LUCENE,
    "opensearch": LUCENE,
    "solr": usual_request(
        "GET",
        {"q": "{query}", "defType": "edismax", "rows": "{depth}", "wt": "json"},
        "response.docs",
        "responseHeader.QTime",
        error="error.msg || (responseHeader.partialResults && 'partialResults')",
    ),
    "vespa": usual_request(
        "POST",
        {"yql": "select * from sources * where userQuery()", "query": "{query}", "hits": "{depth}"},
        "root.children || (root.fields.totalCount == `0` && `[]`)",
        title="fields.title",
        url="fields.url",
        error="root.errors[0].message || (root.coverage.degraded && 'root.coverage.degraded')",
    ),
    "typesense": usual_request(
        "GET",
        {"q": "{query}", "per_page": "{depth}"},
        "hits",
        "search_time_ms",
        id="document.id",
        title="document.title",
        url="document.url",
        error="search_cutoff && 'search_cutoff'",
    ),
    "meilisearch": usual_request("POST", {"q": "{query}", "limit": "{depth}"}, "hits", "processingTimeMs"),
    "groonga": usual_request(
        "GET",
        {
            "query": "{query}",
            "query_flags": "NONE",
            "limit": "{depth}",
            "output_columns": "_key",
            "sort_keys": "-_score",
        },
        "[1][0][2:]",
        id="[0]",
        title=None,
        url=None,
        error="[0][0] != `0` && [0][3]",
    ),
    "json": usual_request("GET", {"q": "{query}", "limit": "{depth}"}, "hits", error="error"),
}


def complete_preset(keys: dict[Any, Any]) -> dict[Any, Any]:
    """Return the keys of a request, completed with the defaults of the preset that they name.

    A key that is null gets the default. Inside `parameters` and `body`, null removes the entry of the preset; it stays
    in the result, so that completing the result again changes nothing.
    """
    below = PRESETS.get(str(keys.get("preset")), {})
    completed = {**below, **{key: value for key, value in keys.items() if value is not None}}
    for part in MERGED:
        if isinstance(below.get(part), dict) and isinstance(completed[part], dict):
            own = {name: value for name, value in completed[part].items() if value is not None or part in REMOVABLE}
            completed[part] = {**below[part], **own}
    return completed


PLACEHOLDER = re.compile(r"\{\{(?P<plain>[A-Za-z_]\w*(:number)?)\}\}|\{(?P<name>[A-Za-z_]\w*)(?P<number>:number)?\}")
FILLED = (Trait.DATED, Trait.LATE)  # the keys that make a request
OWN = ("query", "text", "query_id", "depth")  # what a template has without a column of its own
PresetName = Literal["elasticsearch", "opensearch", "solr", "vespa", "typesense", "meilisearch", "groonga", "json"]
assert set(PRESETS) == set(PresetName.__args__)  # type: ignore[attr-defined]


class HttpResults(Model):
    """The JMESPath expressions of the hits and the error in an answer, and of the id, score, title and url in a hit."""

    hits: str = key("The list of hits in the answer, the best first.", "hits")
    id: str = key("The document's id in a hit.", "id")
    score: str | None = key("Its score, higher is better; by default the order as returned.", None)
    title: str | None = key("Its title, for the page; it changes no result.", None)
    url: str | None = key("Its address, for the page; it changes no result.", None)
    error: str | None = key("What tells in the answer that it is an error or not complete.", None)


class HttpRequest(Model):
    """The request that is sent for each query, and the paths of the results in its answer."""

    preset: PresetName | None = key("The engine, whose usual request and answer are the defaults.", None)
    url: Annotated[str, *FILLED] = key(
        "Address of the request, such as https://host/index/_search; texts are filled in."
    )
    method: Literal["GET", "POST"] | None = key("By default POST with a body, else GET.", None)
    headers: Annotated[dict[str, Any], *FILLED] = key("Headers; secrets as {env: NAME}.", dict)
    parameters: Annotated[dict[str, Any], *FILLED] = key("What comes behind ? in the address.", dict)
    body: Annotated[dict[str, Any] | None, *FILLED] = key("The body, sent as JSON.", None)
    results: HttpResults = HttpResults()
    costs: dict[str, str] = key("COST: JMESPath of a number in the answer, as took_ms: took (docs/costs.md).", dict)
    depth: int = key("Number of requested results: {depth}.", 100, strict=True, ge=1, le=100_000)
    concurrency: int = key("Requests at the same time.", 4, strict=True, ge=1, le=64)
    per_second: float | None = key("Requests that begin in a second, at the most.", None, gt=0)
    timeout: float = key("Seconds for one request, from its begin to its last byte.", 30.0, gt=0, le=3600)
    connect_timeout: float = key("Seconds for the connection.", 5.0, gt=0, le=600)
    retries: int = key("How often a request is tried again.", 3, strict=True, ge=0, le=20)
    deadline: float = key("Seconds for all queries together.", 3600.0, gt=0)
    most_bytes: int = key("Bytes of an answer, at the most.", 20_000_000, strict=True, ge=1000)
    allow_failed_queries: int = key(
        "Queries that may fail; they are left out as missing, never empty.", 0, strict=True, ge=0
    )

    @model_validator(mode="before")
    @classmethod
    def _with_preset(cls, keys: Any) -> Any:
        return complete_preset(keys) if isinstance(keys, dict) else keys

    @field_validator("costs")
    @classmethod
    def _named_costs(cls, value: dict[str, str]) -> dict[str, str]:
        for name in value:
            refuse_name(name)
        if LATENCY in value:
            raise ValueError(f"{LATENCY} is the time of a request, which is measured: call the engine's own took_ms")
        return value

    @field_validator("url")
    @classmethod
    def _an_address(cls, value: str) -> str:
        if value.startswith("${"):  # the whole of it is a variable, known when it is used
            return value
        try:
            host = urlsplit(value).netloc
        except ValueError:
            host = ""
        if not re.match(r"https?://", value) or not host:
            raise ValueError("must be an address that begins with http:// or https://")
        if "@" in host and not re.search(r"\$\{[^{}]*\}", host.rpartition("@")[0]):
            raise ValueError("a name and password go into `headers`, as {env: NAME}, not into the address")
        if any(found["name"] for found in PLACEHOLDER.finditer(re.sub(r"\$\{[^{}]*\}", "", host))):
            raise ValueError("the host must be the same for every query")
        return value

    @property
    def attributes(self) -> tuple[str, ...]:
        """The columns of the file of queries that the request names."""
        names = (
            found["name"]
            for _, text in walk_texts([self.url, self.headers, self.parameters, self.body])
            for found in PLACEHOLDER.finditer(re.sub(r"\$\{[^{}]*\}", "", text))
        )
        return tuple(dict.fromkeys(name for name in names if name and name not in OWN))


class HttpSource(SourceModel):
    """A search engine over HTTP, with one request per query."""

    needs_queries: ClassVar[bool] = True

    http: HttpRequest = key("A search engine that is asked over HTTP.")

    @property
    def attributes(self) -> tuple[str, ...]:
        return self.http.attributes

    @property
    def display_name(self) -> str:
        return safe_address(self.http.url)
