"""The demo's search engine: the standard library's own documentation, searched with SQLite's FTS5.

The corpus is made on the spot from the interpreter that runs it: every public module, function, class
and method of the standard library that has a docstring, some 5,200 documents.  Nothing is downloaded.  It is read in
a process of its own, so that it is the same wherever the search runs: `ndcg-ab run` and others put functions of
their own instead of `sys.excepthook`, and Prefect of `print` in a flow that logs what is printed.

Four versions of a ranker search it, and they differ as versions of a real one do:

* ``body-only``: BM25 over the docstring, any word may match, with Porter stemming;
* ``name-weighted``: the same, and a match in the name (``csv.DictReader`` reads "csv dict reader")
  counts five times;
* ``general-first``: a match in the name counts three times, and the deeper a name lies (``random.choice`` before
  ``random.Random.choice``) the less its page counts;
* ``name-weighted-unstemmed``: as ``name-weighted``, without stemming (not in `configs/demo.yaml`; try it);
* ``all-words``: as ``name-weighted``, but every word must match, so that some queries find nothing.

`search` is what `configs/demo.yaml` names as a ``python:`` source; write such a function for your own
engine to compare its versions.
"""

import contextlib
import functools
import importlib
import inspect
import io
import json
import pkgutil
import re
import sqlite3
import subprocess
import sys
import types
import warnings
from collections.abc import Iterator, Mapping
from typing import NamedTuple


class Version(NamedTuple):
    """The settings of one version of the ranker.

    tokenizer, columns: options of the FTS5 table. name: the weight of a match in the name. words: the operator between
    query words: any word may match, or every word must. depth: the penalty of a page for each dot in its name.
    """

    tokenizer: str = "porter unicode61"
    columns: str = "name body"
    name: float = 5.0
    words: str = " OR "
    depth: float = 0.0


VERSIONS = {
    "body-only": Version(columns="body", name=0.0),
    "name-weighted": Version(),
    "general-first": Version(name=3.0, depth=0.15),
    "name-weighted-unstemmed": Version(tokenizer="unicode61"),
    "all-words": Version(words=" AND "),
}

# Importing these opens a window or a browser, prints, or brings in tests and examples.
SKIPPED = {"antigravity", "this", "idlelib", "test", "turtledemo", "lib2to3", "ensurepip", "pydoc_data"}
# Often packaged apart, or one document per character set.
SKIPPED |= {"tkinter", "turtle", "curses", "encodings"}
# Gone since Python 3.12 or 3.13 (PEP 594, 632): the judgments should hold for every interpreter.
SKIPPED |= {"distutils", "imp", "asynchat", "asyncore", "smtpd", "aifc", "audioop", "cgi", "cgitb", "chunk"}
SKIPPED |= {"crypt", "imghdr", "mailcap", "msilib", "nis", "nntplib", "ossaudiodev", "pipes", "sndhdr", "spwd"}
SKIPPED |= {"sunau", "telnetlib", "uu", "xdrlib"}
# The public name of these is another one (os.path).
ALIASES = {"posixpath", "ntpath", "genericpath", "nturl2path", "sre_compile", "sre_constants", "sre_parse"}


def module_names() -> Iterator[str]:
    """Yield the names of public standard library modules, packages before the modules in them."""
    for top in sorted(sys.stdlib_module_names):
        if top.startswith("_") or top in SKIPPED | ALIASES:
            continue
        yield top
        if top == "os":
            yield "os.path"
        with contextlib.suppress(Exception):
            found = importlib.import_module(top)
            if hasattr(found, "__path__"):
                for inner in pkgutil.walk_packages(found.__path__, top + "."):
                    parts = inner.name.split(".")
                    if not any(part.startswith("_") or part in SKIPPED | {"tests"} for part in parts):
                        yield inner.name


def public_members(module: types.ModuleType) -> Iterator[tuple[str, object]]:
    """Yield (name, object) for the members that a module defines, without those that it merely imported."""
    listed = getattr(module, "__all__", None)
    names = listed or [name for name in vars(module) if not name.startswith("_")]
    for name in sorted(set(names)):
        member = getattr(module, name, None)
        home = getattr(member, "__module__", None) or module.__name__
        if listed or home.lstrip("_") == module.__name__:
            yield name, member


@functools.cache
def documents() -> tuple[tuple[str, str], ...]:
    """Return (doc_id, docstring) of the whole corpus, ordered by doc_id; doc_id is the dotted public name.

    The corpus is read in a fresh interpreter without site packages, start-up files and PYTHON… variables.
    """
    command = [sys.executable, "-I", "-S", "-X", "utf8", __file__]
    made = subprocess.run(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, check=True)
    return tuple((doc_id, text) for doc_id, text in json.loads(made.stdout))


def documents_here() -> list[tuple[str, str]]:
    """Return (doc_id, docstring) of the corpus as the present interpreter sees it."""
    texts: dict[str, str] = {}
    seen: dict[int, object] = {}  # the objects are kept, so that no two of them have one id

    def add(doc_id: str, item: object) -> bool:
        if id(item) in seen:
            return False
        seen[id(item)] = item
        text = inspect.getdoc(item) if not inspect.isclass(item) else item.__doc__
        if isinstance(text, str) and text.strip():
            texts.setdefault(doc_id, inspect.cleandoc(text))
        return True

    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        for module_name in module_names():
            try:
                module = importlib.import_module(module_name)
            except (Exception, SystemExit):  # not on this platform
                continue
            add(module_name, module)
            for name, member in public_members(module):
                prefix = "" if module_name == "builtins" else module_name + "."
                if inspect.isclass(member):
                    if add(prefix + name, member):
                        for method_name, method in sorted(vars(member).items()):
                            public = not method_name.startswith("_") and callable(getattr(member, method_name, None))
                            if public and getattr(method, "__doc__", None):
                                add(f"{prefix}{name}.{method_name}", method)
                elif callable(member) and not inspect.ismodule(member):
                    add(prefix + name, member)
    return sorted(texts.items())


def name_words(doc_id: str) -> str:
    """Return the words of a dotted name: ``csv.DictReader`` -> ``csv.DictReader csv Dict Reader``."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", re.sub(r"[._]+", " ", doc_id))
    return f"{doc_id} {spaced}"


def build_index(tokenizer: str) -> sqlite3.Connection:
    """Return an FTS5 index of the corpus in memory."""
    connection = sqlite3.connect(":memory:")
    connection.execute(f"create virtual table page using fts5(doc_id unindexed, name, body, tokenize = '{tokenizer}')")
    connection.executemany(
        "insert into page values (?, ?, ?)", ((doc_id, name_words(doc_id), text) for doc_id, text in documents())
    )
    return connection


def search(
    queries: Mapping[str, str], version: str = "name-weighted", limit: int = 100
) -> dict[str, list[tuple[str, float]]]:
    """Return the first `limit` documents for each query, with their BM25 scores (higher is better).

    queries: query_id -> text. The result maps query_id to (doc_id, score) pairs.
    """
    tokenizer, columns, name_weight, operator, depth = VERSIONS[version]
    connection = build_index(tokenizer)
    try:
        found = {}
        for query_id, text in queries.items():
            words = operator.join(f'"{word}"' for word in re.findall(r"\w+", text))
            pages = connection.execute(
                "select doc_id, -bm25(page, 0, ?, 1) as score from page where page match ?"
                " order by score desc, doc_id desc limit ?",
                (name_weight, f"{{{columns}}} : ({words})", limit),
            ).fetchall()
            found[query_id] = [(doc_id, score / (1 + depth * doc_id.count("."))) for doc_id, score in pages]
        return found
    finally:
        connection.close()


if __name__ == "__main__":
    sys.stdout.write(json.dumps(documents_here()))
