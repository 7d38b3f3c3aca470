"""Every preset against the tool that it stands for: the tool itself where it can be installed, else its own values."""

import math
import shutil
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ndcg_core.measures.notation import parse
from tests.examples import examples
from tests.laboratory import Judgments, both_of_metrics, core_scores, in_order, results, sql_scores
from tests.paths import shared
from tests.references import Collection, ndcg_cases

Run = Mapping[str, Mapping[str, float]]
Whole = dict[str, dict[str, int]]

# judged a 3, b 3, c 2, d 1, e 0, and r0 … r19 1 each; returned a, x (unjudged), c (docs/presets.md)
CASE = {"q": {"a": 3, "b": 3, "c": 2, "d": 1, "e": 0} | {f"r{number}": 1 for number in range(20)}}
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


class Real(NamedTuple):
    """Judgments with whole grades, and two rankings of a test collection."""

    judgments: Whole
    first: dict[str, dict[str, float]]
    second: dict[str, dict[str, float]]


@pytest.fixture(scope="module")
def real(collection: Collection) -> Real:
    rankings = (collection.ranking(system) for system in (collection.first, collection.second))
    return Real(collection.judgments(), *rankings)


def test_values_by_hand() -> None:
    """What docs/presets.md says, from the discounts alone: a stands at rank 1 and c at rank 3."""
    second, third = 1 / math.log2(3), 1 / 2
    rest = [1 / math.log2(rank + 1) for rank in range(4, 26)]
    hand = {
        "standard": (3 + 2 * third) / (3 + 3 * second + 2 * third + sum(rest[:7])),
        "opensearch": (7 + 3 * third) / (7 + 7 * second + 3 * third + sum(rest[:7])),
        "quepid": (7 + 3 * third) / (7 + 7 * second + 3 * third + sum(rest[:21])),
        "elasticsearch": (7 + 3 * third) / (7 + 7 * second + 3 * third),
        "mlflow": (1 + third) / (1 + second + third),
    }
    found = both_of_metrics(CASE, in_order("a", "x", "c"), [name_of(preset) for preset in hand])
    for preset, value in hand.items():
        assert found[name_of(preset)] == pytest.approx((value, value), abs=1e-12)


@pytest.mark.slow
class TestTrecEval:
    def evaluate(self, judgments: Whole, run: Run, measure: str = "ndcg_cut.10") -> dict[str, float]:
        pytrec_eval = pytest.importorskip("pytrec_eval")
        evaluator = pytrec_eval.RelevanceEvaluator(judgments, {measure})
        found = evaluator.evaluate({query: dict(scores) for query, scores in run.items()})
        return {query: row[measure.replace(".", "_")] for query, row in found.items()}

    @settings(derandomize=True, max_examples=examples(16), deadline=None)
    @given(QRELS, RUNS)
    def test_random(self, judgments: Whole, run: Run) -> None:
        """Ties of both precisions, queries with nothing relevant."""
        names = {measure: name_of("trec_eval-9", k) for measure, k in (("ndcg_cut.3", 3), ("ndcg", None))}
        found = values_of(judgments, run, names.values())
        for measure, name in names.items():
            ours = found[name]
            theirs = self.evaluate(judgments, run, measure)
            assert ours.keys() == judgments.keys()
            for query, value in ours.items():
                assert value == pytest.approx(theirs.get(query, 0.0), abs=1e-9), "left out is unanswered, and scores 0"

    def test_scores_that_are_equal_as_float32(self) -> None:
        judgments = {"q": {"a": 1, "b": 0}}
        run = {"q": {"a": 0.97523028100587602, "b": 0.97523028100587591}}
        assert run["q"]["a"] > run["q"]["b"]
        assert self.evaluate(judgments, run, "ndcg_cut.1") == {"q": 0.0}, "one score: b stands first"
        assert values(judgments, run, name_of("trec_eval-9", 1)) == {"q": 0.0}
        assert values(judgments, run, name_of("trec_eval-10", 1)) == {"q": 1.0}

    def test_nothing_relevant_scores_0(self) -> None:
        judgments = {"none": {"a": 0, "b": -1}, "some": {"a": 1}}
        run = {"none": {"a": 1.0}, "some": {"a": 1.0}}
        assert self.evaluate(judgments, run) == values(judgments, run, name_of("trec_eval-9"))
        assert values(judgments, run, name_of("trec_eval-9")) == {"none": 0.0, "some": 1.0}
        assert values(judgments, run, name_of("standard")) == {"some": 1.0}

    @pytest.mark.parametrize("system", ["first", "second"])
    def test_real_rankings(self, real: Real, system: str) -> None:
        judgments = real.judgments
        found_all = getattr(real, system)
        run = {query: found for query, found in found_all.items() if hash_of(query) % 4}  # some are unanswered
        theirs = self.evaluate(judgments, run)
        ours = values(judgments, run, name_of("trec_eval-9"))
        assert len(theirs) < len(ours) == len(judgments)
        for query, value in ours.items():
            assert value == pytest.approx(theirs.get(query, 0.0), abs=1e-9), query
        # Without its option -c trec_eval means over the answered queries only.
        answered = values(judgments, run, name_of("trec_eval-9", unanswered="exclude"))
        assert answered.keys() == theirs.keys()
        assert math.fsum(answered.values()) == pytest.approx(math.fsum(theirs.values()), abs=1e-9)


def hash_of(text: str) -> int:
    return sum(text.encode())


@pytest.mark.slow
class TestBeir:
    """BEIR hands everything to pytrec_eval; its preset leaves two of trec_eval's rules out."""

    @settings(derandomize=True, max_examples=examples(10), deadline=None)
    @given(QRELS, ORDERED_RUNS)
    def test_random(self, judgments: Whole, run: Run) -> None:
        theirs = TestTrecEval().evaluate(judgments, run)
        for query, value in values(judgments, run, name_of("beir")).items():
            assert value == pytest.approx(theirs.get(query, 0.0), abs=1e-9)


@pytest.mark.slow
class TestIrMeasures:
    def evaluate(self, text: str, judgments: Whole, run: Run) -> dict[str, float]:
        ir_measures = pytest.importorskip("ir_measures")
        measure = ir_measures.parse_measure(text)
        plain = {query: dict(found) for query, found in run.items()}
        return {row.query_id: row.value for row in ir_measures.iter_calc([measure], judgments, plain)}

    def test_gdeval(self, real: Real) -> None:
        """ir_measures brings the script along, which prints five digits and knows queries by whole numbers."""
        if not shutil.which("perl"):
            pytest.skip("gdeval is a Perl script")
        judgments = real.judgments
        number = {query: str(index) for index, query in enumerate(sorted(judgments))}
        numbered = {number[query]: grades for query, grades in judgments.items()}
        run = {number[query]: found for query, found in real.first.items() if query in number}
        found = values_of(numbered, run, [name_of("gdeval", cutoff) for cutoff in (5, 20)])
        for cutoff in (5, 20):
            theirs = self.evaluate(f"nDCG(dcg='exp-log2')@{cutoff}", numbered, run)
            ours = found[name_of("gdeval", cutoff)]
            assert len(ours) == len(judgments)
            for query, value in ours.items():
                assert value == pytest.approx(theirs[query], abs=6e-6), query


@pytest.mark.slow
class TestRanx:
    def evaluate(self, judgments: Whole, run: Run, metric: str) -> dict[str, float]:
        ranx = pytest.importorskip("ranx")
        plain = {query: dict(found) for query, found in run.items()}
        found = ranx.Run(plain)
        ranx.evaluate(ranx.Qrels(judgments), found, metric, make_comparable=True)
        return {query: float(value) for query, value in found.scores[metric].items()}

    def test_random(self) -> None:
        pytest.importorskip("ranx")

        @settings(derandomize=True, max_examples=examples(16), deadline=None)
        @given(QRELS, ORDERED_RUNS)
        def compare(judgments: Whole, run: Run) -> None:
            ours = values(judgments, run, name_of("ranx", 3, no_relevant="zero"))
            assert ours == pytest.approx(self.evaluate(judgments, run, "ndcg@3"), abs=1e-9)

        compare()


@pytest.mark.slow
class TestScikitLearn:
    @settings(derandomize=True, max_examples=examples(10), deadline=None)
    @given(
        st.dictionaries(
            st.sampled_from(QUERIES),
            st.dictionaries(
                st.sampled_from(DOCUMENTS),
                st.tuples(st.integers(0, 4), st.sampled_from([0.0, 0.5, 1.0, 2.0])),
                min_size=2,
            ),
            min_size=6,
        )
    )
    def test_random(self, asked: dict[str, dict[str, tuple[int, float]]]) -> None:
        """Every document judged and returned, ties everywhere, also across the cutoff."""
        metrics = pytest.importorskip("sklearn.metrics")
        judgments = {query: {doc: grade for doc, (grade, _) in docs.items()} for query, docs in asked.items()}
        run = {query: {doc: score for doc, (_, score) in docs.items()} for query, docs in asked.items()}
        names = {cutoff: name_of("sklearn", cutoff, no_relevant="zero") for cutoff in (1, 2, 3, 5, None)}
        found = values_of(judgments, run, names.values())
        for cutoff, name in names.items():
            for query, grades in judgments.items():
                theirs = metrics.ndcg_score([list(grades.values())], [list(run[query].values())], k=cutoff)
                assert found[name][query] == pytest.approx(theirs, abs=1e-12)


@pytest.mark.slow
class TestMlflow:
    def evaluate(self, judgments: Judgments, run: Run, cutoff: int) -> dict[str, float]:
        pd = pytest.importorskip("pandas")
        definitions: Any = pytest.importorskip("mlflow.metrics")
        queries = list(judgments)
        retrieved = [sorted(run.get(query, {}), key=lambda doc_id: -run[query][doc_id]) for query in queries]
        relevant = [[doc_id for doc_id, grade in judgments[query].items() if grade > 0] for query in queries]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            metric = definitions.ndcg_at_k(cutoff)
        found = metric.eval_fn(pd.Series(retrieved), pd.Series(relevant))
        return dict(zip(queries, map(float, found.scores), strict=True))

    @settings(derandomize=True, max_examples=examples(12), deadline=None)
    @given(QRELS, ORDERED_RUNS)
    def test_random(self, judgments: Whole, run: Run) -> None:
        names = {cutoff: name_of("mlflow", cutoff) for cutoff in (1, 3, 10)}
        found = values_of(judgments, run, names.values())
        for cutoff, name in names.items():
            theirs, ours = self.evaluate(judgments, run, cutoff), found[name]
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
    """All in one evaluation: a case's queries bear its id."""
    cases = {case["id"]: case for case in ndcg_cases() if preset_of(case)}
    assert not shared() or VECTORS.keys() <= cases.keys()
    assert len(cases) >= 12
    judgments = {f"{name} {query}": grades for name, case in cases.items() for query, grades in case["qrels"].items()}
    run = {f"{name} {query}": found for name, case in cases.items() for query, found in case["run"].items()}
    ours = values_of(judgments, run, sorted({preset_of(case) for case in cases.values()}))
    for name, case in cases.items():
        with subtests.test(name):
            expected = {query: value for query, value in case["expected"].items() if query in case["qrels"]}
            assert expected
            for query, value in expected.items():
                assert ours[preset_of(case)][f"{name} {query}"] == pytest.approx(value, abs=case["abs_tol"])
