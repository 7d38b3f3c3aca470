"""Functions and values per query of other tools as sources: every form that is taken, and all that is refused."""

import itertools
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from ndcg_ab.config.model.inputs.connections import in_memory_file
from ndcg_ab.config.model.inputs.sources import PythonSource, ScoresSource
from ndcg_ab.errors import InputError, UnavailableError
from ndcg_ab.sources import RANKING, pull_source
from ndcg_ab.sources.external_scores import PULLED
from tests.cases import read_cases
from tests.inputs import write_table
from tests.paths import shared
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


VALUES = {("a", "1", "map"): 0.5, ("a", "2", "map"): 0.25, ("b", "1", "map"): 1.0, ("b", "2", "map"): 0.0}
OF_A = {key: value for key, value in VALUES.items() if key[0] == "a"}
NAMES = ("system_id", "query_id", "metric", "value")
TREC_EVAL = "map                   \t1\t0.5000\nmap                   \t2\t0.2500\n"
ALL = "runid                 \tall\tx\nmap                   \tall\t0.3750\n"
MEANS = {("a", "all", "map"): 0.375}


def read(path: Path, text: str, **keys: object) -> tuple[dict, dict]:
    """The values, and the means that the file gives."""
    path.write_text(text, encoding="utf-8")
    return parts(ScoresSource(file=path, **keys))


def parts(source: ScoresSource) -> tuple[dict, dict]:
    rows = pull_source(source, PULLED, Path()).table.to_pylist()
    found: tuple[dict, dict] = ({}, {})
    for row in rows:
        found[row["is_mean"]][row["system_id"], row["query_id"], row["metric"]] = row["value"]
    return found


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz", "a.jsonl", "a.parquet"])
def test_tables_name_their_systems(name: str, tmp_path: Path) -> None:
    rows = [dict(zip(NAMES, (*key, value), strict=True)) for key, value in VALUES.items()]
    assert parts(ScoresSource(file=write_table(tmp_path / name, rows))) == (VALUES, {})


@pytest.mark.parametrize(
    ("name", "text", "means"),
    [
        ("trec_eval.txt", TREC_EVAL + ALL, MEANS),
        ("without.all", TREC_EVAL, {}),
        ("ir_measures.tsv", "1\tmap\t0.5\n2\tmap\t0.25\nall\tmap\t0.375\n", MEANS),
        ("pytrec_eval.json", '{"1": {"map": 0.5},\n "2": {"map": 0.25}}', {}),
        ("records.jsonl", '{"query_id": "1", "measure": "map", "value": 0.5}\n'
         '{"query_id": "2", "measure": "map", "value": 0.25}\n', {}),
        ("one.csv", "query_id,metric,value\n1,map,0.5\n2,map,0.25\n", {}),
    ],
)  # fmt: skip
def test_files_of_one_system_are_given_its_name(name: str, text: str, means: dict, tmp_path: Path) -> None:
    assert read(tmp_path / name, text, system="a") == (OF_A, means)


def test_ir_measures_is_told_by_the_names_of_its_measures(tmp_path: Path) -> None:
    found, _ = read(tmp_path / "x", "map\tnDCG@10\t0.5\n17\tAP(rel=2)\t0.25\n", system="a")
    assert found == {("a", "map", "ndcg@10"): 0.5, ("a", "17", "ap(relevant_from=2)"): 0.25}


def test_in_memory_they_are_tables_or_what_pytrec_eval_gives() -> None:
    table = pa.table({"query_id": ["1", "2"], "metric": ["map"] * 2, "value": [0.5, 0.25]})
    for data in ({"1": {"map": 0.5}, "2": {"map": 0.25}}, table):
        assert parts(ScoresSource(file=in_memory_file("scores['a']", data), system="a")) == (OF_A, {})
    file = in_memory_file("scores", pa.table({"query_id": ["1"], "a": [0.5], "b": [1.0]}))
    assert parts(ScoresSource(file=file)) == ({("a", "1", "value"): 0.5, ("b", "1", "value"): 1.0}, {})


COLUMN_OF_A = "query_id,map\n1,0.5\n2,0.25\n"


@pytest.mark.parametrize(
    ("text", "system", "expected"),
    [
        ("query_id,a,b\n1,0.5,1\n2,0.25,0\n", None, {(*key[:2], "value"): value for key, value in VALUES.items()}),
        ("system,qid,map\na,1,0.5\na,2,0.25\nb,1,1\nb,2,0\n", None, VALUES),
        (COLUMN_OF_A, "a", OF_A),
        ("qid\tvalue\n1\t0.5\n2\t0.25\n", "a", {(*key[:2], "value"): value for key, value in OF_A.items()}),
        ("query,map,ndcg@10\n1,0.5,1\n", "a", {("a", "1", "map"): 0.5, ("a", "1", "ndcg@10"): 1.0}),
    ],
)
def test_a_column_for_each_system_or_metric(text: str, system: str | None, expected: dict, tmp_path: Path) -> None:
    assert read(tmp_path / "x", text, system=system) == (expected, {})


PUBLISHED = shared().parent / "cases" / "forms" if shared() is not None else Path("none")  # type: ignore[union-attr]


@pytest.mark.skipif(not PUBLISHED.is_dir(), reason="the published cases are not here (NDCG_AB_DATA)")
def test_the_published_cases_hold_the_same_values() -> None:
    of_a, means = parts(ScoresSource(file=PUBLISHED / "s_a.eval", system="a"))
    of_b, _ = parts(ScoresSource(file=PUBLISHED / "s_b_one_metric.csv", system="b"))
    wide, _ = parts(ScoresSource(file=PUBLISHED / "s_wide.csv"))
    both = {(system, query, "value"): value for (system, query, _), value in (of_a | of_b).items()}
    assert wide == pytest.approx(both, abs=1e-6)
    assert [*means.values()] == [0.815601]


REFUSED = read_cases("external_scores")["REFUSED"]


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused_says_where(what: str, tmp_path: Path) -> None:
    name, text, system, sentence = REFUSED[what]
    with pytest.raises(InputError, match=sentence) as error:
        read(tmp_path / name, text, system=system)
    assert str(tmp_path / name) in str(error.value)
    assert "\n" not in str(error.value)
