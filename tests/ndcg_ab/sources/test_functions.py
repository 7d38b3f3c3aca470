"""Functions as sources: what is said about one that fails, or returns what it should not."""

import itertools
import sys
from pathlib import Path

import pytest

from ndcg_ab.config.model.inputs.sources import PythonSource
from ndcg_ab.errors import InputError, UnavailableError
from ndcg_ab.sources import RANKING, pull_source
from tests.cases import read_cases
from tests.sentences import refusal_text

QUERIES = {"q1": "one", "q2": "two"}
MODULES = itertools.count()  # a module is imported once in a process

# the module's text -> what must stand in the message after its name
CASES = read_cases("functions")
BAD: dict[str, tuple[str, list[str]]] = CASES["BAD"]


def source_of(folder: Path, text: str, per_query: bool = False, **arguments: object) -> PythonSource:
    name = f"source{next(MODULES)}"
    (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return PythonSource(python=f"{name}:search", arguments=arguments, per_query=per_query)


def rows(source: PythonSource, folder: Path) -> list[tuple[object, ...]]:
    table = pull_source(source, RANKING, folder, QUERIES).table
    return list(zip(*(table[name].to_pylist() for name in ("query_id", "doc_id", "score")), strict=True))


@pytest.mark.parametrize("case", BAD)
def test_a_bad_function_is_told_in_one_sentence(case: str, tmp_path: Path) -> None:
    text, words = BAD[case]
    source = source_of(tmp_path, text)
    message = refusal_text(pull_source, source, RANKING, tmp_path, QUERIES)
    assert message.startswith(f"python = '{source.python}'")
    assert "InputError" not in message
    for word in words:
        assert word in message


def test_a_function_is_given_queries_and_arguments(tmp_path: Path) -> None:
    text = """
import array
import fractions

def search(queries, depth):
    scores = array.array("d", [1.5]), fractions.Fraction(1, 4)
    found = {query_id: [(f"{text} {rank}", rank) for rank in range(depth)] for query_id, text in queries.items()}
    queries.clear()  # a copy
    return found | {"q3": iter([["é", scores[0][0]], ("7", scores[1])]), "q4": []}
"""
    queries = dict(QUERIES)
    pulled = pull_source(source_of(tmp_path, text, depth=2), RANKING, tmp_path, queries)
    columns = [pulled.table[name].to_pylist() for name in ("query_id", "doc_id", "score", "rank")]
    assert list(zip(*columns, strict=True)) == [
        ("q1", "one 0", 0.0, None),
        ("q1", "one 1", 1.0, None),
        ("q2", "two 0", 0.0, None),
        ("q2", "two 1", 1.0, None),
        ("q3", "é", 1.5, None),
        ("q3", "7", 0.25, None),
    ]
    assert queries == QUERIES
    assert pulled.table.schema == RANKING.schema
    assert pulled.locate("q1", "one 0") == pulled.origin


@pytest.mark.parametrize("name", ["suffix", "file", "env"])
def test_a_function_can_be_called_for_each_query(name: str, tmp_path: Path) -> None:
    """An argument named like a reference is none."""
    text = f"def search(text, {name}):\n    return [(text + {name}, 1)] if text == 'two' else []"
    assert rows(source_of(tmp_path, text, per_query=True, **{name: "!"}), tmp_path) == [("q2", "two!", 1.0)]


def test_an_error_of_one_query_names_it(tmp_path: Path) -> None:
    text = "def search(text):\n    return [(text, {'one': 1}[text])]"
    with pytest.raises(InputError, match="failed on query 'q2': KeyError: 'two'"):
        rows(source_of(tmp_path, text, per_query=True), tmp_path)
    text = "def search(text):\n    raise ConnectionError(text)"
    with pytest.raises(UnavailableError, match="failed on query 'q1': ConnectionError: one"):
        rows(source_of(tmp_path, text, per_query=True), tmp_path)


def test_modules_beside_the_configuration_are_found_from_inside_functions(tmp_path: Path) -> None:
    helper = f"helper{next(MODULES)}"
    (tmp_path / f"{helper}.py").write_text("SCORE = 3")
    text = (
        f"def search(queries):\n    for q in queries:\n        import {helper} as h\n        yield q, [('a', h.SCORE)]"
    )
    before = list(sys.path)
    assert [row[2] for row in rows(source_of(tmp_path, text), tmp_path)] == [3.0, 3.0]
    assert sys.path == before


def test_every_configuration_has_its_own_modules(tmp_path: Path) -> None:
    """Also a folder `flows`, the name that this project's own sources bear in a checkout."""
    import flows

    for score, folder in enumerate((tmp_path / "a", tmp_path / "b")):
        (folder / "flows").mkdir(parents=True)
        (folder / "flows" / "__init__.py").write_text("")
        (folder / "flows" / "search.py").write_text(f"def find(queries):\n    return {{'q1': [('d', {score})]}}")
        assert rows(PythonSource(python="flows.search:find"), folder) == [("q1", "d", score)]
    assert sys.modules["flows"] is flows
    assert "flows.search" not in sys.modules
