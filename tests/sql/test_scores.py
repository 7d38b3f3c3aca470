"""The SQL against the core and against other tools' values; the presets against their tools."""

import dataclasses
import math
import random
import shutil
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ndcg_ab.engines.duckdb import DuckDBEngine
from ndcg_core.measures.metric import VALUES, Metric
from ndcg_core.measures.notation import parse
from ndcg_core.measures.score import Result
from tests.examples import every_example, examples
from tests.golden import make_golden
from tests.golden.make_golden import Judgments as Grades
from tests.golden.make_golden import Run
from tests.laboratory import Judgments, Ranking, core_scores, fill, results, sql_scores
from tests.paths import shared
from tests.references import Collection, ndcg_cases
from tests.repeated import mostly_soaked
from tests.strategies import JUDGMENTS, many_metrics, rankings

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


def as_results(run: Mapping[str, Mapping[str, float]]) -> dict[str, list[Result]]:
    return {query: results(found) for query, found in run.items()}


def without_negatives(judgments: Judgments, names: Sequence[str]) -> list[str]:
    """Without the metrics that refuse these judgments."""
    negative = any(grade < 0 for grades in judgments.values() for grade in grades.values())
    return [name for name in names if not (negative and parse(name).negative == "error")]


def is_bounded(metric: Metric) -> bool:
    """Whether its values lie in [0, 1] (docs/definitions.md names what can exceed 1)."""
    averaged = metric.has_own_ideal and metric.ties == "average"
    gains = [] if isinstance(metric.gain, str) else [gain for _, gain in sorted(metric.gain)]
    falling = metric.has_endless_ideal and gains != sorted(gains)
    return metric.traits.is_bounded and metric.ideal_cut != "returned" and not averaged and not falling


def assert_agreement(judgments: Judgments, systems: Mapping[str, Ranking], names: Sequence[str]) -> None:
    sql, core = sql_scores(judgments, systems, names), core_scores(judgments, systems, names)
    assert sql.keys() == core.keys()
    for key, value in core.items():
        system, query, _ = key
        data = (judgments[query], systems[system].get(query))
        assert sql[key] == pytest.approx(value, rel=1e-12, abs=1e-12), (key, data)


# A failing test names the one value out of thousands, which is as simple as it needs to be.
ALL_BUT_SHRINKING = [phase for phase in Phase if phase is not Phase.shrink]
# One evaluation scores many systems and metrics in hardly more time than one of each.
SYSTEMS = st.lists(rankings(), min_size=4, max_size=4).map(lambda drawn: {f"s{n}": one for n, one in enumerate(drawn)})


@pytest.mark.slow
@settings(
    max_examples=200 if every_example() else 5, deadline=None, suppress_health_check=SLOW, phases=ALL_BUT_SHRINKING
)
@given(JUDGMENTS, SYSTEMS, many_metrics(90))
def test_sql_and_core_agree_on_any_metric(
    judgments: Judgments, systems: dict[str, Ranking], asked: list[Metric]
) -> None:
    """Ties, negative and fractional grades, gaps of every kind; in each example 4 systems, 5 to 8 judged queries."""
    assert_agreement(judgments, systems, without_negatives(judgments, [metric.name for metric in asked]))


@pytest.mark.slow
@settings(max_examples=1, deadline=None, suppress_health_check=SLOW, phases=ALL_BUT_SHRINKING)
@given(JUDGMENTS, SYSTEMS)
def test_sql_and_core_agree_on_every_combination(judgments: Judgments, systems: dict[str, Ranking]) -> None:
    assert_agreement(judgments, systems, [parse(text).name for text in CHOICES])


@pytest.mark.slow
@settings(max_examples=2, deadline=None, suppress_health_check=SLOW, phases=ALL_BUT_SHRINKING)
@given(JUDGMENTS, SYSTEMS, many_metrics(90))
def test_values_lie_in_their_range(judgments: Judgments, systems: dict[str, Ranking], asked: list[Metric]) -> None:
    names = without_negatives(judgments, [metric.name for metric in asked])
    unbounded = {metric.name for metric in asked if not is_bounded(metric)}
    for (_, _, name), value in sql_scores(judgments, systems, names).items():
        assert value >= 0
        assert name in unbounded or value <= 1 + 1e-12, name


def vector_metric(case: dict[str, Any], measure: str) -> str:
    """The metric that a case is about; shared cases describe it."""
    if "metric" in case:
        name = parse(case["metric"]).name
        return name if name.startswith(measure) else ""
    params = case["params"]
    gains = {"rel": "linear", "2^rel-1": "exponential", "binary": "binary"}
    gain = params["gain"]
    text = gains[gain] if isinstance(gain, str) else str(gain).replace("'", "")
    discount = "log2" if params["discount"].startswith("log2") else "jarvelin_kekalainen"
    cutoff = f"@{params['k']}" if params["k"] else ""
    ties = "average" if params["ties"].startswith("average") else "doc_id_desc"
    end = f", ideal_cut={'returned' if 'min(' in params['ideal'] else 'cutoff'}" if measure == "ndcg" else ""
    return parse(f"{measure}(gain={text}, discount={discount}, ties={ties}{end}){cutoff}").name


def expected_of(case: dict[str, Any], measure: str) -> dict[str, float]:
    """query -> value of one of the two measures, as far as the case has it."""
    if measure == "dcg" and "metric" not in case:
        return {"q": case["expected"]["dcg"]} if "dcg" in case["expected"] else {}
    return {query: value for query, value in case["expected"].items() if query in case["qrels"]}


@pytest.mark.slow
def test_values_printed_by_other_tools(subtests: pytest.Subtests) -> None:
    """All in one evaluation, where a case's queries bear its id; a table of gains is for one case's grades only."""
    wanted = [(case, name) for case in ndcg_cases() for part in ("ndcg", "dcg") if (name := vector_metric(case, part))]
    assert len(wanted) >= 16
    tables = [(case, name) for case, name in wanted if not isinstance(parse(name).gain, str)]
    for together in ([one for one in wanted if one not in tables], *([one] for one in tables)):
        assert_printed(together, subtests)


def assert_printed(wanted: list[tuple[dict[str, Any], str]], subtests: pytest.Subtests) -> None:
    """The values of (case, metric) pairs from the SQL and from the core."""
    assert all(expected_of(case, "ndcg") or expected_of(case, "dcg") for case, _ in wanted)
    judgments = {f"{case['id']} {query}": row for case, _ in wanted for query, row in case["qrels"].items()}
    run = {f"{case['id']} {query}": row for case, _ in wanted for query, row in case["run"].items()}
    names = sorted({name for _, name in wanted})
    both = [score(judgments, {"new": as_results(run)}, names) for score in (sql_scores, core_scores)]
    for case, metric in wanted:
        measure = "ndcg" if metric.startswith("ndcg") else "dcg"
        expected = expected_of(case, measure)
        with subtests.test(f"{case['id']} {measure}"):
            for scores in both:
                for query, value in expected.items():
                    assert scores["new", f"{case['id']} {query}", metric] == pytest.approx(value, abs=case["abs_tol"])
                if measure == "ndcg" and "mean" in case["expected"]:
                    of_case = [scores.get(("new", f"{case['id']} {query}", metric)) for query in case["qrels"]]
                    found = [value for value in of_case if value is not None]
                    mean = math.fsum(found) / len(found)
                    assert mean == pytest.approx(case["expected"]["mean"], abs=case["abs_tol"])


@pytest.mark.first_case
def test_real_rankings_agree_with_pytrec_eval(collection: Collection) -> None:
    judgments = collection.judgments()
    metrics = ["ndcg@3", "ndcg@5", "ndcg@10", "ndcg@20", "ndcg"]
    systems = {name: as_results(collection.ranking(name)) for name in collection.systems}
    scores = sql_scores(judgments, systems, metrics)
    expected = collection.expected()
    for key, value in expected.items():
        assert scores.pop(key) == pytest.approx(value, abs=1e-9)
    assert len(expected) == len(metrics) * len(systems) * len(judgments) - len(scores)
    assert set(scores.values()) <= {0.0}, "what pytrec_eval leaves out is unanswered, and scores 0"


# As trec_eval calls them, and as they are read here -> ours.
NAMES = "ndcg ndcg_cut_5 P_5 recall_5 recip_rank success_5 set_P set_recall map map_cut_10 Rprec bpref infAP"
MEASURES = {name: parse(name).name for name in NAMES.split()}
THEIRS = {"ndcg", "ndcg_cut.5", "P.5", "recall.5", "recip_rank", "success.5", "set_P", "map", "map_cut.10"}
THEIRS |= {"Rprec", "bpref", "infAP", "set_recall"}


@pytest.mark.first_case
def test_measures_agree_with_trec_eval(collection: Collection) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    judgments, run = collection.judgments(), collection.ranking(collection.first)
    evaluator = pytrec_eval.RelevanceEvaluator(judgments, THEIRS)
    scores = sql_scores(judgments, {"new": as_results(run)}, list(MEASURES.values()))
    theirs = evaluator.evaluate(run)
    assert len(theirs) == len(judgments.keys() & run.keys()) > 30
    for query, values in theirs.items():
        for measure, metric in MEASURES.items():
            assert scores["new", query, metric] == pytest.approx(values[measure], abs=1e-9), (query, metric)


@pytest.mark.first_case
@pytest.mark.parametrize("level", [1, 2])
def test_small_rankings_agree_with_trec_eval(level: int) -> None:
    """Ties, unjudged results, grades below 0 (of the pool, and not judged), queries without a relevant document."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    draw = random.Random(level)
    documents = [f"d{number}" for number in range(30)]
    judgments, run = {}, {}
    for query in (f"q{number}" for number in range(200)):
        judged, returned = (draw.sample(documents, draw.randint(1, 30)) for _ in range(2))
        judgments[query] = {document: draw.choice([-1, -1, 0, 0, 0, 1, 2, 3]) for document in judged}
        run[query] = {document: draw.choice([1.0, 2.0, draw.random()]) for document in returned}
    theirs = pytrec_eval.RelevanceEvaluator(judgments, THEIRS, relevance_level=level).evaluate(run)
    ours = {
        name: dataclasses.replace(parse(metric), relevant_from=None if level == 1 else level)
        for name, metric in MEASURES.items()
        if not parse(metric).traits.is_graded
    }
    scores = sql_scores(judgments, {"new": as_results(run)}, [metric.name for metric in ours.values()])
    for query, values in theirs.items():
        for name, metric in ours.items():
            value = scores.get(("new", query, metric.name), 0.0)  # theirs is 0 where nothing is relevant
            assert value == pytest.approx(values[name], abs=1e-12), (query, metric.name)
    assert len(scores) > 0.8 * len(ours) * len(run)


@pytest.mark.slow
def test_err_agrees_with_gdeval(collection: Collection) -> None:
    """Whose highest grade is 4, and whose queries bear numbers; it prints five decimals."""
    ir_measures = pytest.importorskip("ir_measures")
    measure = ir_measures.ERR @ 20
    if not ir_measures.gdeval.is_available():
        pytest.skip("gdeval needs perl")
    numbers = {query: str(number) for number, query in enumerate(collection.judgments(), start=1)}
    judgments = {numbers[query]: grades for query, grades in collection.judgments().items()}
    ranking = collection.ranking(collection.second).items()
    run = {numbers[query]: found for query, found in ranking if query in numbers}
    scores = sql_scores(judgments, {"new": as_results(run)}, ["err(max_grade=4)@20"])
    theirs = {row.query_id: row.value for row in ir_measures.gdeval.iter_calc([measure], judgments, run)}
    assert len(theirs) > 30
    for query, value in theirs.items():
        assert scores.get(("new", query, "err(max_grade=4)@20"), 0.0) == pytest.approx(value, abs=0.5001e-5), query


@pytest.mark.slow
def test_measures_agree_with_ir_measures(collection: Collection) -> None:
    ir_measures = pytest.importorskip("ir_measures")
    judgments = collection.judgments()
    pairs = {"nDCG@10": "ndcg@10", "Judged@10": "judged@10", "P(rel=2)@10": "precision(relevant_from=2)@10"}
    pairs |= {"R(rel=2)@10": "recall(relevant_from=2)@10", "RR(rel=2)@10": "rr(relevant_from=2)@10"}
    as_they_are = ("AP(rel=2)@100", "Rprec(rel=2)", "Bpref(rel=2)", "infAP(rel=2)")
    pairs |= {text: parse(text).name for text in as_they_are}
    measures = {ir_measures.parse_measure(text): metric for text, metric in pairs.items()}
    run = {query: found for query, found in collection.ranking(collection.second).items() if query in judgments}
    scores = sql_scores(judgments, {"new": as_results(run)}, list(pairs.values()))
    compared = 0
    for row in ir_measures.iter_calc(list(measures), judgments, run):
        value = scores.get(("new", row.query_id, measures[row.measure]))
        if value is not None:  # without a grade of 2 ours leaves the query out, theirs scores it 0
            assert value == pytest.approx(row.value, abs=1e-9), (row.query_id, row.measure)
            compared += 1
    assert compared > 0.88 * len(pairs) * len(judgments)


@pytest.mark.parametrize("threads", mostly_soaked([1, 2, 4], kept=[4]))
def test_values_are_the_same_to_the_last_bit_over_any_number_of_threads(threads: int) -> None:
    judgments = {f"q{n}": {f"d{m}": (n * 7 + m * 3) % 4 / 1.7 for m in range(60)} for n in range(40)}
    systems = {
        name: {query: results({f"d{m}": math.sin(m * step + len(query)) for m in range(80)}) for query in judgments}
        for name, step in (("old", 1.3), ("new", 2.1))
    }
    names = ["ndcg", "ndcg@10", "ndcg(gain=exponential)", "dcg(discount=jarvelin_kekalainen)", "ndcg(ideal=recall)"]
    found = []
    for count in (1, threads):
        with DuckDBEngine(count) as engine:
            fill(engine, judgments, systems, names)
            found.append(sorted(engine.rows("query_score", ("system_id", "query_id", "metric_id", "value"))))
    assert found[0] == found[1]


# ---- presets


# Many queries in an example: making the tables takes longer than filling them.
QUERIES = [f"q{number}" for number in range(12)]
DOCUMENTS = [f"d{number}" for number in range(7)] + ["D1", "é", "007"]
# The last two are one number as 32-bit floats.
SCORES = st.sampled_from([0.0, 1.0, 1.0, 2.0, 0.5, 16777216.0, 16777217.0]) | st.floats(-100, 100, allow_nan=False)
# No grades below 0: on a query with nothing else pytrec_eval 0.5.11 may never end. d9 is never returned.
GRADES = st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(0, 4), min_size=1).map(
    lambda found: {**found, "d9": 0}
)
QRELS = st.dictionaries(st.sampled_from(QUERIES), GRADES, min_size=6)
RUNS = st.dictionaries(
    st.sampled_from([*QUERIES, "unjudged"]), st.dictionaries(st.sampled_from(DOCUMENTS), SCORES, min_size=1), min_size=5
)
# Rankings in which no two scores are equal, for tools that do not say how they order ties.
ORDERED_RUNS = st.dictionaries(
    st.sampled_from([*QUERIES, "unjudged"]), st.lists(st.sampled_from(DOCUMENTS), min_size=1, unique=True), min_size=5
).map(lambda run: {query: dict(zip(found, range(len(found), 0, -1), strict=True)) for query, found in run.items()})


def name_of(preset: str, cutoff: int | None = 10, **choices: str) -> str:
    """The canonical name of a preset's nDCG; choices given are written over the preset's."""
    inner = ", ".join([f"preset={preset}", *(f"{choice}={value}" for choice, value in choices.items())])
    return parse(f"ndcg({inner})" + (f"@{cutoff}" if cutoff else "")).name


def values_of(judgments: Judgments, run: Run, metrics: Iterable[str]) -> dict[str, dict[str, float]]:
    """metric -> query -> value from the SQL, in one evaluation, after the core has said the same."""
    metrics = list(metrics)
    systems = {"new": {query: results(found) for query, found in run.items()}}
    sql, core = sql_scores(judgments, systems, metrics), core_scores(judgments, systems, metrics)
    assert sql == pytest.approx(core, rel=1e-12, abs=1e-12)
    return {name: {query: value for (_, query, of), value in sql.items() if of == name} for name in metrics}


def values(judgments: Judgments, run: Run, metric: str) -> dict[str, float]:
    """The same of one metric."""
    return values_of(judgments, run, [metric])[metric]


@pytest.mark.slow
class TestTrecEval:
    @settings(derandomize=True, max_examples=examples(16), deadline=None)
    @given(QRELS, RUNS)
    def test_random(self, judgments: Grades, run: Run) -> None:
        """Ties of both precisions, queries with nothing relevant."""
        names = {measure: name_of("trec_eval-9", k) for measure, k in (("ndcg_cut.3", 3), ("ndcg", None))}
        found = values_of(judgments, run, names.values())
        for measure, name in names.items():
            ours = found[name]
            theirs = make_golden.trec_eval(measure)(judgments, run)
            assert ours.keys() == judgments.keys()
            for query, value in ours.items():
                assert value == pytest.approx(theirs.get(query, 0.0), abs=1e-9), "left out is unanswered, and scores 0"

    def test_scores_that_are_equal_as_float32(self) -> None:
        judgments = {"q": {"a": 1, "b": 0}}
        run = {"q": {"a": 0.97523028100587602, "b": 0.97523028100587591}}
        assert run["q"]["a"] > run["q"]["b"]
        assert make_golden.trec_eval("ndcg_cut.1")(judgments, run) == {"q": 0.0}, "one score: b stands first"
        assert values(judgments, run, name_of("trec_eval-9", 1)) == {"q": 0.0}
        assert values(judgments, run, name_of("trec_eval-10", 1)) == {"q": 1.0}

    def test_nothing_relevant_scores_0(self) -> None:
        judgments = {"none": {"a": 0, "b": -1}, "some": {"a": 1}}
        run = {"none": {"a": 1.0}, "some": {"a": 1.0}}
        assert make_golden.trec_eval("ndcg_cut.10")(judgments, run) == values(judgments, run, name_of("trec_eval-9"))
        assert values(judgments, run, name_of("trec_eval-9")) == {"none": 0.0, "some": 1.0}
        assert values(judgments, run, name_of("standard")) == {"some": 1.0}


@settings(derandomize=True, max_examples=examples(10), deadline=None)
@given(QRELS, ORDERED_RUNS)
def test_beir(judgments: Grades, run: Run) -> None:
    """BEIR hands everything to pytrec_eval; its preset leaves two of trec_eval's rules out."""
    theirs = make_golden.trec_eval("ndcg_cut.10")(judgments, run)
    for query, value in values(judgments, run, name_of("beir")).items():
        assert value == pytest.approx(theirs.get(query, 0.0), abs=1e-9)


@pytest.mark.slow
def test_gdeval(collection: Collection) -> None:
    """ir_measures brings the script along, which prints five digits and knows queries by whole numbers."""
    if not shutil.which("perl"):
        pytest.skip("gdeval is a Perl script")
    judgments, ranking = collection.judgments(), collection.ranking(collection.first)
    number = {query: str(index) for index, query in enumerate(sorted(judgments))}
    numbered = {number[query]: grades for query, grades in judgments.items()}
    run = {number[query]: found for query, found in ranking.items() if query in number}
    found = values_of(numbered, run, [name_of("gdeval", cutoff) for cutoff in (5, 20)])
    for cutoff in (5, 20):
        theirs = make_golden.gdeval(cutoff)(numbered, run)
        ours = found[name_of("gdeval", cutoff)]
        assert len(ours) == len(judgments)
        for query, value in ours.items():
            assert value == pytest.approx(theirs[query], abs=6e-6), query


@pytest.mark.slow
@settings(derandomize=True, max_examples=examples(16), deadline=None)
@given(QRELS, ORDERED_RUNS)
def test_ranx(judgments: Grades, run: Run) -> None:
    ours = values(judgments, run, name_of("ranx", 3, no_relevant="zero"))
    assert ours == pytest.approx(make_golden.ranx("ndcg@3")(judgments, run), abs=1e-9)


@pytest.mark.slow
@settings(derandomize=True, max_examples=examples(10), deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(QUERIES),
        st.dictionaries(
            st.sampled_from(DOCUMENTS), st.tuples(st.integers(0, 4), st.sampled_from([0.0, 0.5, 1.0, 2.0])), min_size=2
        ),
        min_size=6,
    )
)
def test_scikit_learn(asked: dict[str, dict[str, tuple[int, float]]]) -> None:
    """Every document judged and returned, ties everywhere, also across the cutoff."""
    judgments = {query: {doc: grade for doc, (grade, _) in docs.items()} for query, docs in asked.items()}
    run = {query: {doc: score for doc, (_, score) in docs.items()} for query, docs in asked.items()}
    names = {cutoff: name_of("sklearn", cutoff, no_relevant="zero") for cutoff in (1, 2, 3, 5, None)}
    found = values_of(judgments, run, names.values())
    for cutoff, name in names.items():
        theirs = make_golden.scikit_learn("ndcg_score", cutoff)(judgments, run)
        assert found[name] == pytest.approx(theirs, abs=1e-12)


@pytest.mark.slow
@settings(derandomize=True, max_examples=examples(12), deadline=None)
@given(QRELS, ORDERED_RUNS)
def test_mlflow(judgments: Grades, run: Run) -> None:
    names = {cutoff: name_of("mlflow", cutoff) for cutoff in (1, 3, 10)}
    found = values_of(judgments, run, names.values())
    for cutoff, name in names.items():
        theirs, ours = make_golden.mlflow(cutoff)(judgments, run), found[name]
        assert ours == pytest.approx({query: theirs[query] for query in ours}, abs=1e-9)
        left_out = [query for query in judgments if query not in ours]
        assert all(theirs[query] == float(query not in run) for query in left_out), "1 where nothing was returned"


# shared case of nDCG (values that tools print or document) -> preset; ours name it themselves
VECTORS = {
    "irm-gdeval-20": "gdeval",
    "irm-pte-full": "trec_eval-9",
    "irm-pte-3": "trec_eval-9",
    "te-tie-1": "trec_eval-9",
    "ranx-j-1": "ranx",
    "ranx-j-3": "ranx",
    "es-6": "elasticsearch",
    "es-4": "elasticsearch",
    "sk-tied-k1": "sklearn",
    "os-20-20": "opensearch",
    "os-5-5": "opensearch",
    "os-5-8": "opensearch",
    "ntcir-jk-1000": "jarvelin-kekalainen",
}


def preset_of(case: dict[str, Any]) -> str | None:
    """The canonical name of the preset's nDCG that a case is about."""
    preset = case["preset"] if "metric" in case else VECTORS.get(case["id"])
    cutoff = parse(case["metric"]).cutoff if "metric" in case else case["params"]["k"]
    return name_of(preset, cutoff) if preset else None


def test_values_that_tools_print(subtests: pytest.Subtests) -> None:
    wanted = [(case, name) for case in ndcg_cases() if (name := preset_of(case))]
    assert not shared() or VECTORS.keys() <= {case["id"] for case, _ in wanted}
    assert len(wanted) >= 12
    assert_printed(wanted, subtests)
