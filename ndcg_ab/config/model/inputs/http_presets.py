"""The usual request and answer of known search engines: defaults of the keys of `http`, which any key overrides.

`error` finds what an engine says in an answer that is no whole one, though its status is 200: some of the shards
failed, the time was up.
"""

from typing import Any

REMOVABLE = ("parameters", "body")  # keys in which a null takes away what the preset has
MERGED = ("parameters", "body", "results", "costs")  # keys whose own keys are overridden one by one

LUCENE = {
    "method": "POST",
    "body": {"size": "{depth}", "query": {"multi_match": {"query": "{query}"}}},
    "results": {
        "hits": "hits.hits",
        "id": "_id",
        "title": "_source.title",
        "url": "_source.url",
        "error": "error.reason || error || (timed_out && 'timed_out') || (_shards.failed > `0` && '_shards.failed')",
    },
    "costs": {"took_ms": "took"},
}
PRESETS: dict[str, dict[str, Any]] = {
    "elasticsearch": LUCENE,
    "opensearch": LUCENE,
    "solr": {
        "method": "GET",
        "parameters": {"q": "{query}", "defType": "edismax", "rows": "{depth}", "wt": "json"},
        "results": {
            "hits": "response.docs",
            "id": "id",
            "title": "title",
            "url": "url",
            "error": "error.msg || (responseHeader.partialResults && 'partialResults')",
        },
        "costs": {"took_ms": "responseHeader.QTime"},
    },
    "vespa": {
        "method": "POST",
        "body": {"yql": "select * from sources * where userQuery()", "query": "{query}", "hits": "{depth}"},
        "results": {
            "hits": "root.children || (root.fields.totalCount == `0` && `[]`)",
            "id": "id",
            "title": "fields.title",
            "url": "fields.url",
            "error": "root.errors[0].message || (root.coverage.degraded && 'root.coverage.degraded')",
        },
    },
    "typesense": {
        "method": "GET",
        "parameters": {"q": "{query}", "per_page": "{depth}"},
        "results": {
            "hits": "hits",
            "id": "document.id",
            "title": "document.title",
            "url": "document.url",
            "error": "search_cutoff && 'search_cutoff'",
        },
        "costs": {"took_ms": "search_time_ms"},
    },
    "meilisearch": {
        "method": "POST",
        "body": {"q": "{query}", "limit": "{depth}"},
        "results": {"hits": "hits", "id": "id", "title": "title", "url": "url"},
        "costs": {"took_ms": "processingTimeMs"},
    },
    "groonga": {
        "method": "GET",
        "parameters": {
            "query": "{query}",
            "query_flags": "NONE",
            "limit": "{depth}",
            "output_columns": "_key",
            "sort_keys": "-_score",
        },
        "results": {"hits": "[1][0][2:]", "id": "[0]", "error": "[0][0] != `0` && [0][3]"},
    },
    "json": {
        "method": "GET",
        "parameters": {"q": "{query}", "limit": "{depth}"},
        "results": {"hits": "hits", "id": "id", "title": "title", "url": "url", "error": "error"},
    },
}


def complete_preset(given: dict[Any, Any]) -> dict[Any, Any]:
    """What is given, on the defaults of the preset that it names; a key that is null has its default.

    Inside parameters and body a null takes away what the preset has; it stays there, so that completing twice gives
    the same.
    """
    below = PRESETS.get(str(given.get("preset")), {})
    found = {**below, **{key: value for key, value in given.items() if value is not None}}
    for key in MERGED:
        if isinstance(below.get(key), dict) and isinstance(found[key], dict):
            own = {name: value for name, value in found[key].items() if value is not None or key in REMOVABLE}
            found[key] = {**below[key], **own}
    return found
