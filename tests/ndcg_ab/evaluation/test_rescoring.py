"""The same rankings scored by other judgments, in tables of their own."""

from pathlib import Path

import pyarrow.compute as pc
import pytest

from ndcg_ab.config.model import Evaluation
from ndcg_ab.engines import open_engine
from ndcg_ab.errors import InputError
from ndcg_ab.evaluation.families import paired_columns
from ndcg_ab.evaluation.pipeline import Read, run_pipeline
from ndcg_ab.evaluation.rescoring import rescored

QUERIES = [f"q{number}" for number in range(12)]


def evaluation_in(folder: Path, judged: list[tuple[str, str, int]]) -> Evaluation:
    for name, order in (("old", "abc"), ("new", "bac")):
        lines = [
            f"{query} Q0 {doc} {rank} {9 - rank} t\n" for query in QUERIES for rank, doc in enumerate(order, start=1)
        ]
        (folder / f"{name}.run").write_text("".join(lines))
    (folder / "qrels").write_text("".join(f"{query} 0 {doc} {grade}\n" for query, doc, grade in judged))
    systems = [{"name": name, "file": f"{name}.run"} for name in ("old", "new")]
    content = {
        "name": "e",
        "judgments": "qrels",
        "systems": systems,
        "metrics": ["rr"],
        "guardrails": {"recall@2": 0.1},
    }
    return Evaluation.model_validate(content | {"directory": folder})


def test_scores_are_those_of_the_other_judgments_and_nothing_of_the_first_is_touched(tmp_path: Path) -> None:
    judged = [(query, doc, int(doc == "a")) for query in QUERIES for doc in "ab"]
    evaluation, read = evaluation_in(tmp_path, judged), list[Read]()
    with open_engine() as engine:
        outcome = run_pipeline(evaluation, engine, when_read=read.append)
        assert read[0].judgments is not None
        table = read[0].judgments.table
        turned = table.set_column(2, "grade", pc.subtract(1.0, table["grade"]))
        with rescored(evaluation, read[0], turned, "turned") as found:
            (column,) = paired_columns(found.engine, found.evaluation)
            assert list(column.differences) == [0.5] * len(QUERIES)
            assert found.evaluation.metrics == ["rr"] and not found.evaluation.guardrails
        (first, *_) = paired_columns(engine, evaluation)
        assert list(first.differences) == [-0.5] * len(QUERIES) and outcome.main[0].difference == -0.5


def test_what_is_wrong_with_them_says_whose_they_are(tmp_path: Path) -> None:
    evaluation, read = evaluation_in(tmp_path, [(query, "a", 1) for query in QUERIES]), list[Read]()
    with open_engine() as engine:
        run_pipeline(evaluation, engine, when_read=read.append)
    assert read[0].judgments is not None
    table = read[0].judgments.table
    strange = table.set_column(0, "query_id", pc.binary_join_element_wise(table["query_id"], "x", "-"))
    with (
        pytest.raises(InputError, match=r"^judgments of ann: .*answers none of the 12 judged queries"),
        rescored(evaluation, read[0], strange, "judgments of ann"),
    ):
        pass
