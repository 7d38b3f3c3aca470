"""Every preset against the tool that it stands for: the tool itself where it can be installed, else its own values."""

import shutil
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ndcg_core.measures.notation import parse
from tests.examples import examples
from tests.golden import make_golden
from tests.golden.make_golden import Judgments as Grades
from tests.golden.make_golden import Run
from tests.laboratory import Judgments, core_scores, results, sql_scores
from tests.paths import shared
from tests.references import Collection, ndcg_cases
from tests.sql.test_scores import assert_printed

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


@pytest.mark.slow
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
