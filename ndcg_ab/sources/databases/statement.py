"""The check that the query of a configuration is one statement, and only reads."""

import re

from ndcg_ab.errors import InputError, format_value

HIDDEN = re.compile(  # texts, quoted names and comments: what is in them is no SQL
    r"""\b[eE]'(?:[^'\\]|\\.|'')*' | '(?:[^']|'')*' | "(?:[^"]|"")*" | \$(?P<tag>\w*)\$.*?\$(?P=tag)\$
    | --[^\n]* | /\*.*?\*/""",
    re.DOTALL | re.VERBOSE,
)
READING = ("select", "with", "values", "table")
WRITING = re.compile(r"\binto\b|[()]\s*\b(?P<verb>insert|update|delete|merge)\b", re.IGNORECASE)
RULE = "it must be one statement that reads: SELECT, WITH, VALUES or TABLE"


def read_only_statement(query: str, place: str) -> str:
    """Return a query without what follows its last semicolon; raise InputError if it is not one that only reads.

    Notes
    -----
    A line end is added: drivers put a query between parentheses, and a last comment would take the closing one along.
    """
    code = HIDDEN.sub(lambda found: " " * len(found[0]), query)
    statement, _, rest = code.partition(";")
    if rest.strip("; \t\r\n"):
        raise InputError(f"{place}: the query holds several statements, divided by a semicolon: {RULE}")
    words = statement.lstrip("( \t\r\n").split(None, 1)
    word = re.split(r"\W", words[0], maxsplit=1)[0] if words else ""
    if word.lower() not in READING:
        raise InputError(f"{place}: the query begins with {format_value(word or query.strip())}: {RULE}")
    if found := WRITING.search(statement):
        verb = found["verb"] or found[0]
        raise InputError(f"{place}: the query holds {verb.upper()}, which writes: {RULE}; put a name into quotes")
    return query[: len(statement)] + "\n"
