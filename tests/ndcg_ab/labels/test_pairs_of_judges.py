"""Every two judges on the documents that both judged: worked out by hand, from records alone."""

import numpy as np
import pyarrow as pa
import pytest

from ndcg_ab.labels.judges import compare_pairs_of_judges, disagreed_keys, list_judges
from ndcg_ab.sources.judgments.grades import JudgmentCodes


@pytest.fixture
def judged() -> JudgmentCodes:
    """Documents 0 to 3 of two queries; a and b share three, a and c one, b and c two."""
    keys = pa.table({"query_id": ["q", "q", "r", "r"], "doc_id": ["1", "2", "1", "2"]})
    rows = [(0, 0, 1.0), (0, 1, 0.0), (0, 2, 2.0), (1, 0, 1.0), (1, 1, 1.0), (1, 2, 2.0), (1, 3, 0.0)]
    rows += [(2, 2, 2.0), (2, 3, 0.0)]
    judge, key, grade = (np.array(column) for column in zip(*rows, strict=True))
    return JudgmentCodes(keys, key, judge, np.zeros_like(key), grade, ("a", "b", "c"))


def test_pairs_that_share_most_and_judges_who_judged_most_come_first(judged: JudgmentCodes) -> None:
    pairs = compare_pairs_of_judges(judged)
    assert [(pair.first, pair.second, pair.shared) for pair in pairs] == [("a", "b", 3), ("b", "c", 2), ("a", "c", 1)]
    assert [pair.same for pair in pairs] == [pytest.approx(2 / 3), 1.0, 1.0]
    judges = list_judges(judged, enough=2, compare=lambda name: (name,))  # type: ignore[arg-type,return-value]
    assert [(judge.name, judge.documents, judge.queries) for judge in judges] == [("b", 4, 2), ("a", 3, 2), ("c", 2, 1)]
    assert [judge.comparisons for judge in judges] == [("b",), ("a",), ()]
    assert disagreed_keys(judged).tolist() == [1]
