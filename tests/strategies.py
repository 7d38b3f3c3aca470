"""Random metrics, judgments and rankings for the property tests."""

from hypothesis import strategies as st

from ndcg_core.measures.metric import POLICIES, VALUES, Metric
from ndcg_core.measures.registry import MEASURES
from ndcg_core.measures.score import Result

DOCUMENTS = [f"d{number}" for number in range(8)] + ["D1", "é", "€", "𝄞", "007", "with space", "'quoted'"]
QUERIES = ["q1", "q2", "q10", "Q1", "q é", "q3", "q4", "q5"]
GRADES = st.sampled_from([-2.0, -1.0, 0.0, 0.0, 0.3, 0.7, 1.0, 1.0, 2.0, 3.0, 4.0])
# Ties of every kind; the last ones are tied as 32-bit floats only, or lie beyond them.
SCORES = st.sampled_from([0.0, -0.0, 0.5, 0.5, 1.0, 1.0, 2.0, 1.00000001, 16777216.0, 16777217.0, 1e300, 2e300, -1e300])
SCORES |= st.floats(-100, 100, allow_nan=False)
RANKS = st.integers(1, 9)
TABLES = st.sampled_from(
    [
        ((0.3, 0.0), (0.7, 2.0), (1.0, 1.0), (2.0, 8.0), (3.0, 3.5), (4.0, 100.0)),
        ((-1.0, 0.0), (0.0, 0.0), (0.3, 1.0), (0.7, 1.0), (1.0, 0.0), (2.0, 2.0), (3.0, 2.0), (4.0, 2.5)),
    ]
)


@st.composite
def metrics(draw: st.DrawFn) -> Metric:
    """Any metric that can be written, with at most two policies that are not the default."""
    measure = draw(st.sampled_from(("ndcg", "ndcg", "ndcg", *MEASURES)))
    fields: dict[str, object] = {"measure": measure, "cutoff": draw(st.sampled_from([None, 1, 2, 3, 5, 10, 1000]))}
    if measure in ("ndcg", "dcg", "cg"):
        fields["gain"] = draw(st.sampled_from(VALUES["gain"]) | TABLES)
    if measure in ("ndcg", "dcg"):
        fields["discount"] = draw(st.sampled_from(VALUES["discount"]))
        if fields["discount"] == "jarvelin_kekalainen":
            fields["discount_base"] = draw(st.sampled_from([2.0, 3.0, 10.0]))
    if measure == "ndcg":
        fields["ideal"] = draw(st.sampled_from(VALUES["ideal"]))
        fields["ideal_cut"] = draw(st.sampled_from(VALUES["ideal_cut"]))
        if fields["ideal"] == "max":
            fields["max_grade"] = draw(st.sampled_from([None, 4.0]))
            fields["ideal_cut"] = draw(st.sampled_from(["cutoff", "returned"]))
        if fields["ideal"] == "recall":
            cutoff = fields["cutoff"]
            fields["recall_depth"] = draw(st.sampled_from([None, cutoff, 1000])) if cutoff else None
    if fields.get("gain") == "binary" or measure in ("accuracy", "precision", "recall", "rr"):
        fields["relevant_from"] = draw(st.sampled_from([None, 0.7, 1.0, 2.0]))
    for policy in draw(st.lists(st.sampled_from(POLICIES), max_size=2, unique=True)):
        fields[policy] = draw(st.sampled_from(VALUES[policy]))
    if measure in ("accuracy", "rr") and fields.get("ties") == "average":
        del fields["ties"]
    return Metric(**fields)  # type: ignore[arg-type]


def scored() -> st.SearchStrategy[list[Result]]:
    """Results with scores and ranks that need not agree."""
    found = st.dictionaries(st.sampled_from(DOCUMENTS), st.tuples(SCORES, RANKS), max_size=9)
    return found.map(lambda rows: [Result(doc_id, score, rank) for doc_id, (score, rank) in rows.items()])


def ranked() -> st.SearchStrategy[list[Result]]:
    """Results without scores, some with one rank twice."""
    found = st.dictionaries(st.sampled_from(DOCUMENTS), RANKS, max_size=9)
    return found.map(lambda ranks: [Result(doc_id, None, rank) for doc_id, rank in ranks.items()])


def rankings() -> st.SearchStrategy[dict[str, list[Result]]]:
    return st.dictionaries(st.sampled_from([*QUERIES, "unjudged"]), scored() | ranked(), min_size=3, max_size=9)


JUDGMENTS = st.dictionaries(
    st.sampled_from(QUERIES), st.dictionaries(st.sampled_from(DOCUMENTS), GRADES, min_size=1), min_size=5
)
