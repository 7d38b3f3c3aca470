"""An evaluation of reduced rankings is that of the whole ones: outcome, values, and what the page shows."""

import dataclasses
import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ndcg_ab.checks import data_checks
from ndcg_ab.checks import findings as made_findings
from ndcg_ab.checks.data_checks import load_and_check
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.duckdb import DuckDBEngine
from ndcg_ab.report.page.data import gather_page_data
from ndcg_ab.scoring import needed_results as reducing
from ndcg_ab.scoring import parity
from ndcg_ab.scoring.needed_results import reduce_pulled
from ndcg_ab.scoring.scoring import PulledInputs, score_metrics
from ndcg_ab.sources import RANKING, Pulled, Queries
from tests.inputs import write_evaluation
from tests.laboratory import conclude
from tests.repeated import mostly_soaked
from tests.small_evaluation import pull_inputs

pytestmark = pytest.mark.slow

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
