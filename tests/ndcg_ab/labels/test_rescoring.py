"""The same rankings scored by other judgments, or each judge's; whether carefully judged queries are random."""

import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from ndcg_ab.comparing.families import metric_columns
from ndcg_ab.comparing.sampling import PLAIN, Sampling
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines import open_engine
from ndcg_ab.errors import InputError
from ndcg_ab.labels import proxy_judgments
from ndcg_ab.labels.rescoring import compare_pairs_of_judges, disagreed_keys, list_judges, mean_over_draws, rescore
from ndcg_ab.pipeline.stages import evaluate
from ndcg_ab.sources.judgments.gathering import JudgmentCodes
from ndcg_core.statistics.estimates.prediction_powered import check_balance
from ndcg_core.statistics.paired import Column
from tests.commands import compare_command, invoke
from tests.inputs import write_evaluation, write_rankings

QUERIES = [f"q{number}" for number in range(12)]


def evaluation_in(folder: Path, judged: dict[str, int]) -> Evaluation:
    """Return an evaluation of two rankings in which every query has the same judgments."""
    rankings = {"old": dict.fromkeys(QUERIES, "abc"), "new": dict.fromkeys(QUERIES, "bac")}
    keys = {"metrics": ["rr"], "guardrails": {"recall@2": 0.1}}
    return write_evaluation(folder, dict.fromkeys(QUERIES, judged), rankings, **keys)


def test_scores_are_those_of_the_other_judgments_and_nothing_of_the_first_is_touched(tmp_path: Path) -> None:
    evaluation = evaluation_in(tmp_path, {"a": 1, "b": 0})
    with open_engine() as engine:
        outcome, store = evaluate(evaluation, engine)
        read = store.inputs()
        assert read.judgments is not None
        table = read.judgments.table
        turned = table.set_column(2, "grade", pc.subtract(1.0, table["grade"]))
        with rescore(evaluation, read, turned, "turned") as (other, alone, _):
            (column,) = metric_columns(other, alone, PLAIN)
            assert list(column.differences) == [0.5] * len(QUERIES)
            assert alone.metrics == ["rr"] and not alone.guardrails
        (first, *_) = metric_columns(engine, evaluation, PLAIN)
        assert list(first.differences) == [-0.5] * len(QUERIES) and outcome.main[0].difference == -0.5


def test_what_is_wrong_with_them_says_whose_they_are(tmp_path: Path) -> None:
    evaluation = evaluation_in(tmp_path, {"a": 1})
    with open_engine() as engine:
        read = evaluate(evaluation, engine)[1].inputs()
    assert read.judgments is not None
    table = read.judgments.table
    strange = table.set_column(0, "query_id", pc.binary_join_element_wise(table["query_id"], "x", "-"))
    with (
        pytest.raises(InputError, match=r"^judgments of ann: .*answers none of the 12 judged queries"),
        rescore(evaluation, read, strange, "judgments of ann"),
    ):
        pass


IDS = tuple(f"q{number:02}" for number in range(40))
JUDGED = frozenset(IDS[:20])


def test_the_threshold_is_shared_over_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half as sure as one test alone must be: the baseline's mean, which does not vary, takes half of that."""
    rng = np.random.default_rng(1)
    column = Column("old", "new", "rr", IDS, rng.normal(size=40) + np.repeat([0.5, 0.0], 20))
    monkeypatch.setattr(proxy_judgments, "SURE", 1.5 * check_balance(column, JUDGED).p_value)
    (found,) = proxy_judgments.check_randomness({("rr", "new"): column}, JUDGED)
    assert found.code == "careful_not_random" and "the difference of new on rr" in found.message
    two = Column("old", "new", "rr", IDS, column.differences, baseline_values=np.ones(40))
    assert proxy_judgments.check_randomness({("rr", "new"): two}, JUDGED) == []


# ---- what several judges say, against values worked out by hand; and where it is shown


COUNT = 40


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """new turns a and b of old round. ann finds b relevant everywhere, bob in the first ten queries a instead; eve
    judges four queries. Where the two disagree, the reciprocal rank differs by 0.5 or by -0.5.
    """
    made = tmp_path_factory.mktemp("judges")
    queries = [f"q{query:02d}" for query in range(COUNT)]
    write_rankings(made, {"old": dict.fromkeys(queries, "abc"), "new": dict.fromkeys(queries, "bac")})
    rows = ["query_id,doc_id,grade,judge"]
    for query in range(COUNT):
        rows.append(f"q{query:02d},b,1,ann")
        rows.append(f"q{query:02d},a,0,ann")
        rows.append(f"q{query:02d},b,{int(query >= 30)},bob")
        rows.append(f"q{query:02d},a,{int(query < 30)},bob")
        rows += [f"q{query:02d},b,1,eve"] * (query >= 36)
    (made / "judged.csv").write_text("\n".join(rows) + "\n")
    return made


def command(folder: Path, *options: str, judgments: str = "judged.csv") -> list[str]:
    return compare_command(folder, "--metric", "rr", *options, judgments=judgments)


@pytest.fixture(scope="module")
def shown(folder: Path) -> str:
    """What the command prints; beside it, it writes out.json, comment.md and page.html."""
    options = ("--json", "{}/out.json", "--markdown", "{}/comment.md", "--report", "{}/page.html")
    found = invoke(command(folder, "--combine", "highest", *options))
    assert found.exit_code == 0, found.output
    return found.stdout


def test_a_line_says_where_they_disagree_and_details_show_each(folder: Path, shown: str) -> None:
    line = "judges disagree on new, rr: improved under ann (40 queries), regressed under bob (40 queries)"
    told = " ".join(shown.split())
    assert f"! {line}" in told and "kappa" not in told
    page = (folder / "page.html").read_text()
    assert line in page and "Krippendorff" in page and len(re.findall(r"<td class=\"words\">bob</td>", page)) == 2
    (noise,) = json.loads((folder / "out.json").read_text())["judges"]["noise"]
    assert noise["mean"] > 0 and noise["turned"] < 0.2, "the sum of ten gains and of 30 halves that cancel out"
    details = " ".join(invoke(command(folder, "--combine", "highest", "--details")).stdout.split())
    assert "kappa" in details and "under each judge alone" in details and "in 200 draws" in details


@pytest.mark.slow
def test_judges_who_agree_need_no_line(folder: Path) -> None:
    rows = [line for line in (folder / "judged.csv").read_text().splitlines() if not line.endswith("bob")]
    (folder / "agreed.csv").write_text("\n".join(rows) + "\n")
    shown = invoke(command(folder, "--json", "{}/agreed.json", judgments="agreed.csv"))
    assert shown.exit_code == 0 and "judges disagree" not in shown.stdout
    judges = json.loads((folder / "agreed.json").read_text())["judges"]
    assert judges["noise"] == [] and judges["disagreed"] == 0 and judges["alpha"] is None


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


def test_a_draw_is_the_weighted_mean_of_measured_and_drawn_differences() -> None:
    column = Column("old", "new", "rr", ("a", "b"), np.array([0.4, 9.0]))
    drawn = {"b": np.array([0.1, np.nan]), "c": np.array([np.nan, -0.2])}
    found = mean_over_draws(column, drawn, Sampling({"a": 1.0, "b": 2.0, "c": 3.0}), 2)
    assert found is not None and found.tolist() == pytest.approx([(0.4 + 0.2) / 3, (0.4 - 0.6) / 4])
    assert mean_over_draws(column, dict.fromkeys("ab", drawn["b"]), PLAIN, 2) is None, "a draw without a query"
