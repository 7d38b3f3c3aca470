"""In memory and kept in a folder an evaluation comes to the same, byte by byte: every kind of input, every option.

The stages are the same; what one store forgets, or hands on differently, is seen here.  And to the same as when the
answers were kept in tests/golden, where other tests have held them against other tools' values: a fault anywhere on
the way from an input to a decision changes one of them.  What was meant to change is kept anew, and read in the
difference, with `python -m tests.golden.make_answers`.
"""

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.duckdb import StoredTables
from ndcg_ab.history import bundle as bundles
from ndcg_ab.history.bundle import read_bundle
from ndcg_ab.pipeline.stages import evaluate
from ndcg_ab.results.outcome import Outcome
from ndcg_ab.scoring.scoring import open_engine_for
from ndcg_ab.sources import registry
from tests.golden.make_answers import differences, read_answers, to_answer
from tests.inputs import write_database, write_table
from tests.ndcg_ab.sources.clicks.logs import click_log, search
from tests.repeated import mostly_slow, mostly_soaked
from tests.small_evaluation import undrawn

QUERIES = [f"q{number:02}" for number in range(12)]
ORDERS = {"old": "cbaz", "new": "abcy", "third": "bacx"}
MODULE = """
def rank(queries, **arguments):
    return {query_id: [("a", 3.0), ("b", 2.0), ("z", 1.0)] for query_id in queries}


def grade(query, document):
    return {"a": 2, "b": 1, "y": 1}.get(document.doc_id)
"""


def rows_of(name: str) -> list[dict[str, Any]]:
    """A ranking: every fifth query as the baseline has it."""
    return [
        {"query_id": query, "doc_id": doc, "score": float(9 - rank), "rank": rank}
        for index, query in enumerate(QUERIES)
        for rank, doc in enumerate(ORDERS[name if index % 5 else "old"], 1)
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_inputs(tmp_path_factory.mktemp("inputs"))


def write_inputs(found: Path) -> Path:
    """The same rankings and judgments in every format."""
    for name in ORDERS:
        rows = rows_of(name)
        text = "".join(f"{r['query_id']} Q0 {r['doc_id']} {r['rank']} {r['score']} {name}\n" for r in rows)
        (found / f"{name}.run").write_text(text)
    write_table(found / "new.csv", rows_of("new"))
    write_table(found / "third.parquet", rows_of("third"))
    write_table(found / "third.jsonl", rows_of("third"))
    grades = [(query, doc, grade) for query in QUERIES for doc, grade in (("a", 2), ("b", 1), ("c", 0), ("z", 1))]
    graded = [(query, doc, (grade + at) % 4 - 1) for at, (query, doc, grade) in enumerate(grades) if at % 7]
    (found / "graded.qrels").write_text("".join(f"{query} 0 {doc} {grade}\n" for query, doc, grade in graded))
    (found / "j.qrels").write_text("".join(f"{query} 0 {doc} {grade}\n" for query, doc, grade in grades[:-4]))
    named = [
        {
            "query_id": query,
            "doc_id": doc,
            "grade": grade + (who == "bob" and doc == "c"),
            "judge": who,
            "source": source,
        }
        for query, doc, grade in grades
        for who, source in (("ann", "new" if doc == "a" else "old"), ("bob", "new" if doc == "a" else "old"))
    ]
    write_table(found / "judges.csv", named)
    more = [{"query_id": query, "doc_id": "y", "grade": 1} for query in QUERIES[::2]]
    write_table(found / "more.csv", [*more, {"query_id": "q00", "doc_id": "c", "grade": 2}])
    cheap = [{"query_id": q, "doc_id": d, "grade": g} for q, d, g in [*grades, *((f"p{n}", "a", 1) for n in range(4))]]
    write_table(found / "cheap.csv", cheap)
    queries = [
        {
            "query_id": query,
            "text": f"text {query}",
            "weight": 1 + index % 3,
            "kind": "xy"[index % 2],
            "cluster": index // 2,
        }
        for index, query in enumerate(QUERIES)
    ]
    write_table(found / "queries.tsv", queries)
    click_log(
        found / "clicks.jsonl",
        (
            search(f"{query}-{turn}", f"Text  {query}", list(2 * "abcz")[turn % 4 :][:4], clicked=["ab"[at % 2]])
            for at, query in enumerate(QUERIES)
            for turn in range(12)
        ),
    )
    few = (f"{query} 0 {doc} {grade}\n" for query, doc, grade in grades[: 4 * 8])
    (found / "few.qrels").write_text("".join(few))
    (found / "intended.txt").write_text("\n".join(QUERIES[3:9]) + "\n")
    values = [
        {"system_id": system, "query_id": query, "metric": metric, "value": (index * step % 7) / 7}
        for index, query in enumerate(QUERIES)
        for system, step in (("old", 3), ("new", 5))
        for metric in ("ctr", "ndcg@10")
    ]
    write_table(found / "scores.csv", values)
    (found / "own_engine.py").write_text(MODULE)
    write_database(
        found / "rankings.db", [{k: r[k] for k in ("query_id", "doc_id", "score")} for r in rows_of("new")], "new"
    )
    return found


FILES = {"judgments": "j.qrels", "systems": [{"name": "old", "file": "old.run"}, {"name": "new", "file": "new.run"}]}
CASES: dict[str, dict[str, Any]] = {
    "files of every format, read as far as needed": {
        "systems": [
            *FILES["systems"],
            {"name": "csv", "file": "new.csv", "version": "7"},
            {"name": "parquet", "file": "third.parquet"},
            {"name": "jsonl", "file": "third.jsonl"},
        ],
        "metrics": ["ndcg@3", "rr", "ap"],
        "primary_metrics": "all",
    },
    "queries, weights, clusters, slices, what was intended": {
        "queries": "queries.tsv",
        "intended": "intended.txt",
        "slices": {"by": ["kind"], "smallest": 6},
        "metrics": ["ndcg@3"],
        "secondary_metrics": ["rr"],
        "guardrails": {"recall@3": 0.1},
        "findings": {"unjudged_query": "warning"},
        "gate": {"no_regression": True, "guardrails": True, "judged": 0.9, "slice_regression": 0.5, "unanswered": 0},
        "statistics": {"resamples": 200, "smallest_effect": 0.01},
    },
    "other statistics": {
        "queries": "queries.tsv",
        "baseline": "new",
        "statistics": {
            "resamples": 150,
            "seed": 7,
            "alpha": 0.1,
            "weighted": False,
            "clustered": False,
            "all_pairs": True,
            "bounds": False,
        },
    },
    "clusters by prefix": {"statistics": {"cluster_prefix": "q", "bounds": True}},
    "several judges, more judgments, sources among the systems": {
        "judgments": "judges.csv",
        "more_judgments": ["more.csv"],
        "judgments_precedence": "together",
        "combine": "median",
    },
    "proxy judgments": {"cheap_judgments": "cheap.csv", "metrics": ["ndcg@3"]},
    "clicks": {
        "queries": "queries.tsv",
        "judgments": {"clicks": "clicks.jsonl"},
        "cheap_judgments": None,
        "metrics": ["ndcg@3"],
    },
    "proxy judgments by clicks": {
        "queries": "queries.tsv",
        "judgments": "few.qrels",
        "cheap_judgments": {"clicks": {"file": "clicks.jsonl", "model": "position", "floor": 3}},
        "metrics": ["ndcg@3"],
    },
    "functions rank and judge": {
        "queries": "queries.tsv",
        "systems": [FILES["systems"][0], {"name": "new", "python": "own_engine:rank"}],
        "more_judgments": [{"python": "own_engine:grade"}],
    },
    "a database": {
        "systems": [
            FILES["systems"][0],
            {"name": "new", "database": "sqlite:///rankings.db", "query": "select * from new"},
        ]
    },
    "scores of another tool": {"judgments": None, "systems": [], "scores": ["scores.csv"], "metrics": ["ctr"]},
    "every measure and choice": {
        "judgments": "graded.qrels",
        "metrics": ["ndcg@3"],
        "secondary_metrics": [
            *("dcg@3", "cg@3", "accuracy@2", "precision@3", "recall@3", "rr", "judged@3", "ap", "rbp", "err@3"),
            *("rprec", "bpref", "infap", "ndcg(gain=exponential, ideal=local)@2", "ndcg(ideal=recall)@2"),
            *("ndcg(ideal=max, max_grade=3)@3", "ndcg(discount=jarvelin_kekalainen)", "ndcg(discount=reciprocal)@3"),
            *("ndcg(gain={1: 1, 2: 5}, ideal_cut=none)@2", "dcg(gain=binary, relevant_from=2, discount=none)@3"),
            *("ndcg(ties=average)@2", "ndcg(ties=doc_id_asc)@2", "ndcg(ties=given)@2", "rr(unjudged=condense)"),
            *("ndcg(unjudged=condense, negative=unjudged)", "rr(no_relevant=one)", "rr(no_relevant=exclude)"),
        ],
    },
    "limited memory": {"resources": {"memory_limit": "2GB", "threads": 1}, "metrics": ["ndcg@3", "recall"]},
}


STORED = [  # others: make soak
    "files of every format, read as far as needed",
    "proxy judgments by clicks",
    "scores of another tool",
    "a database",
    "limited memory",
]
SHOWN = {  # the fast cases; what must be there for one to show that it is handed on
    "several judges, more judgments, sources among the systems": ("judges", "left_out", "changes"),
    "functions rank and judge": ("function_judge",),
    "queries, weights, clusters, slices, what was intended": ("slices", "gates", "findings"),
}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    yield


def configured(case: str, folder: Path, output: Path) -> Evaluation:
    content = {"name": "both", "directory": folder, "output": output, "statistics": {"resamples": 100}, **FILES}
    content |= CASES[case]
    return Evaluation.model_validate({key: value for key, value in content.items() if value not in (None, [])})


@pytest.fixture(scope="module")
def in_memory(folder: Path) -> Callable[[str], tuple[Outcome, Any]]:
    """What a case comes to, and what is told of its inputs."""

    @functools.cache
    def computed(case: str) -> tuple[Outcome, Any]:
        evaluation = configured(case, folder, folder / "out")
        with open_engine_for(evaluation) as engine:
            outcome, store = evaluate(evaluation, engine, complete=False)
            return outcome, store.describe_inputs()

    return computed


@pytest.mark.first_case
@pytest.mark.parametrize("case", mostly_slow(CASES, kept=[*SHOWN, "every measure and choice"]))
def test_it_comes_to_the_answer_that_is_kept(
    case: str, folder: Path, in_memory: Callable[[str], tuple[Outcome, Any]]
) -> None:
    outcome, _ = in_memory(case)
    assert list(differences(to_answer(outcome, folder), read_answers()[case])) == []
    assert all(getattr(outcome, name) for name in SHOWN.get(case, ())), "else the case shows nothing"


@pytest.mark.slow
@pytest.mark.parametrize("case", mostly_soaked(CASES, kept=[*SHOWN, *STORED]))
def test_both_stores_come_to_the_same(
    case: str, folder: Path, tmp_path: Path, in_memory: Callable[[str], tuple[Outcome, Any]]
) -> None:
    outcome, inputs = in_memory(case)
    said: list[str] = []
    kept = read_bundle(undrawn(configured(case, folder, tmp_path / "out"), say=said.append).bundle)
    assert kept.outcome.to_json() == outcome.to_json()
    assert ("score by the proxy judgments" in said) == bool(CASES[case].get("cheap_judgments"))
    told = ("name", "kind", "version", "rows", "digest")
    assert [[row[key] for key in told] for row in kept.inputs] == [[row[key] for key in told] for row in inputs]


@pytest.mark.slow
def test_each_judgment_is_kept_with_who_gave_it_and_where(folder: Path, tmp_path: Path) -> None:
    case, said = "several judges, more judgments, sources among the systems", list[str]()
    kept = undrawn(configured(case, folder, tmp_path), say=said.append)
    assert "score by each judge" in said
    with StoredTables(kept.bundle / bundles.TABLES) as tables:
        rows = tables.rows(
            "pulled_single_judgment", ("grade", "judge", "source", "file"), where={"query_id": "q00", "doc_id": "c"}
        )
    assert sorted(rows, key=str) == [
        (0.0, "ann", "old", "judges.csv"),
        (1.0, "bob", "old", "judges.csv"),
        (2.0, "more.csv", None, "more.csv"),
    ]


def test_a_changed_answer_is_seen() -> None:
    kept = {"a": [1.0, {"b": "x"}], "c": None}
    assert list(differences({"a": [1.0 + 1e-12, {"b": "x"}], "c": None}, kept)) == []
    changed = {"a": [1.0 + 1e-8, {"b": "y"}], "d": None}
    assert [where for where, *_ in differences(changed, kept)] == ["/a/0", "/a/1/b", "/c", "/d"]
    assert [where for where, *_ in differences({"a": [1.0], "c": None}, kept)] == ["/a"]


def test_every_kind_of_source_is_among_the_cases(folder: Path, tmp_path: Path) -> None:
    """But those that need a server: search engines, whose tests are in tests/flows, and clusters; or a package."""
    used = set()
    for case in CASES:
        evaluation = configured(case, folder, tmp_path)
        places = [*evaluation.systems, *evaluation.judgment_entries]
        used |= {type(place.source).__name__ for place in places} | {type(each).__name__ for each in evaluation.scores}
    elsewhere = {"HttpSource", "SparkSource", "ExtensionSource"}
    assert used - {"JudgeSource"} == {kind.__name__ for kind in registry.SOURCES} - elsewhere
