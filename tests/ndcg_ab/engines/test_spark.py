"""Judgments and rankings that stay on a real Spark, against the same in DuckDB: one session for all tests.

`make test` begins a Spark in one process; `make soak` a master, a worker and its executor, which take as much again.
"""

import contextlib
import dataclasses
import functools
import logging
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as papq
import pytest

from ndcg_ab import thresholds
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.duckdb import StoredTables
from ndcg_ab.errors import InputError
from ndcg_ab.history.bundle import SCORES, TABLES, read_bundle, read_content
from ndcg_ab.pipeline.context import Context
from ndcg_ab.pipeline.pulls import pull_ranking
from ndcg_ab.pipeline.stages import check_only
from ndcg_ab.pipeline.store import Store
from ndcg_ab.report.page.data import PageData, gather_page_data
from ndcg_ab.results.outcome import Finding, Outcome
from ndcg_ab.scoring.scoring import open_engine_for
from ndcg_ab.temporary import clear_abandoned, folder_of_process, user_folder
from ndcg_core.measures.notation import parse
from tests.paths import ROOT
from tests.repeated import mostly_soaked
from tests.sentences import refusal_text
from tests.servers import free_port
from tests.small_evaluation import pull_inputs, undrawn
from tests.spark_cluster import CONF, missing, standalone, with_connect
from tests.warehouse_values import Warehouse, all_tables, assert_equal

pytestmark = [pytest.mark.slow, pytest.mark.skipif(missing() is not None, reason=str(missing()))]
# What ties can do is looked at once for all that order alike and look equally deep: here there are four such groups.
METRICS = [
    "ndcg@3",
    "ndcg(ties=doc_id_asc, score_precision=float32)@3",
    "ndcg(ties=average, unjudged=condense, negative=unjudged)@3",
    "ndcg(ties=given)@3",
    "ndcg(ideal=local)@3",
    "ndcg(ideal=recall)@3",
    "ndcg(ideal=max)@3",
    "ndcg(ideal_cut=returned)@3",
    "ndcg(gain=exponential, discount=jarvelin_kekalainen)@3",
    "ndcg(unanswered=exclude, no_relevant=zero)@3",
    "rr@3",
    "precision@3",
    "recall@3",
    "accuracy@3",
    "dcg@3",
    "judged@3",
    "ap@3",
    "rbp@3",
    "err@3",
]
# In UTF-16 the last would stand before the one above it; their bytes stand as they do here.
DOCUMENTS = ["A", "a", "b0", "b00", "d-1", "é", "éa", "ø", "名", "～", "\U0001f600"]
LOCAL = "local[1]"
QUERIES = [f"q{number}" for number in range(12)] + ["größe"]
SCORES_OF_OLD = [2.0, 1.0, 1.0, 0.5, 0.0, -0.0, -1.0]


class Both(NamedTuple):
    """The same evaluation, here and on the cluster: where its bundle is, and what was found."""

    here: Path
    there: Path

    def outcomes(self) -> tuple[Outcome, Outcome]:
        return read_bundle(self.here).outcome, read_bundle(self.there).outcome


@pytest.fixture(scope="module", params=mostly_soaked([LOCAL, "standalone"], kept=[LOCAL]))
def master(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of Spark; its session ends with it.

    A process has one at a time, and a second is not begun well: no selection of tests should ask for both.
    """
    from pyspark import SparkContext

    with contextlib.ExitStack() as ended:
        is_local = request.param == LOCAL
        yield LOCAL if is_local else ended.enter_context(standalone(tmp_path_factory.mktemp("spark")))
        if (context := SparkContext._active_spark_context) is not None:
            context.stop()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Judgments and rankings with ties, with zeros of both signs, ids that are not ASCII, and queries left out."""
    folder = tmp_path_factory.mktemp("tables")
    chance = random.Random(3)
    judged = [
        {"topic": query, "doc_id": doc, "grade": chance.choice([-1.0, 0.0, 0.0, 1.0, 2.0, 3.0])}
        for query in QUERIES
        for doc in chance.sample(DOCUMENTS, 6)
    ]
    judged = [row | {"grade": 0.0} if row["topic"] == "q3" else row for row in judged]
    write(folder / "judgments", judged)
    for system, left_out in (("old", "q1"), ("new", "q2")):
        rows = []
        for query in [*QUERIES, "unjudged"]:
            if query != left_out:
                chosen = chance.sample(DOCUMENTS, chance.choice([2, 7, 9]))
                scores = sorted((chance.choice(SCORES_OF_OLD) for _ in chosen), reverse=system == "old" or query > "q5")
                for rank, (doc, score) in enumerate(zip(chosen, scores, strict=True), 1):
                    rows.append({"query_id": query, "id": doc, "score": score, "rank": rank, "day": "today"})
        rows.append({"query_id": "q0", "id": "of another day", "score": 9.0, "rank": 1, "day": "yesterday"})
        chance.shuffle(rows)
        write(folder / system, rows)
    return folder


def write(folder: Path, rows: list[dict[str, Any]]) -> None:
    """A table as Parquet in two files."""
    folder.mkdir()
    table = pa.Table.from_pylist(rows)
    for part, first in enumerate((0, len(rows) // 2)):
        papq.write_table(table.slice(first, len(rows) // 2 if part == 0 else None), folder / f"{part}.parquet")


def evaluation(folder: Path, **changes: Any) -> Evaluation:
    columns = {"doc_id": "id"}
    content: dict[str, Any] = {
        "name": "small",
        "directory": folder,
        "output": folder / "out",
        "judgments": {"table": f"{folder}/judgments", "columns": {"query_id": "topic"}},
        "systems": [
            {"name": name, "table": f"./{name}", "where": "day = 'today'", "columns": columns}
            for name in ("old", "new")
        ],
        "metrics": METRICS,
        "statistics": {"resamples": 100},
    }
    return Evaluation.model_validate({**content, **changes})


@functools.cache
def connect_port(master: str) -> int:
    """Return the port of Spark Connect in the driver of a master's session: two drivers of one process have two."""
    return free_port()


def on_spark(master: str, folder: Path) -> dict[str, Any]:
    return {
        "engine": {
            "spark": {
                "master": master,
                "conf": CONF | with_connect(connect_port(master)) | {"spark.sql.warehouse.dir": f"{folder}/warehouse"},
                "scratch": f"{folder}/scratch",
                "patience": 400,
            }
        }
    }


def here(folder: Path, output: str) -> Evaluation:
    """The same, of tables that are pulled."""
    tables: dict[str, Any] = {"judgments": pa.concat_tables(map(papq.read_table, (folder / "judgments").iterdir()))}
    tables["judgments"] = tables["judgments"].rename_columns(["query_id", "doc_id", "grade"])
    for name in ("old", "new"):
        rows = pa.concat_tables(map(papq.read_table, (folder / name).iterdir()))
        rows = rows.filter(pa.compute.equal(rows["day"], "today")).drop_columns(["day"])
        tables[name] = rows.rename_columns(["query_id", "doc_id", "score", "rank"])
    (folder / output).mkdir()
    for name, table in tables.items():
        papq.write_table(table, folder / output / f"{name}.parquet")
    return evaluation(
        folder,
        output=folder / output / "out",
        judgments={"file": folder / output / "judgments.parquet"},
        systems=[{"name": name, "file": folder / output / f"{name}.parquet"} for name in ("old", "new")],
    )


@pytest.fixture(scope="module")
def both(master: str, folder: Path) -> Both:
    """A real cluster writes every table, as those of many rows are written."""

    done = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(thresholds, "SPARK_FEW_ROWS", thresholds.SPARK_FEW_ROWS if master == LOCAL else -1)
        for each in (here(folder, "pulled"), evaluation(folder, **on_spark(master, folder))):
            done.append(undrawn(each).bundle)
    return Both(*done)


def test_every_value_is_duckdb_s(both: Both) -> None:
    keys = ["system_id", "query_id", "metric"]
    mine, theirs = (papq.read_table(folder / SCORES).sort_by([(key, "ascending") for key in keys]) for folder in both)
    assert theirs.select(keys).equals(mine.select(keys))
    assert len(mine) > len(METRICS) * 2 * 10
    for row, other in zip(mine.to_pylist(), theirs.to_pylist(), strict=True):
        assert other["value"] == pytest.approx(row["value"], abs=1e-12), row


def test_so_is_everything_that_is_told(both: Both) -> None:
    """Tipping factors and bounds, what changed, and the decisions that all of it goes into, too."""
    mine, theirs = both.outcomes()
    assert theirs.parity_queries == mine.parity_queries == len(QUERIES)
    (told,) = [finding for finding in theirs.findings if finding.code == "rows_elsewhere"]
    assert told.message.startswith("the judgments, system old, system new: rows stay on the cluster")
    found = [comparable(finding) for finding in theirs.findings if finding != told]
    assert found == [comparable(finding) for finding in mine.findings]
    codes = {finding.code for finding in found}
    assert {"unanswered_query", "unjudged_query", "tied_places", "rank_disagrees", "negative_grade"} <= codes
    assert_nearly_equal(theirs.systems, mine.systems, "systems")
    assert_nearly_equal(theirs.comparisons, mine.comparisons, "comparisons")
    assert sum(row.unjudged is not None for row in theirs.comparisons) > len(METRICS) / 2
    assert any(row.unjudged and row.unjudged.documents for row in theirs.comparisons)
    assert_nearly_equal(theirs.changes, mine.changes, "changes")
    assert len(theirs.changes) == 1 and theirs.changes[0].changed > 0
    assert_nearly_equal(theirs.decisions, mine.decisions, "decisions")


def assert_nearly_equal(found: Any, expected: Any, what: str) -> None:
    """Equal, but for the last digits of what was added up."""
    if isinstance(expected, float) and isinstance(found, float):
        assert found == pytest.approx(expected, abs=1e-9), what
    elif dataclasses.is_dataclass(expected):
        for field in dataclasses.fields(expected):
            assert_nearly_equal(getattr(found, field.name), getattr(expected, field.name), f"{what}.{field.name}")
    elif isinstance(expected, tuple) and isinstance(found, tuple):
        assert len(found) == len(expected), what
        for one, two in zip(found, expected, strict=True):
            assert_nearly_equal(one, two, what)
    else:
        assert found == expected, what


def comparable(finding: Finding) -> Finding:
    """Without the lines of files, which a cluster has not, and the last digits of what was added up."""
    return dataclasses.replace(finding, examples=(), value=finding.value and round(finding.value, 12))


def page_of(bundle: Path) -> PageData:
    with StoredTables(bundle / TABLES) as engine:
        return gather_page_data(engine, read_bundle(bundle).outcome, read_content(bundle))


def test_the_page_shows_the_same_rankings(both: Both) -> None:
    mine, theirs = (page_of(bundle) for bundle in both)
    assert len(mine.rankings) > 50
    assert theirs.rankings.to_pylist() == mine.rankings.to_pylist()
    assert theirs.missed.to_pylist() == mine.missed.to_pylist()
    assert theirs.queries.to_pylist() == mine.queries.to_pylist()


def test_inputs_say_what_was_read_and_nothing_stays_on_the_cluster(both: Both, folder: Path) -> None:
    mine, theirs = (read_content(bundle)["inputs"] for bundle in both)
    assert [row["rows"] for row in theirs] == [row["rows"] for row in mine]
    assert [row["origin"] for row in theirs] == [f"table {folder}/judgments", "table ./old", "table ./new"]
    assert len({row["digest"] for row in theirs}) == 3
    assert all(len(row["digest"]) == 32 for row in theirs)
    assert list((folder / "scratch").iterdir()) == []


def pull_alone(table: str, master: str, folder: Path) -> None:
    """Pull one ranking from a table on Spark."""
    one = evaluation(folder, systems=[{"name": "one", "table": table}], **on_spark(master, folder))
    pull_ranking.run(Context(one, Store(one)), "one")


ROW = {"query_id": "q1", "doc_id": "d1", "score": 1.0, "rank": 1}
REFUSED = {
    "column query_id: 1 value is missing or against the rule: every row needs one": ROW | {"query_id": None},
    "column doc_id: 1 value is missing or against the rule (such as in query 'q1'): every row": ROW | {"doc_id": ""},
    "column score: 1 value is missing or against the rule (such as in query 'q1'): every row needs a finite": ROW
    | {"score": float("nan")},
    "column score: 1 value": ROW | {"score": float("-inf")},
    "column rank: 1 value": ROW | {"rank": 2**53},
    "column rank: 1 value is missing or against the rule": ROW | {"rank": 1.5},
    "column doc_id: 1 value is missing or against the rule (such as in query 'q1'): every row needs one, which is not"
    " empty, and an id has no more than 10,000 characters": ROW | {"doc_id": "é" * 10_001},
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_a_value_that_breaks_a_rule_is_refused(sentence: str, master: str, folder: Path, tmp_path: Path) -> None:
    write(tmp_path / "wrong", [ROW, REFUSED[sentence]])
    assert sentence in refusal_text(pull_alone, f"{tmp_path}/wrong", master, folder)


HELD = [
    ("score", [2**53 + 2, -(2**60), 7]),
    ("score", ["1e300", "9007199254740992", "-7"]),
    ("score", [Decimal("9007199254740993.5"), Decimal("0.1"), Decimal("-7")]),
    ("rank", [1.0, 2.0, 3.0]),
    ("doc_id", ["é" * 10_000, "b", "c"]),
]
BEYOND = [2**53 + 1, 2**63 - 1, "9007199254740993", Decimal(2**53 + 1), Decimal(10**30 + 1)]


@pytest.mark.parametrize(
    "score", mostly_soaked(BEYOND, kept=BEYOND[1:4:2]), ids=lambda score: f"{type(score).__name__} {score}"
)
def test_a_whole_score_that_a_double_cannot_hold_is_refused(
    score: Any, master: str, folder: Path, tmp_path: Path
) -> None:
    write(tmp_path / "wrong", [{"query_id": "q1", "doc_id": f"d{index}", "score": score} for index in range(2)])
    message = refusal_text(pull_alone, f"{tmp_path}/wrong", master, folder)
    said = "column score: 2 values are missing or against the rule (such as in query 'q1'): every row needs a finite"
    assert said in message and "no whole number beyond 2^53 that a double cannot hold" in message


@pytest.mark.parametrize(
    "held", mostly_soaked(HELD, kept=HELD[:1]), ids=lambda held: f"{held[0]} {type(held[1][0]).__name__}"
)
def test_what_a_column_can_hold_is_taken(
    held: tuple[str, list[Any]], master: str, folder: Path, tmp_path: Path
) -> None:
    column, values = held
    rows = [{"query_id": "q1", "doc_id": f"d{index}", "rank": index + 1} for index in range(3)]
    write(tmp_path / "held", [row | {column: value} for row, value in zip(rows, values, strict=True)])
    pull_alone(f"{tmp_path}/held", master, folder)


def test_a_table_that_is_not_there_is_named(master: str, folder: Path) -> None:
    with pytest.raises(InputError, match=r"^lake\.run: .*TABLE_OR_VIEW_NOT_FOUND"):
        pull_alone("lake.run", master, folder)


def test_a_document_twice_is_refused(master: str, folder: Path, tmp_path: Path) -> None:
    write(tmp_path / "twice", [ROW, ROW | {"rank": 2}])
    twice = evaluation(folder, systems=[{"name": "twice", "table": f"{tmp_path}/twice"}], **on_spark(master, folder))
    told = "document 'd1' is 2 times in the ranking of query 'q1' by system twice"
    with pytest.raises(InputError, match=told), open_engine_for(twice) as engine:
        check_only(twice, engine)


def test_a_condition_that_spark_refuses_is_named_without_its_traceback(folder: Path, master: str) -> None:
    from pyspark.logger import PySparkLogger  # as in the module under test: only where there is PySpark

    asked = {"name": "old", "table": "./old", "where": "nothing = 'today'", "columns": {"doc_id": "id"}}
    with pytest.raises(InputError, match=r"/old, where nothing = 'today': .*`nothing` cannot be resolved"):
        pull_inputs(evaluation(folder, systems=[asked], **on_spark(master, folder)))
    assert not PySparkLogger.getLogger("SQLQueryContextLogger").isEnabledFor(logging.ERROR)


def test_where_nobody_listens_is_one_sentence(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    nowhere = evaluation(folder, **on_spark(f"spark://127.0.0.1:{port}", folder))
    with pytest.raises(InputError, match=rf"^spark://127.0.0.1:{port}: Spark cannot be reached: .*refused$"):
        pull_inputs(nowhere)


def test_the_query_for_a_table_on_spark_says_what_the_core_says(both: Both, tmp_path: Path) -> None:
    """What `ndcg-ab sql` prints; in the session that is there, since beginning one takes longer than the query."""
    from pyspark.sql import SparkSession

    session = SparkSession.builder.getOrCreate()
    for name in ("judgments", "rankings"):
        papq.write_table(all_tables()[name], tmp_path / f"{name}.parquet")
        session.read.parquet(str(tmp_path / f"{name}.parquet")).createOrReplaceTempView(name)
    metric = "ndcg(ties=average, ideal=recall, unjudged=condense, no_relevant=one)@3"
    spark = Warehouse("spark", lambda query: [tuple(row) for row in session.sql(query).collect()])
    assert_equal(spark.values(parse(metric)), metric)


DUPLICATES = """
import sys
import pyarrow as pa
from ndcg_ab.engines.remote_table import Cluster
from ndcg_ab.engines.spark import SparkEngine

scratch, address = sys.argv[1:]
ranking = {"system_id": ["new"] * 3, "query_id": ["q"] * 3, "doc_id": ["a", "é", "é"], "score": [3.0, 2.0, 1.0]}
judgments = {"query_id": ["q", "q"], "doc_id": ["é", "a"], "grade": [2.0, 0.5]}
with SparkEngine(Cluster(None, address, scratch=scratch, patience=400)) as engine:
    engine.put("pulled_ranking", pa.table(ranking))
    engine.put("pulled_judgment", pa.table(judgments))
    found = engine.rows("duplicate_document", system_id="new")
    print(found, engine.rows("judgment", ("doc_id", "grade"), order="doc_id"))
"""


def by_connect(code: str, master: str, folder: Path) -> str:
    """In a process of its own, since one has either kind of session; the server is in the driver of `both`."""
    command = [sys.executable, "-c", code, str(folder), f"sc://127.0.0.1:{connect_port(master)}"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_spark_connect_takes_tables_and_gives_rows(both: Both, master: str, tmp_path: Path) -> None:
    """Of a query with a parameter, and of a table that is written there; what was written goes with the engine."""
    assert by_connect(DUPLICATES, master, tmp_path) == "[('new', 'q', 'é', 2)] [('a', 0.5), ('é', 2.0)]\n"
    assert list(tmp_path.iterdir()) == []


def test_what_spark_puts_among_temporary_files_is_this_user_s_alone(both: Both, master: str) -> None:
    """In the folder of this process, which goes with it, or with the next one (tests/ndcg_ab/test_temporary.py)."""
    folder = folder_of_process()
    assert (folder / "log4j2.properties").is_file()
    assert list(folder.glob("blockmgr-*")) or master != LOCAL, "of a master's workers it is their own"
    assert folder.parent == user_folder()
    assert [place.stat().st_mode & 0o777 for place in (folder, folder.parent)] == [0o700, 0o700]


HOLDER = """
import sys
import tempfile
import time
from ndcg_ab.engines.remote_table import Cluster
from ndcg_ab.engines.spark import SparkEngine

with SparkEngine(Cluster(master="local[1]")):
    print("begun", flush=True)
    sys.stdin.read()
"""


@pytest.mark.soak
def test_what_spark_puts_among_temporary_files_goes_with_the_next_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after a kill; and a link of a name that was known is not written through."""
    (tmp_path / "theirs").write_text("theirs")
    place = tmp_path / "tmp"
    place.mkdir()
    planted = place / f"ndcg-ab-log4j2-{os.getuid()}.properties"
    planted.symlink_to(tmp_path / "theirs")
    environment = os.environ | {"TMPDIR": str(place)}
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        while process.stdout.readline().strip() != "begun":
            assert process.poll() is None
        assert [each.name for each in place.iterdir() if each != planted] == [f"ndcg-ab-spill-{os.getuid()}"]
        assert next(place.glob("*/*/warehouse")).parent.stat().st_mode & 0o777 == 0o700
        process.kill()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    deadline = time.monotonic() + 60
    while list(place.glob("*/*/blockmgr-*")) and time.monotonic() < deadline:
        time.sleep(0.1)  # Java ends by itself when nobody speaks to it any more
    assert list(place.glob("*/*/log4j2.properties"))
    clear_abandoned()
    assert list(place.iterdir()) == [planted]
    assert (tmp_path / "theirs").read_text() == "theirs"
