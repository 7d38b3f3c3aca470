"""Rows of the ledger from counts that are given."""

from types import SimpleNamespace
from typing import Any, cast

from ndcg_ab.pipeline.conclude import ranking_ledger_rows
from ndcg_ab.results.ledger import Omission
from ndcg_ab.sources.base import Remark


def test_a_system_s_results_and_its_answers_to_judged_queries() -> None:
    """Of five judged queries it answers two; q3 failed, and so did x, which is not judged. One row is repeated."""
    engine = SimpleNamespace(rows=lambda *_, **__: [("old", 6, 2, 2)])
    remarks = (Remark("comment_line", 3, ()), Remark("own_document_left_out", 4, ()))
    pulled = SimpleNamespace(remarks=remarks, count=7, failed=("q3", "x"))
    judged = dict.fromkeys(("q1", "q2", "q3", "q4", "q5"), 1)
    ranking, answers = ranking_ledger_rows(cast(Any, engine), cast(Any, {"old": pulled}), judged)
    assert (ranking.read, ranking.used) == (7 + 3 + 4, 4)
    reasons = {"comments": 3, "repeated documents": 1, "the query's own document": 4, "of unjudged queries": 2}
    assert ranking.left_out == tuple(Omission(*each) for each in reasons.items())
    assert (answers.read, answers.used) == (5, 2)
    assert answers.left_out == (Omission("failed", 1), Omission("unanswered", 2))
