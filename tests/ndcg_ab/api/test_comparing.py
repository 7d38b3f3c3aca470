"""`ndcg_ab.compare` and `evaluate`: the command's numbers, whatever the data come in; nothing is written."""

import functools
import gc
import inspect
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
import yaml

import ndcg_ab
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.options.from_options import OPTIONS
from ndcg_ab.engines.duckdb import engine as engine_module
from ndcg_ab.engines.duckdb.engine import shared_database
from tests.asked import asked_for, digests
from tests.commands import compare_command, invoke
from tests.ndcg_ab.api import typed_program
from tests.ndcg_ab.api.frames import (
    JUDGMENTS,
    QUERIES,
    SYSTEMS,
    TABLES,
    dictionaries,
    judgment_frame,
    query_frame,
    ranking_frame,
)
from tests.paths import DATA, ROOT

pytestmark = pytest.mark.slow

ARGUMENTS = {"metrics": ["ndcg@5", "rr"], "seed": 7, "slices": ["language"], "smallest_slice": 6, "all_pairs": True}
AS_OPTIONS = ["--metric", "ndcg@5", "--metric", "rr", "--seed", "7", "--slice", "language", "--all-pairs"]
AS_OPTIONS += ["--smallest-slice", "6"]


@functools.cache
def of_the_command(*options: str) -> str:
    found = invoke(command_of(*options))
    assert found.exit_code == 0, found.output
    return found.stdout


def command_of(*options: str) -> list[str]:
    return compare_command(DATA, *options, "--json", "-", judgments="judgments.qrels")


@pytest.fixture(scope="module")
def expected() -> str:
    return of_the_command(*AS_OPTIONS, "--queries", QUERIES)


def frames() -> dict[str, Any]:
    return {name: ranking_frame(name) for name in SYSTEMS}


def digests_read(judgments: Any, systems: Any, **arguments: Any) -> list[str | None]:
    """The digests of what `compare` would read."""
    return digests(asked_for(lambda: ndcg_ab.compare(judgments, systems, **arguments)))


@pytest.mark.parametrize("kind", TABLES)
def test_tables_are_read_as_files_are(kind: str) -> None:
    table = TABLES[kind]
    systems = {name: table(frame) for name, frame in frames().items()}
    of_files = digests_read(JUDGMENTS, SYSTEMS, queries=QUERIES, **ARGUMENTS)
    assert digests_read(table(judgment_frame()), systems, queries=table(query_frame()), **ARGUMENTS) == of_files
    assert len({*of_files}) == 4


def query_dictionaries() -> dict[str, Any]:
    return {row.pop("query_id"): row for row in query_frame().to_dict("records")}


def scored_dictionaries() -> dict[str, Any]:
    return {name: dictionaries(frame, "score") for name, frame in frames().items()}


KINDS: dict[str, Callable[[], tuple[Any, Any, Any]]] = {
    "tables": lambda: (judgment_frame(), frames(), query_frame()),
    "paths": lambda: (JUDGMENTS, SYSTEMS, Path(QUERIES)),
    "a list of paths, which names the systems": lambda: (JUDGMENTS, [*map(Path, SYSTEMS.values())], QUERIES),
    "dictionaries": lambda: (dictionaries(judgment_frame(), "grade"), scored_dictionaries(), query_dictionaries()),
    "kinds mixed": lambda: (judgment_frame(), scored_dictionaries() | {"old": SYSTEMS["old"]}, QUERIES),
}


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_is_given_the_comparison_is_the_command_s(kind: str, expected: str) -> None:
    judgments, systems, queries = KINDS[kind]()
    assert ndcg_ab.compare(judgments, systems, queries=queries, **ARGUMENTS).to_json() == expected


def test_dictionaries_of_any_kind_are_read_alike() -> None:
    """Texts and numbers, and through the careful way in: other keys, and numbers of numpy's."""
    queries, judgments, systems = query_dictionaries(), dictionaries(judgment_frame(), "grade"), scored_dictionaries()
    plain = digests_read(judgments, systems, queries=queries, **ARGUMENTS)
    strange = {
        query: {np.str_(doc): np.float64(score) for doc, score in docs.items()}
        for query, docs in systems["new"].items()
    }
    strange["bread"] = {doc.encode(): score for doc, score in systems["new"]["bread"].items()}
    assert digests_read(judgments, {**systems, "new": strange}, queries=queries, **ARGUMENTS) == plain


def test_whole_numbers_are_texts() -> None:
    """A grade of document 7 is that of document '7', in tables and dictionaries."""
    judgments, ranking = {1: {7: 1, 8: 0}}, {1: {7: 1, 8: 2}}
    texts = digests_read({"1": {"7": 1, "8": 0}}, {"a": {"1": {"7": 1, "8": 2}}})
    assert digests_read(judgments, {"a": ranking}) == texts
    table = {"query_id": [1, 1], "doc_id": [7, 8]}
    for make in (TABLES["polars"], TABLES["pandas"]):
        grades, scores = (make(pd.DataFrame(table | column)) for column in ({"grade": [1, 0]}, {"score": [1, 2]}))
        assert digests_read(grades, {"a": scores}) == texts


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ({"metrics": ndcg_ab.parse("rr"), "alpha": 0.1}, ["--metric", "rr", "--alpha", "0.1"]),
        ({"guardrails": {ndcg_ab.parse("rr"): 0.05}}, ["--guardrail", "rr=0.05"]),
        ({"queries": QUERIES, "weighted": False}, ["--queries", QUERIES, "--unweighted"]),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else "",
)
def test_arguments_are_options(arguments: dict[str, Any], options: list[str]) -> None:
    of_arguments = asked_for(lambda: ndcg_ab.compare(JUDGMENTS, SYSTEMS, **arguments))
    assert of_arguments == asked_for(lambda: invoke(command_of(*options)))


OWN_ARGUMENTS = {"queries_columns", "documents_columns", "progress"}


def test_every_option_is_an_argument_with_the_model_s_default() -> None:
    signature = inspect.signature(ndcg_ab.compare)
    assert set(signature.parameters) == {option.argument_name for option in OPTIONS} | OWN_ARGUMENTS
    model = Evaluation.model_validate({"name": "t", "judgments": "q", "systems": [{"name": "a", "file": "a"}]})
    for option in OPTIONS:
        default = signature.parameters[option.argument_name].default
        if option.argument_name in (
            "judgments",
            "systems",
            "columns",
            "format",
            "judgments_columns",
            "judgments_format",
        ):
            assert default in (inspect.Parameter.empty, None)
            continue
        value: Any = model
        for part in option.key.split("."):
            value = getattr(value, part, None)
        assert (list(default) if isinstance(default, tuple) else default or value) == value, option.argument_name


def test_a_configuration_in_a_file_and_in_a_mapping(tmp_path: Path, expected: str) -> None:
    content = {
        "name": "nightly",
        "judgments": JUDGMENTS,
        "queries": QUERIES,
        "systems": [{"name": name, "file": path} for name, path in SYSTEMS.items()],
        "metrics": ["ndcg@5", "rr"],
        "statistics": {"seed": 7, "all_pairs": True},
        "slices": {"by": ["language"], "smallest": 6},
    }
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(content))
    assert [ndcg_ab.evaluate(given).to_json() for given in (tmp_path / "c.yaml", content)] == [expected] * 2
    assert list(tmp_path.iterdir()) == [tmp_path / "c.yaml"]


def test_progress_is_told_what_begins() -> None:
    told: list[str] = []
    ndcg_ab.compare(JUDGMENTS, SYSTEMS, progress=told.append)
    assert told[:3] == ["pull queries", "pull judgments judgments.qrels", "pull old"]
    assert told[-1] == "test the differences"


def test_the_result_outlives_the_data() -> None:
    """What it shows was read at once: a frame may be changed afterwards, a result may travel."""
    judgments, systems = judgment_frame(), frames()
    result = ndcg_ab.compare(judgments, systems)
    scores, shown = result.query_scores.to_pylist(), result._page.rankings.to_pylist()
    for frame in (judgments, *systems.values()):
        numbers = frame["grade" if "grade" in frame else "score"].to_numpy(copy=False)
        numbers.flags.writeable = True
        numbers[:] = 0
    travelled = pickle.loads(pickle.dumps(result))
    assert travelled.query_scores.to_pylist() == scores
    assert travelled.to_json() == result.to_json()
    assert travelled._page.rankings.to_pylist() == shown
    assert {"query_id": "bread", "doc_id": "bread-song", "grade": 3.0}.items() <= shown[0].items() | shown[2].items()


def test_no_connection_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """The database of the process stays, for small comparisons to come; their connections, and tables, do not."""
    opened: list[Any] = []
    database = shared_database(os.getpid())

    class Counted:
        def cursor(self) -> Any:
            opened.append(database.cursor())
            return opened[-1]

    monkeypatch.setattr(engine_module, "shared_database", lambda process: Counted())
    monkeypatch.setattr(duckdb, "connect", lambda *arguments, **keywords: pytest.fail("another database is opened"))
    result = ndcg_ab.compare(JUDGMENTS, SYSTEMS)
    gc.collect()
    assert len(opened) == 1
    with pytest.raises(duckdb.ConnectionException):
        opened[0].execute("select 1")
    assert database.execute("from duckdb_tables()").fetchall() == []
    assert result.query_scores.num_rows == 40


def test_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = ndcg_ab.compare(judgment_frame(), frames(), queries=query_frame(), **ARGUMENTS)
    _ = str(result), repr(result), result._repr_html_(), result.to_json(), result.to_arrow()
    ndcg_ab.explain(JUDGMENTS, SYSTEMS, query="pasta")
    ndcg_ab.power(result, weights=QUERIES)
    assert list(tmp_path.iterdir()) == []


def test_the_typed_program_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """mypy checks its types, in `make check`; that they are true shows here."""
    monkeypatch.chdir(ROOT)
    typed_program.main()


def test_paths_start_from_the_working_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(DATA)
    monkeypatch.setenv("HOME", str(DATA))
    systems: dict[str, Any] = {"old": "old.run", "new": "~/new.run"}
    assert digests_read("judgments.qrels", systems) == digests_read(JUDGMENTS, SYSTEMS)
