"""The SQL against the core and against other tools' values."""

import csv
import gzip
import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ndcg_ab.engines.duckdb import DuckDBEngine
from ndcg_core.measures.metric import VALUES, Metric
from ndcg_core.measures.notation import parse
from tests.conftest import Judgments, Ranking, core_scores, fill, results, sql_scores
from tests.strategies import DOCUMENTS, JUDGMENTS, metrics, rankings

CHOICES = [
    f"ndcg(gain={gain}, discount={discount}, ideal={ideal}, ties={ties}, unjudged={unjudged}){cutoff}"
    for gain in VALUES["gain"]
    for discount in VALUES["discount"]
    for ideal in VALUES["ideal"]
    for ties in VALUES["ties"]
    for unjudged in VALUES["unjudged"]
    for cutoff in ("", "@3")
]
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]


def without_negatives(judgments: Judgments, names: Sequence[str]) -> list[str]:
    """Without the metrics that refuse these judgments."""
    negative = any(grade < 0 for grades in judgments.values() for grade in grades.values())
    return [name for name in names if not (negative and parse(name).negative == "error")]


def assert_agreement(judgments: Judgments, systems: Mapping[str, Ranking], names: Sequence[str]) -> None:
    sql, core = sql_scores(judgments, systems, names), core_scores(judgments, systems, names)
    assert sql.keys() == core.keys()
    for key, value in core.items():
        assert sql[key] == pytest.approx(value, rel=1e-12, abs=1e-12), key


@settings(max_examples=400, deadline=None, suppress_health_check=SLOW)
@given(JUDGMENTS, rankings(), rankings(), st.lists(metrics(), min_size=20, max_size=30))
def test_sql_and_core_agree_on_any_metric(
    judgments: Judgments, old: Ranking, new: Ranking, asked: list[Metric]
) -> None:
    """Ties, negative and fractional grades, gaps of every kind: 400 examples of 5 to 8 judged queries each."""
    names = list(dict.fromkeys(metric.name for metric in asked))
    assert_agreement(judgments, {"old": old, "new": new}, without_negatives(judgments, names))


@settings(max_examples=15, deadline=None, suppress_health_check=SLOW)
@given(JUDGMENTS, rankings(), rankings())
def test_sql_and_core_agree_on_every_combination(judgments: Judgments, old: Ranking, new: Ranking) -> None:
    assert_agreement(judgments, {"old": old, "new": new}, [parse(text).name for text in CHOICES])


@settings(max_examples=30, deadline=None, suppress_health_check=SLOW)
@given(JUDGMENTS, rankings(), st.lists(metrics(), min_size=20, max_size=30))
def test_values_lie_in_their_range(judgments: Judgments, new: Ranking, asked: list[Metric]) -> None:
    names = list(dict.fromkeys(metric.name for metric in asked))
    for (_, _, name), value in sql_scores(judgments, {"new": new}, without_negatives(judgments, names)).items():
        assert value >= 0
        assert name.startswith(("dcg", "cg")) or value <= 1 + 1e-12 or parse(name).ideal_cut == "returned", name


def vector_metric(case: dict, measure: str = "ndcg") -> str:
    """The metric that a case of ndcg_vectors.json describes."""
    params = case["params"]
    gains = {"rel": "linear", "2^rel-1": "exponential", "binary": "binary"}
    gain = params["gain"]
    text = gains[gain] if isinstance(gain, str) else str(gain).replace("'", "")
    discount = "log2" if params["discount"].startswith("log2") else "jarvelin_kekalainen"
    cutoff = f"@{params['k']}" if params["k"] else ""
    ties = "average" if params["ties"].startswith("average") else "doc_id_desc"
    end = f", ideal_cut={'returned' if 'min(' in params['ideal'] else 'cutoff'}" if measure == "ndcg" else ""
    return parse(f"{measure}(gain={text}, discount={discount}, ties={ties}{end}){cutoff}").name


def test_values_printed_by_other_tools(shared_data: Path, subtests: pytest.Subtests) -> None:
    for case in json.loads((shared_data / "ndcg_vectors.json").read_text()):
        with subtests.test(case["id"]):
            systems = {"new": {query: results(documents) for query, documents in case["run"].items()}}
            for measure in ("ndcg", "dcg"):
                metric = vector_metric(case, measure)
                expected = {query: value for query, value in case["expected"].items() if query in case["qrels"]}
                if measure == "dcg":
                    expected = {"q": case["expected"]["dcg"]} if "dcg" in case["expected"] else {}
                for scores in (score(case["qrels"], systems, [metric]) for score in (sql_scores, core_scores)):
                    for query, value in expected.items():
                        assert scores["new", query, metric] == pytest.approx(value, abs=case["abs_tol"])
                    if measure == "ndcg" and "mean" in case["expected"]:
                        mean = math.fsum(scores.values()) / len(scores)
                        assert mean == pytest.approx(case["expected"]["mean"], abs=case["abs_tol"])


def read_trec(path: Path, places: tuple[int, int, int]) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = defaultdict(dict)
    with gzip.open(path, "rt") as file:
        for line in file:
            parts = line.split()
            found[parts[places[0]]][parts[places[1]]] = float(parts[places[2]])
    return found


@pytest.fixture(scope="module")
def cast2021(shared_data: Path) -> tuple[Judgments, dict[str, dict[str, dict[str, float]]]]:
    folder = shared_data / "cast2021"
    runs = {path.name.removesuffix(".run.gz"): read_trec(path, (0, 2, 4)) for path in sorted(folder.glob("*.run.gz"))}
    return read_trec(folder / "qrels.txt.gz", (0, 2, 3)), runs


def test_real_rankings_agree_with_pytrec_eval(shared_data: Path, cast2021: tuple) -> None:
    judgments, runs = cast2021
    metrics = ["ndcg@3", "ndcg@5", "ndcg@10", "ndcg@20", "ndcg"]
    systems = {name: {query: results(found) for query, found in run.items()} for name, run in runs.items()}
    scores = sql_scores(judgments, systems, metrics)
    compared = 0
    with gzip.open(shared_data / "cast2021" / "expected_per_query.tsv.gz", "rt") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            metric = row["measure"].replace("ndcg_cut_", "ndcg@")
            name = row["run"].removeprefix("org_").removesuffix(".run")
            assert scores.pop((name, row["qid"], metric)) == pytest.approx(float(row["value"]), abs=1e-9)
            compared += 1
    assert compared == 5 * 5 * 158 - len(scores)
    assert set(scores.values()) <= {0.0}, "what pytrec_eval leaves out is unanswered, and scores 0"


MEASURES = {  # trec_eval's name -> ours
    "ndcg": "ndcg",
    "ndcg_cut_5": "ndcg@5",
    "P_5": "precision@5",
    "recall_5": "recall@5",
    "recip_rank": "rr",
    "success_5": "accuracy@5",
    "set_P": "precision",
}


def test_measures_agree_with_trec_eval(cast2021: tuple) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    judgments, runs = cast2021
    whole = {query: {doc: int(grade) for doc, grade in grades.items()} for query, grades in judgments.items()}
    evaluator = pytrec_eval.RelevanceEvaluator(
        whole, {"ndcg", "ndcg_cut.5", "P.5", "recall.5", "recip_rank", "success.5", "set_P"}
    )
    run = {query: dict(found) for query, found in runs["manual_bm25"].items()}
    scores = sql_scores(
        judgments, {"new": {query: results(found) for query, found in run.items()}}, list(MEASURES.values())
    )
    theirs = evaluator.evaluate(run)
    assert len(theirs) == 158
    for query, values in theirs.items():
        for measure, metric in MEASURES.items():
            assert scores["new", query, metric] == pytest.approx(values[measure], abs=1e-9), (query, metric)


def test_measures_agree_with_ir_measures(cast2021: tuple) -> None:
    ir_measures = pytest.importorskip("ir_measures")
    judgments, runs = cast2021
    whole = {query: {doc: int(grade) for doc, grade in grades.items()} for query, grades in judgments.items()}
    pairs = {"nDCG@10": "ndcg@10", "Judged@10": "judged@10", "P(rel=2)@10": "precision(relevant_from=2)@10"}
    pairs |= {"R(rel=2)@10": "recall(relevant_from=2)@10", "RR(rel=2)@10": "rr(relevant_from=2)@10"}
    measures = {ir_measures.parse_measure(text): metric for text, metric in pairs.items()}
    run = {query: dict(found) for query, found in runs["convdr"].items() if query in whole}
    scores = sql_scores(
        judgments, {"new": {query: results(found) for query, found in run.items()}}, list(pairs.values())
    )
    compared = 0
    for row in ir_measures.iter_calc(list(measures), whole, run):
        value = scores.get(("new", row.query_id, measures[row.measure]))
        if value is not None:  # without a grade of 2 ours leaves the query out, theirs scores it 0
            assert value == pytest.approx(row.value, abs=1e-9), (row.query_id, row.measure)
            compared += 1
    assert compared > 700


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(st.sampled_from(DOCUMENTS), st.tuples(st.integers(0, 4), st.integers(0, 10**6)), min_size=2))
def test_ndcg_agrees_with_scikit_learn(documents: dict[str, tuple[int, int]]) -> None:
    """Where its definition is ours: every document judged and returned, no ties."""
    metrics = pytest.importorskip("sklearn.metrics")
    grades = [grade for grade, _ in documents.values()]
    scores = [float(number) for _, number in documents.values()]
    if len(set(scores)) < len(scores) or not any(grades):
        return
    judgments = {"q": dict(zip(documents, grades, strict=True))}
    systems = {"new": {"q": results(dict(zip(documents, scores, strict=True)))}}
    for cutoff in (1, 3, None):
        name = "ndcg" + (f"@{cutoff}" if cutoff else "")
        theirs = metrics.ndcg_score([grades], [scores], k=cutoff)
        assert sql_scores(judgments, systems, [name])["new", "q", name] == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_values_are_the_same_to_the_last_bit_over_any_number_of_threads(threads: int) -> None:
    judgments = {f"q{n}": {f"d{m}": (n * 7 + m * 3) % 4 / 1.7 for m in range(60)} for n in range(40)}
    systems = {
        name: {query: results({f"d{m}": math.sin(m * step + len(query)) for m in range(80)}) for query in judgments}
        for name, step in (("old", 1.3), ("new", 2.1))
    }
    names = ["ndcg", "ndcg@10", "ndcg(gain=exponential)", "dcg(discount=jarvelin_kekalainen)", "ndcg(ideal=recall)"]
    found = []
    for count in (1, threads):
        with DuckDBEngine(None, count) as engine:
            fill(engine, judgments, systems, names)
            found.append(sorted(engine.rows("query_score", ("system_id", "query_id", "metric_id", "value"))))
    assert found[0] == found[1]
