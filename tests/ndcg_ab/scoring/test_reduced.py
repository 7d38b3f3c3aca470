"""What is needed of rankings: an evaluation of reduced ones is that of the whole; what parity fetches."""

import dataclasses
import random
from collections.abc import Iterable, Mapping
from itertools import starmap
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ndcg_ab.checks import data_checks
from ndcg_ab.checks import findings as made_findings
from ndcg_ab.checks.data_checks import load_and_check
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.duckdb import DuckDBEngine
from ndcg_ab.pipeline.stages import evaluate
from ndcg_ab.report.page.data import gather_page_data
from ndcg_ab.scoring import needed_results as reducing
from ndcg_ab.scoring import parity
from ndcg_ab.scoring.loading import list_rows
from ndcg_ab.scoring.needed_results import reduce_pulled
from ndcg_ab.scoring.parity import RESULT, keep_reachable
from ndcg_ab.scoring.scoring import PulledInputs, score_metrics
from ndcg_ab.sources import RANKING, Pulled, Queries
from ndcg_ab.sources.files import file as files
from ndcg_core.measures.notation import parse
from ndcg_core.measures.score import Result, rank_results, score_query
from tests.inputs import write_evaluation
from tests.laboratory import conclude
from tests.repeated import mostly_soaked
from tests.small_evaluation import pull_inputs

METRICS = ["ndcg@3", "ndcg(ties=average)@5", "ndcg(ties=given)@2", "ndcg(score_precision=float32)@3", "precision@4"]
QUERIES, DEPTH = 40, 30
BOTH = ("old", "new")


@pytest.fixture(autouse=True)
def _few_whole_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else every query of a small evaluation would be kept whole, and its examples looked for in the file."""
    monkeypatch.setattr(made_findings, "LOCATED", 0)
    monkeypatch.setattr(parity, "SAMPLE", 3)
    monkeypatch.setattr(reducing, "LOOKED_AT", 3)
    for module in (reducing, data_checks):
        monkeypatch.setattr(module, "FIRST_QUERIES", 2)


def ranking(chance: random.Random, folder: Path, name: str, ranks: str = "plain", scores: str = "tied") -> None:
    lines = []
    for query in range(QUERIES):
        depth = chance.randrange(1, DEPTH)
        documents = chance.sample(range(60), depth)
        values = sorted((round(chance.uniform(-1, 1), 1) for _ in documents), reverse=True)
        if scores == "near":
            values = [7.0 - index * 1e-9 for index in range(depth)]
        if scores == "level":  # as deep as is looked at, and beyond
            values = [2.0] * min(depth, 8) + values[8:]
        if scores == "large":
            values = [value * 1e300 for value in values]
        if scores == "rising" and query == QUERIES - 1:
            values = [*values[1:], max(values) + 1]
        for index, (document, value) in enumerate(zip(documents, values, strict=True)):
            rank = index + 1 if ranks == "plain" else index if ranks == "from 0" else index * 2 + 1
            lines.append(f"q{query:02} Q0 d{document:02} {rank} {value!r} {name}\n")
    (folder / f"{name}.run").write_text("".join(lines))


def made(folder: Path, seed: int, first: str = METRICS[0], **options: str) -> Evaluation:
    chance = random.Random(seed)
    grades = {
        f"q{query:02}": {
            f"d{document:02}": chance.choice([-1, 0, 0, 1, 2, 3]) for document in chance.sample(range(60), 25)
        }
        for query in range(QUERIES - 2)
    }
    for name in BOTH:
        ranking(chance, folder, name, **options)
    systems = [{"name": name, "file": f"{name}.run"} for name in BOTH]
    return write_evaluation(folder, grades, {}, systems=systems, metrics=list(dict.fromkeys([first, *METRICS])))


def pulled(evaluation: Evaluation) -> tuple[Pulled, dict[str, Pulled]]:
    read = pull_inputs(evaluation)
    assert read.judgments is not None
    return read.judgments, read.rankings


def shown(engine: DuckDBEngine, evaluation: Evaluation, judgments: Pulled, rankings: Mapping[str, Pulled]) -> Any:
    """All that an evaluation shows."""
    findings = load_and_check(engine, PulledInputs(judgments, Queries(), dict(rankings)), evaluation)
    score_metrics(engine, evaluation.metric_list)
    outcome = conclude(engine, evaluation, findings)
    page = gather_page_data(engine, outcome, {})
    tables = [page.queries, page.scores.sort_by([(name, "ascending") for name in page.scores.column_names])]
    return outcome.to_json(), *(table.to_pylist() for table in (*tables, page.rankings, page.missed))


def reduced_of(evaluation: Evaluation, which: Iterable[str], read: list[str]) -> tuple[Pulled, dict[str, Pulled]]:
    """The rankings as they are, and some of them reduced; read: which of these are asked for whole."""
    judgments, rankings = pulled(evaluation)
    for name in which:
        whole = rankings[name]
        if short := reduce_pulled(whole, judgments, evaluation.metric_list, 2):

            def given(whole: Pulled = whole, name: str = name) -> Any:
                read.append(name)
                return whole.table

            rankings[name] = Pulled(given, RANKING, whole.source, reduced=short)
    return judgments, rankings


def whole_and_reduced(evaluation: Evaluation, which: Iterable[str], read: list[str]) -> list[Any]:
    found = []
    for each in ((), which):
        with DuckDBEngine() as engine:
            found.append(shown(engine, evaluation, *reduced_of(evaluation, each, read)))
    return found


ORDERS: dict[str, tuple[str, dict[str, str], tuple[str, ...]]] = {
    "ties by id, falling": ("ndcg@3", {}, ("old",)),
    "ties by id, rising": ("ndcg(ties=doc_id_asc)@3", {"ranks": "from 0"}, BOTH),
    "ties of 32 bits": ("ndcg(score_precision=float32)@3", {"scores": "near"}, BOTH),
    "ties beyond what is looked at": ("ndcg(ties=average)@3", {"scores": "level"}, BOTH),
    "own ranks": ("ndcg(ties=given)@3", {"scores": "level"}, BOTH),
}


@pytest.mark.slow
@pytest.mark.parametrize("order", mostly_soaked(ORDERS, kept=["ties by id, rising", "ties of 32 bits"]))
def test_reduced_rankings_come_to_the_same(order: str, tmp_path: Path) -> None:
    """first: the metric by which the page orders what it shows."""
    first, options, which = ORDERS[order]
    evaluation = made(tmp_path, seed=1, first=first, **options)
    read: list[str] = []
    for pulled in reduced_of(evaluation, BOTH, read)[1].values():
        assert pulled.reduced
        assert options.get("scores") == "near" or pulled.reduced.rows.num_rows < 0.8 * pulled.count
    whole, short = whole_and_reduced(evaluation, which, read)
    for before, after in zip(whole, short, strict=True):
        assert after == before
    assert not read, "nothing needed the rest"
    assert any(row["rank"] for row in whole[-1])


@pytest.mark.parametrize("options", [{"scores": "rising"}, {"ranks": "every other"}, {"scores": "large"}], ids=str)
def test_what_is_not_plain_is_kept_whole(options: dict[str, str], tmp_path: Path) -> None:
    rankings = reduced_of(made(tmp_path, seed=1, **options), BOTH, [])[1]
    assert [each.reduced for each in rankings.values()] == [None, None]


@pytest.mark.slow
def test_rows_in_any_order_come_to_the_same(tmp_path: Path) -> None:
    evaluation, chance = made(tmp_path, seed=1), random.Random(1)
    in_order = reduced_of(evaluation, BOTH, [])[1]
    for name in BOTH:
        lines = (tmp_path / f"{name}.run").read_text().splitlines(keepends=True)
        (tmp_path / f"{name}.run").write_text("".join(chance.sample(lines, len(lines))))
    read: list[str] = []
    for name, pulled in reduced_of(evaluation, BOTH, read)[1].items():
        assert pulled.reduced and pulled.reduced.count == in_order[name].count
        assert set(map(str, pulled.reduced.rows.to_pylist())) == set(map(str, in_order[name].loaded_rows.to_pylist()))
    whole, short = whole_and_reduced(evaluation, BOTH, read)
    assert short == whole and not read


@pytest.mark.parametrize("column", ["score", "rank"])
def test_what_lacks_a_value_is_kept_whole(column: str, tmp_path: Path) -> None:
    evaluation = made(tmp_path, seed=1)
    judgments, rankings = pulled(evaluation)
    place, table = RANKING.schema.get_field_index(column), rankings["old"].table
    one = pa.array([None, *table[column].to_pylist()[1:]], RANKING.schema.field(column).type)
    lacking = dataclasses.replace(rankings["old"], content=table.set_column(place, column, one))
    assert reduce_pulled(rankings["old"], judgments, evaluation.metric_list, 2)
    assert reduce_pulled(lacking, judgments, evaluation.metric_list, 2) is None


def test_what_was_noticed_is_told_of_a_reduced_one(tmp_path: Path) -> None:
    evaluation = made(tmp_path, seed=1)
    path = tmp_path / "old.run"
    path.write_text(path.read_text().replace(" old\n", " other\n", 1))
    reduced = reduced_of(evaluation, BOTH, [])[1]["old"]
    assert reduced.reduced and [remark.code for remark in reduced.remarks] == ["several_tags"]


def test_a_source_that_answers_few_queries_is_asked_once(tmp_path: Path) -> None:
    """Of more than 300 judged queries; all rows are needed then, and have been read."""
    (tmp_path / "few.py").write_text(
        "from pathlib import Path\n\n\n"
        "def search(queries):\n"
        "    Path(__file__).with_name('calls').open('a').write('called ')\n"
        "    return {f'q{number}': [('d1', 2.0), ('d2', 1.0)] for number in range(380, 400)}\n"
    )
    (tmp_path / "queries.tsv").write_text("".join(f"q{number}\tnumber {number}\n" for number in range(400)))
    systems = [{"name": name, "python": "few:search"} for name in ("one", "other")]
    judgments = {f"q{number}": {"d1": 1} for number in range(400)}
    evaluation = write_evaluation(tmp_path, judgments, {}, systems=systems, queries="queries.tsv")
    rankings = pull_inputs(evaluation, whole=False).rankings
    assert [(each.reduced, each.count) for each in rankings.values()] == [(None, 40)] * 2
    assert (tmp_path / "calls").read_text() == "called called "


# ---- when there are any, what is known of them, and when they are read whole


FEW, DEEP = 6, 20  # queries, and results of each


def two_systems(folder: Path, metrics: tuple[str, ...] = ("ndcg@3",), spelt: str = "d{}") -> Evaluation:
    """Two systems, of which the second is the first but for one document far down."""
    queries, first = [f"q{query}" for query in range(FEW)], [f"d{index}" for index in range(DEEP - 1)]
    rankings = {name: dict.fromkeys(queries, (*first, last)) for name, last in (("old", "d19"), ("new", "other"))}
    grades = {query: {spelt.format(place): 1 for place in (0, 5)} for query in queries}
    return write_evaluation(folder, grades, rankings, metrics=list(metrics))


@pytest.mark.parametrize("metric", ["rr@3", "ndcg", "ndcg(unjudged=condense)@3", "ndcg(ideal=recall)@3"])
@pytest.mark.parametrize("whole", [False, True])
def test_rankings_come_in_reduced_where_no_metric_looks_beyond_its_cutoff(
    tmp_path: Path, metric: str, whole: bool
) -> None:
    rankings = pull_inputs(two_systems(tmp_path, ("ndcg@3", metric)), whole=whole).rankings
    assert [bool(pulled.reduced) for pulled in rankings.values()] == [metric == "rr@3" and not whole] * 2


def test_one_rank_more_than_the_metrics_count_is_kept(tmp_path: Path) -> None:
    """It shows whether the last of them is tied; q0 and the other queries of the parity check are kept whole."""
    judgments = pull_inputs(given := two_systems(tmp_path, ("ndcg@3", "rr@7")), whole=True).judgments
    wanted = reducing.find_needed_results(given.metric_list, judgments, 2)
    assert wanted is not None and wanted.depth == 7 + 1


def test_what_is_known_of_a_reduced_ranking_is_true_of_its_table(tmp_path: Path) -> None:
    reduced = pull_inputs(two_systems(tmp_path), whole=False).rankings["new"]
    whole = pull_inputs(two_systems(tmp_path), whole=True).rankings["new"]
    assert reduced.count == whole.count == FEW * DEEP
    assert reduced.query_ids == whole.query_ids
    assert [reduced.lacks(name) for name in ("score", "rank")] == [False, False]
    assert reduced.table.equals(whole.table) and reduced.digest == whole.digest
    assert reduced.with_all_rows().reduced is None


@pytest.mark.parametrize("answered", [2, 3])
def test_a_ranking_that_answers_few_of_the_first_judged_queries_is_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answered: int
) -> None:
    monkeypatch.setattr(reducing, "LOOKED_AT", 4)
    monkeypatch.setattr(reducing, "FIRST_QUERIES", 3)
    given = two_systems(tmp_path)
    lines = (tmp_path / "new.run").read_text().splitlines(keepends=True)
    left_out = tuple(f"q{query} " for query in range(4 - answered))
    (tmp_path / "new.run").write_text("".join(line for line in lines if not line.startswith(left_out)))
    rankings = pull_inputs(given, whole=False).rankings
    assert rankings["old"].reduced and bool(rankings["new"].reduced) == (answered == 3)


def test_ids_that_hardly_meet_are_looked_at_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reducing, "LOOKED_AT", 2)
    asked = []
    answer = files.File.answer
    monkeypatch.setattr(files.File, "answer", lambda self, *rest: asked.append(self.origin) or answer(self, *rest))
    given = two_systems(tmp_path, spelt="x{}y")
    found = []
    for whole in (False, True):
        with DuckDBEngine(1) as engine:
            found.append(run_pipeline_text(given, engine, whole=whole))
    assert found[0] == found[1] and "no_judged_result" in found[0]
    assert len([origin for origin in asked if origin.endswith(".run")]) == 4  # both files by both


def run_pipeline_text(given: Evaluation, engine: DuckDBEngine, *, whole: bool) -> str:
    try:
        return evaluate(given, engine, complete=whole)[0].to_json()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


# ---- the sample that is computed twice: results that no metric can look at are not fetched, and every other one is


SAMPLED = ("ndcg@3", "ndcg(ties=average)@3", "precision(ties=doc_id_asc)@3", "ndcg(score_precision=float32)@3")


def drawn(seed: int, *, scored: bool = True) -> list[Result]:
    """Forty results with many equal scores, some apart only beyond 32 bits, and ranks that follow nothing."""
    draw = random.Random(seed)
    ranks = draw.sample(range(60), 40)
    scores = [draw.choice((5.0, 5.0 + 1e-9, 4.0, -2.0)) if scored else None for _ in ranks]
    return [Result(f"d{index:02}", score, ranks[index]) for index, score in enumerate(scores)]


def fetched(results: list[Result], places: int) -> list[Result]:
    table = pa.table([list(column) for column in zip(*results, strict=True)], schema=RESULT)
    return list(starmap(Result, list_rows(keep_reachable(table, places))))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("metric", [*SAMPLED, "ndcg(ties=given)@3", "rr(ties=given)@3"])
def test_what_is_fetched_has_the_value_of_the_whole(metric: str, seed: int) -> None:
    results = drawn(seed)
    judgments = {row.doc_id: float(index % 4) for index, row in enumerate(results)}
    assert score_query(parse(metric), fetched(results, 3), judgments) == score_query(parse(metric), results, judgments)


def test_ranks_alone_are_cut_by_rank_and_scores_beyond_32_bits_are_kept() -> None:
    assert {row.rank_given for row in fetched(drawn(1, scored=False), 5)} == set(
        sorted(row.rank_given for row in drawn(1) if row.rank_given is not None)[:5]
    )
    assert len(fetched([Result("a", 1e300), Result("b", 1e299), Result("c", 1.0)], 1)) == 2


@pytest.mark.parametrize("rule", ["", "(ties=doc_id_asc)", "(ties=given)", "(score_precision=float32)"])
def test_relevant_documents_have_the_ranks_of_the_core(rule: str) -> None:
    metric, chance = parse(f"ndcg{rule}@3"), random.Random(5)
    scores = sorted((9.0 - at // 3 - at % 2 * 1e-9 for at in range(20)), reverse=True)
    answers = {
        query: [Result(f"d{doc}", scores[at], at + 1) for at, doc in enumerate(chance.sample(range(40), 20))]
        for query in ("q1", "q2")
    }
    rows = [(query, *result[:3]) for query, results in answers.items() for result in results]
    table = pa.table([*zip(*rows, strict=True)], schema=RANKING.schema)
    judged = [{"query_id": "q1", "doc_id": f"d{doc}", "grade": doc % 3} for doc in range(40)]
    found = reducing.relevant_ranks(table, pa.Table.from_pylist(judged), metric).to_pylist()
    expected = {each.doc_id: at for at, each in enumerate(rank_results(metric, answers["q1"], {}), 1)}
    assert {row["doc_id"]: row["rank"] for row in found} == {
        doc: at for doc, at in expected.items() if int(doc[1:]) % 3
    }
