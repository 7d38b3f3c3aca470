"""A function judges: in Python, from a configuration, in kept evaluations; what is asked once, refused and told."""

import contextlib
import json
import sqlite3
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ndcg_ab
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.errors import InputError, UnavailableError
from ndcg_ab.history.bundle import read_bundle
from ndcg_ab.pipeline.context import Stage
from ndcg_ab.pipeline.stages import check_data
from ndcg_ab.report.markdown import escape_text, format_note
from ndcg_ab.report.words import function_note
from ndcg_ab.sources.judgments.function_grades import cache_folder
from tests.inputs import write_judgments, write_rankings
from tests.paths import ROOT
from tests.repeated import mostly_soaked
from tests.small_evaluation import WouldComputeError, calling, is_known, no_tracker, perform_run, plain_page, undrawn

GRADES = {"a": 2, "b": 1, "c": 0, "d": 1}
QUERIES = {f"q{at:02d}": {"text": "red shoe", "kind": "long" if at % 2 else "short"} for at in range(20)}
OLD = {query: {"c": 3.0, "b": 2.0, "a": 1.0, "z": 0.5} for query in QUERIES}
NEW = {query: {"a": 3.0, "d": 2.0, "b": 1.0} for query in QUERIES}
SYSTEMS = {"old": OLD, "new": NEW}
TITLES = {"a": "red shoe", "b": "blue shoe"}
ASKED: list[tuple[ndcg_ab.Query, ndcg_ab.Document]] = []
MODULE = """
ASKED = []


def grade(query, document, **arguments):
    ASKED.append((query.query_id, document.doc_id))
    open(arguments["log"], "a").write(query.query_id + document.doc_id + "\\n") if "log" in arguments else None
    return BODY
"""


def known(query: ndcg_ab.Query, document: ndcg_ab.Document) -> float | None:
    """By the document's id; what it is asked is told in ASKED."""
    ASKED.append((query, document))
    return GRADES.get(document.doc_id)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    ASKED.clear()
    yield


def compared(judge: Any, **arguments: Any) -> Any:
    given = {"queries": QUERIES, "metrics": "ndcg@3", "resamples": 200} | arguments
    return ndcg_ab.compare(judge, SYSTEMS, **given)


def judged(judge: Any, told: list[str], **arguments: Any) -> None:
    """The same until everything is judged; what was told by then."""

    def tell(step: str) -> None:
        told.append(step)
        if step == check_data.name:
            raise WouldComputeError

    with pytest.raises(WouldComputeError):
        compared(judge, progress=tell, **arguments)


def content(result: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.to_json())
    return found


def test_it_gives_what_a_file_of_its_grades_gives() -> None:
    file = {query: {doc: grade for doc, grade in GRADES.items() if doc in {*OLD[query], *NEW[query]}} for query in OLD}
    found, expected = compared(known, documents=TITLES, slices="kind"), compared(file, slices="kind")
    assert content(found)["comparisons"] == content(expected)["comparisons"]
    query, document = next(pair for pair in ASKED if pair[0].query_id == "q01" and pair[1].doc_id == "a")
    assert query == ndcg_ab.Query("q01", "red shoe", {"kind": "long"})
    assert document == ndcg_ab.Document("a", "red shoe", None)
    assert len(ASKED) == 4 * len(QUERIES)  # a, b, c and d: z stands below the cutoff


@pytest.mark.parametrize(
    ("changes", "docs"),
    [({}, "abcd"), pytest.param({"depth": 1}, "ac", marks=pytest.mark.soak), ({"depth": 4}, "abcdz")],
    ids=["the deepest cutoff", "one", "deeper than the metrics"],
)
def test_it_is_asked_about_what_systems_show(changes: dict[str, Any], docs: str, tmp_path: Path) -> None:
    evaluation = configured(tmp_path, "float(document.doc_id in 'abd')", **changes)
    assert not is_known(evaluation)
    assert sorted(count_asked(tmp_path)) == sorted(f"{query}{doc}" for query in QUERIES for doc in docs)


@pytest.mark.slow
@pytest.mark.parametrize("precedence", mostly_soaked(["last", "highest", "together"], kept=["last"]))
def test_a_file_s_grade_always_counts(precedence: Any) -> None:
    """The function grades a with 2 and c with 0, the file the other way round; of q19 it has the function's alone."""
    people = {query: {"a": 0, "c": 2, "b": 1} for query in list(QUERIES)[:19]}
    whole = {query: people.get(query, {"a": 2, "b": 1, "c": 0}) | {"d": 1} for query in QUERIES}
    found = compared(people, more_judgments=known, judgments_precedence=precedence)
    assert content(found)["comparisons"] == content(compared(whole))["comparisons"]
    told = content(found)["function_judge"]
    assert (told["judged"], told["unsaid"]) == (19 + 4, 0)
    assert (told["compared"], told["equal"], told["mean_difference"]) == (57, 19, 0)
    assert told["cohen_kappa"] == pytest.approx(0)  # by chance a third of the grades are the same


def test_at_most_200_of_the_files_grades_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ndcg_ab.labels.function_judge.SAMPLED", 7)
    people = {query: {"a": 2, "b": 1, "c": 1, "d": 1} for query in QUERIES}
    first = compared(people, more_judgments=[known])
    drawn = {(query.query_id, document.doc_id) for query, document in ASKED}
    assert len(drawn) == 7 and content(first)["function_judge"]["judged"] == 0
    ASKED.clear()
    judged(people, [], more_judgments=known, seed=7)
    assert {(query.query_id, document.doc_id) for query, document in ASKED} - drawn


def test_what_it_cannot_say_stays_unjudged() -> None:
    said = compared(lambda query, document: 1 if document.doc_id == "a" else None)
    note = next(row for row in content(said)["findings"] if row["code"] == "unsaid_grade")
    assert note["count"] == 60 and "query 'q00', document 'b'" in note["examples"]
    assert content(said)["function_judge"]["unsaid"] == 60
    with pytest.raises(InputError, match="could say the grade of no document that systems return"):
        compared(lambda query, document: None)


@pytest.mark.slow
def test_what_it_said_is_not_asked_again_but_without_a_source_it_is() -> None:
    told: list[str] = []
    first = compared(known, progress=told.append)
    assert "judging 80 documents (0 known)" in told
    assert content(compared(known, progress=told.append)) == content(first)
    assert "judging 80 documents (80 known)" in told and len(ASKED) == 80
    judged(known, told, queries=QUERIES | {"q03": {"text": "blue shoe", "kind": "long"}})
    assert {query.query_id for query, _ in ASKED[80:]} == {"q03"}

    calls: list[str] = []

    def inner(query: ndcg_ab.Query, document: ndcg_ab.Document) -> int:
        calls.append(document.doc_id)
        return 1

    for _ in range(2):
        judged(inner, told)
    assert len(calls) == 160 and any("no source tells what it does" in text for text in told)


# ---- configurations


def configured(folder: Path, body: str, judgments: Any = None, **changes: Any) -> Evaluation:
    """The systems and queries as files, and a module whose function returns `body`."""
    write_rankings(folder, SYSTEMS)
    rows = [f"{query}\t{about['text']}\t{about['kind']}" for query, about in QUERIES.items()]
    (folder / "queries.tsv").write_text("\n".join(["query_id\ttext\tkind", *rows]) + "\n")
    (folder / "own_judge.py").write_text(MODULE.replace("BODY", body))
    place = {"python": "own_judge:grade", "arguments": {"log": str(folder / "asked")}, **changes}
    given = {"judgments": judgments, "more_judgments": [place]} if judgments else {"judgments": place}
    described = {
        "name": "judged",
        "directory": folder,
        "output": folder / "out",
        "queries": "queries.tsv",
        "systems": [{"name": name, "file": f"{name}.run"} for name in SYSTEMS],
        "metrics": ["ndcg@3"],
        "statistics": {"resamples": 200},
        "mlflow": {"tracking_uri": f"sqlite:///{folder / 'mlflow.db'}"},
    }
    return Evaluation.model_validate(described | given)


def count_asked(folder: Path) -> list[str]:
    path = folder / "asked"
    return path.read_text().splitlines() if path.exists() else []


@pytest.mark.slow
def test_nights_ask_once_and_with_force_again(tmp_path: Path) -> None:
    write_judgments(tmp_path / "people.qrels", {query: {"a": 2, "b": 0} for query in QUERIES})
    body = "{'a': 2, 'b': 1}.get(document.doc_id, 0)"
    evaluation = configured(tmp_path, body, "people.qrels", workers=3, attributes=["kind"])
    called: list[str] = []

    def counting(step: Stage, *arguments: Any) -> Any:
        called.append(step.name)
        return calling(publish=no_tracker, draw_page=plain_page)(step, *arguments)

    first = perform_run(evaluation, counting)
    assert "judge what the systems return" in called
    bundle = read_bundle(first.bundle)
    told = bundle.outcome.function_judge
    assert told is not None and (told.judged, told.compared, told.equal) == (40, 40, 20)
    row = next(row for row in bundle.inputs if row["name"] == "own_judge:grade")
    assert (row["kind"], row["rows"], row["origin"]) == ("judgments", 80, "own_judge:grade")
    assert content(ndcg_ab.evaluate(evaluation))["comparisons"] == bundle.outcome.to_dict()["comparisons"]
    assert len(count_asked(tmp_path)) == 80
    assert is_known(evaluation) and len(count_asked(tmp_path)) == 80
    again = undrawn(evaluation, force=True)
    assert len(count_asked(tmp_path)) == 160 and read_bundle(again.bundle).outcome == bundle.outcome
    (tmp_path / "own_judge.py").write_text((tmp_path / "own_judge.py").read_text() + "# another\n")
    assert is_known(evaluation), "asked again, it says the same"
    assert len(count_asked(tmp_path)) == 240


def test_a_night_that_fails_keeps_what_was_said_and_asks_the_rest(tmp_path: Path) -> None:
    body = "1 if len(ASKED) <= 30 else 1 / 0 if not arguments.get('fixed') else 1"
    evaluation = configured(tmp_path, body.replace("1 / 0", "(_ for _ in ()).throw(ConnectionError('gone'))"))
    with pytest.raises(UnavailableError, match=r"failed on query 'q\d\d', document '.': ConnectionError: gone"):
        undrawn(evaluation)
    assert len(count_asked(tmp_path)) == 31
    sys.modules.pop("own_judge", None)  # as in another night's process
    with pytest.raises(UnavailableError):
        undrawn(evaluation)
    assert len(count_asked(tmp_path)) == 62 and len(set(count_asked(tmp_path))) == 61


@pytest.mark.parametrize(
    ("workers", "body", "said"),
    [
        (1, "1 / 0", "python = 'own_judge:grade' failed on query 'q00', document 'a': ZeroDivisionError"),
        (4, "float('nan')", "query 'q00', document 'a': grade = nan: must be a finite number from"),
        (1, "'2'", "query 'q00', document 'a': grade = '2': must be a finite number from"),
        (1, "True", "query 'q00', document 'a': grade = True: must be a finite number from -1,000 to 1,000, or None"),
        (1, "1001", "query 'q00', document 'a': grade = 1001: must be a finite number from -1,000 to 1,000"),
    ],
)
def test_what_it_does_wrong_is_told_in_one_sentence(workers: int, body: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        ndcg_ab.evaluate(configured(tmp_path, body, workers=workers))
    told = str(caught.value).replace("document 'b'", "document 'a'").replace("document 'c'", "document 'a'")
    assert said in told.replace("document 'd'", "document 'a'") and "\n" not in told
    assert not isinstance(caught.value, UnavailableError)


def changed(evaluation: Evaluation, **keys: Any) -> Evaluation:
    return Evaluation.model_validate(evaluation.model_dump() | keys)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"cheap_judgments": {"python": "a:b"}}, "a function judges for `judgments` or `more_judgments`"),
        ({"engine": {"spark": {"master": "local[1]"}}}, "a function judges rankings that are here"),
        ({"judgments": {"python": "a"}}, "must be module:function"),
        ({"judgments": {"python": "a:b", "depth": 101}}, "less than or equal to 100"),
        ({"judgments": {"file": "a", "workers": 2}}, "workers go with python, not with file"),
    ],
)
def test_what_does_not_go_together(keys: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="1 validation error") as caught:
        changed(configured(tmp_path, "1"), **keys)
    assert said in str(caught.value)


def test_workers_are_threads(tmp_path: Path) -> None:
    meeting = threading.Barrier(4, timeout=10)

    def together(query: ndcg_ab.Query, document: ndcg_ab.Document) -> int:
        meeting.wait()
        return 1

    from ndcg_ab.config.model.inputs.connections import in_memory_function
    from ndcg_ab.config.model.inputs.sources import JudgeSource
    from ndcg_ab.sources.judgments.function_grades import JudgeFunctionCaller

    source = JudgeSource(python=in_memory_function("tests:together", together), workers=4)
    pairs = [(ndcg_ab.Query("q", "text", {}), ndcg_ab.Document(f"d{at}")) for at in range(8)]
    grades, _ = JudgeFunctionCaller(source, tmp_path).grades_of(pairs, lambda text: None)
    assert grades == [1.0] * 8


# ---- what is known


@pytest.mark.slow
def test_damaged_answers_are_asked_for_again() -> None:
    first = compared(known)
    folder = cache_folder()
    assert folder is not None
    path = folder / "judged.sqlite3"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("select count(*) from said").fetchall() == [(80,)]
    for other in folder.glob("judged.sqlite3-*"):
        other.unlink()
    path.write_bytes(b"no database" * 1000)
    told: list[str] = []
    assert content(compared(known, progress=told.append)) == content(first)
    assert any("is not kept, and will be asked again" in text for text in told) and len(ASKED) == 160


# ---- what is told


def test_the_line_of_its_agreement() -> None:
    people = {query: {"a": 2, "b": 1, "c": 1} for query in QUERIES}
    result = compared(people, more_judgments=known)
    line = function_note(result._outcome)
    assert line is not None
    assert line.startswith("test_function_judge:known judged 20 documents; it agrees with 40 of 60 grades of files (")
    assert f"- note: {escape_text(line)}" in format_note(result._outcome)


def test_the_page_tells_it_with_and_without_several_judges(tmp_path: Path) -> None:
    page = compared(known).report(tmp_path / "page.html").read_text()
    assert page.count("Judges</h2>") == 1 and "test_function_judge:known judged 80 documents" in page
    assert "Judges</h2>" not in compared({"q00": {"a": 1}}).report(tmp_path / "plain.html").read_text()


@pytest.mark.slow
def test_the_example_judge(tmp_path: Path) -> None:
    evaluation = configured(tmp_path, "1")
    (tmp_path / "documents.csv").write_text("doc_id,title\na,Red shoe\nb,Blue shoe\nc,Green hat\n")
    place = {"python": "judge_titles:words_in_title", "arguments": {"most": 1}}
    (tmp_path / "judge_titles.py").write_text((ROOT / "configs" / "judge_titles.py").read_text())
    result = ndcg_ab.evaluate(changed(evaluation, judgments=place, documents="documents.csv"))
    same = {query: {"a": 1, "b": 1, "c": 0} for query in QUERIES}
    expected = {row["system_id"]: row["mean"] for row in content(compared(same))["systems"]}
    assert {row["system_id"]: row["mean"] for row in content(result)["systems"]} == expected
