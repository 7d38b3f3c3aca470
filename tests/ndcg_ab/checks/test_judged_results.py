"""Systems of whose results none is judged are refused, and a few unjudged results are a warning."""

import pytest

import ndcg_ab
from tests.sentences import refusal_text

pytestmark = pytest.mark.slow

QUERIES = [f"{number:03}" for number in range(1, 13)]
DOCS = [f"00{number}Ab" for number in range(1, 9)]
JUDGMENTS = {query: {doc: index % 3 for index, doc in enumerate(DOCS)} for query in QUERIES}
RANKING = {query: {doc: -float(index) for index, doc in enumerate(DOCS)} for query in QUERIES}


def test_ids_of_another_collection() -> None:
    other = {query: {f"x{sum(map(ord, doc))}y": score for doc, score in RANKING[query].items()} for query in QUERIES}
    assert refusal_text(ndcg_ab.compare, JUDGMENTS, {"old": RANKING, "new": other}, threads=1) == (
        "systems['new']: system new: none of its 96 results in 12 judged queries is judged (in query '001' the first"
        " document id is 'x308y', the first judged one '001Ab'): its document ids must be those of the judgments"
        " [no_judged_result]"
    )


def test_a_few_unjudged_results_are_a_warning() -> None:
    few = {"001": {"x": 1.0, "y": 0.5}}
    found = ndcg_ab.compare(JUDGMENTS, {"old": RANKING, "new": few}, threads=1).findings
    (finding,) = [finding for finding in found if finding.code == "no_judged_result"]
    assert (finding.severity, finding.count, finding.system) == ("warning", 2, "new")
    assert finding.message.endswith("its document ids may not be those of the judgments")


def test_few_judged_is_no_other_spelling() -> None:
    """One document of each query is judged, among ten times as many that are not."""
    sparse = {query: {DOCS[0]: 1.0} for query in QUERIES}
    deep = {query: ranking | {f"z{index}": -9.0 - index for index in range(90)} for query, ranking in RANKING.items()}
    codes = {finding.code for finding in ndcg_ab.compare(sparse, {"old": deep}, threads=1).findings}
    assert codes == {"few_judged"}
