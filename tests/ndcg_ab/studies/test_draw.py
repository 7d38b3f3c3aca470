"""Queries drawn from a log: which are known zeros, what is kept, and what is refused."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import ndcg_ab
from ndcg_ab.comparing.sampling import measure_disagreements
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.inputs.sources import FileSource
from ndcg_ab.config.options.from_options import evaluation_from_options
from ndcg_ab.files import write_table
from ndcg_ab.scoring.scoring import open_engine_for
from ndcg_ab.studies.draw import DrawStudy, draw_from_log, read_earlier_draw, read_log
from ndcg_ab.studies.judge_next import list_documents
from ndcg_core.measures.notation import parse
from ndcg_core.measures.overlap import disagreement
from ndcg_core.measures.score import Result, score_query
from ndcg_core.sampling.draws import permanent_numbers, relative_disagreements
from tests.commands import invoke
from tests.inputs import write_judgments, write_rankings
from tests.sentences import refusal_text

QUERIES, PLACES = 60, 8


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every second query is the same in `old` and `new` down to place 5; `other` differs on two thirds."""
    rng = np.random.default_rng(3)
    made = tmp_path_factory.mktemp("log")
    rankings: dict[str, dict[str, list[str]]] = {"old": {}, "new": {}, "other": {}}
    for number in range(QUERIES):
        docs = [f"d{place}" for place in rng.permutation(12).tolist()]
        query_id, first, rest = f"q{number:02}", docs[:5], docs[5:]
        rankings["old"][query_id] = docs[:PLACES]
        rankings["new"][query_id] = [*(first if number % 2 else rng.permutation(first)), *reversed(rest)][:PLACES]
        rankings["other"][query_id] = docs[:PLACES] if number % 3 == 0 else docs[::-1][:PLACES]
    write_rankings(made, rankings)
    lines = [f"q{number:02}\tword {number}\t{1 + number % 4}\n" for number in range(QUERIES)]
    (made / "log.tsv").write_text("query_id\ttext\tweight\n" + "".join(lines))
    return made


def evaluation_of(folder: Path, systems: Sequence[str], metric: str = "ndcg@5") -> Evaluation:
    named = [f"{name}={folder / name}.run" for name in systems]
    given = {"judgments": "judgments", "system": named, "queries": str(folder / "log.tsv"), "metric": metric.split()}
    return evaluation_from_options(given, 2)


def study_of(folder: Path, count: int, *systems: str, metric: str = "ndcg@5", **options: object) -> DrawStudy:
    evaluation = evaluation_of(folder, systems or ("old", "new"), metric)
    with open_engine_for(evaluation) as engine:
        return draw_from_log(evaluation, engine, count, **options)  # type: ignore[arg-type]


def column(study: DrawStudy, name: str) -> list[float | None]:
    found: list[float | None] = study.table[name].to_pylist()
    return found


def test_what_shows_the_same_is_a_known_zero(folder: Path) -> None:
    """Permuted first places of an even query may come out as they were."""
    study = study_of(folder, 10)
    probabilities = column(study, "probability")
    assert all(probability == 0 for probability in probabilities[1::2])
    assert sum(bool(probability) for probability in probabilities) == len(study.drawn) == 10
    assert study.changed == sum(probability != 0 for probability in probabilities) <= QUERIES / 2
    assert study_of(folder, 10, metric="ndcg@8").changed == QUERIES  # the places below the fifth differ everywhere


def test_sizes_are_disagreement_times_weight(folder: Path) -> None:
    study = study_of(folder, 10)
    rankings = {name: (folder / f"{name}.run").read_text().split("\n") for name in ("old", "new")}
    tops = {
        name: {f"q{number:02}": [line.split()[2] for line in lines[number * PLACES :][:5]] for number in range(QUERIES)}
        for name, lines in rankings.items()
    }
    values = np.array([disagreement(tops["old"][query_id], tops["new"][query_id]) for query_id in tops["old"]])
    relative = relative_disagreements(values, values > 0)
    assert column(study, "disagreement") == pytest.approx(relative.tolist())
    sizes = relative * np.array(column(study, "weight"))
    priorities = permanent_numbers(list(tops["old"]), 1935) / np.where(sizes > 0, sizes, np.nan)
    limit = np.sort(priorities)[10]
    drawn = {index: probability for index, probability in enumerate(column(study, "probability")) if probability}
    assert set(drawn) == set(np.argsort(priorities)[:10].tolist())
    assert list(drawn.values()) == pytest.approx([min(1, limit * sizes[place]) for place in drawn])


def test_the_deviation_comes_from_what_is_judged(folder: Path, tmp_path: Path) -> None:
    """What the mean difference does not explain, over the disagreements, times the log's root mean square of these."""
    rng = np.random.default_rng(4)
    judgments = {f"q{number:02}": {f"d{doc}": int(rng.integers(0, 3)) for doc in range(12)} for number in range(30)}
    plan = study_of(folder, 10, judgments=FileSource(file=write_judgments(tmp_path / "some.qrels", judgments))).plan
    assert not plan.is_supposed
    rankings = {name: folder / f"{name}.run" for name in ("old", "new")}
    columns = {name: [line.split()[:3:2] for line in path.read_text().splitlines()] for name, path in rankings.items()}
    tops = {
        name: {query: [doc for other, doc in found if other == query][:5] for query, _ in found}
        for name, found in columns.items()
    }
    apart = {query: disagreement(tops["old"][query], tops["new"][query]) for query in tops["old"]}
    differences = {
        query: float(np.subtract(*(score(tops[name][query], grades) for name in ("new", "old"))))
        for query, grades in judgments.items()
    }
    differ = [query for query in judgments if apart[query] > 0]
    every = list(apart.values())
    sizes = dict(zip(apart, relative_disagreements(np.array(every), np.array(every) > 0).tolist(), strict=True))
    ratio = sum(differences.values()) / sum(sizes[query] for query in differ)
    left = sum((differences[query] - ratio * sizes[query]) ** 2 for query in differ) * len(differ) / (len(differ) - 1)
    unit = left / sum(apart[query] ** 2 for query in differ)
    assert plan.judged == len(differ)
    assert plan.deviation == pytest.approx((unit * np.mean([each**2 for each in apart.values()])) ** 0.5)


def test_the_plan_is_for_the_alpha_and_the_power_that_are_asked_for(folder: Path) -> None:
    """What ten queries detect goes by two quantiles of Student's t; what an effect needs grows with them."""
    files, log = [folder / "old.run", folder / "new.run"], folder / "log.tsv"
    levels = [{}, {"alpha": 0.01}, {"power": 0.95}, {"alpha": 0.01, "power": 0.95}]
    plans = [
        ndcg_ab.draw(files, log, metrics="ndcg@5", count=10, deviation=0.05, smallest_effect=0.03, **each).plan
        for each in levels
    ]
    quantiles = [
        stats.t.ppf(1 - each.get("alpha", 0.05) / 2, 9) + stats.t.ppf(each.get("power", 0.8), 9) for each in levels
    ]
    assert [plan.power for plan in plans] == [0.8, 0.8, 0.95, 0.95]
    assert [plan.detected / plans[0].detected for plan in plans] == pytest.approx(
        [each / quantiles[0] for each in quantiles]
    )
    for needed in ([plan.drawn for plan in plans], [plan.random for plan in plans]):
        assert needed[0] < min(needed[1:3]) and max(needed[1:3]) < needed[3] < QUERIES


def score(docs: list[str], grades: dict[str, int]) -> float:
    results = [Result(doc, -float(index)) for index, doc in enumerate(docs)]
    return score_query(parse("ndcg@5"), results, grades) or 0.0


@pytest.mark.slow
def test_an_earlier_draw_is_kept_and_extended(folder: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first.tsv", tmp_path / "second.csv"
    options = ["--queries", str(folder / "log.tsv"), "--metric", "ndcg@5"]
    files = [str(folder / f"{name}.run") for name in ("old", "new", "other")]
    made = invoke(["draw", *files[:2], *options, "-n", "8", "--output-file", str(first)])
    assert made.exit_code == 0 and "8 drawn" in made.output, made.output
    kept = invoke(["draw", *files, *options, "-n", "20", "--kept", str(first), "--output-file", str(second)])
    assert kept.exit_code == 0 and "20 drawn, 8 of them by the earlier draw" in kept.output, kept.output
    before, now = (
        {row.split(sep)[0].strip('"'): row.split(sep)[-2] for row in path.read_text().splitlines()[1:]}
        for path, sep in ((first, "\t"), (second, ","))
    )
    drawn = {query_id for query_id, probability in before.items() if probability not in ("", "0")}
    assert len(drawn) == 8 and all(float(now[query_id]) >= float(before[query_id]) for query_id in drawn)
    assert not any(probability == "0" for query_id, probability in now.items() if before[query_id] != "0")
    for wrong, sentence in (
        (["-n", "5"], "holds 8 drawn queries already: ask for more"),
        (["-n", "20", "--seed", "2"], "was not drawn with this seed"),
    ):
        refused = invoke(["draw", *files, *options, *wrong, "--kept", str(first)])
        assert refused.exit_code == 2 and sentence in " ".join(refused.output.split()), refused.output


def test_what_is_kept_was_drawn_by_disagreement_times_weight(tmp_path: Path) -> None:
    """`b` was not drawn, and `c` could not be. `x` is no query of the log."""
    table = "query_id\tweight\tprobability\tdisagreement\na\t3\t0.5\t2\nb\t4\t\t0.5\nc\t5\t0\t0\nx\t1\t1\t1\n"
    (tmp_path / "drawn.tsv").write_text(table)
    kept, gone = read_earlier_draw(FileSource(file=tmp_path / "drawn.tsv"), ["b", "a", "c", "d"])
    assert kept.probability.tolist() == [0, 0.5, 0, 0] and gone == 1
    assert kept.sizes.tolist() == [2, 6, 0, 0]


def test_what_was_drawn_stays_where_the_systems_are_alike_now(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "drawn.tsv").write_text("query_id\tprobability\tdisagreement\nq00\t1\t2\n")
    study = study_of(folder, 8, "old", "other", earlier_draw=FileSource(file=tmp_path / "drawn.tsv"))
    assert (dict(zip(column(study, "query_id"), column(study, "disagreement"), strict=True))["q00"] or 0) > 0
    assert (study.depth, study_of(folder, 8, metric="rr@7 ndcg@9 rr@4").depth) == (5, 9)


def test_the_sheet_has_the_first_places_of_every_system(folder: Path) -> None:
    evaluation = evaluation_of(folder, ("old", "new"))
    with open_engine_for(evaluation) as engine:
        study = draw_from_log(evaluation, engine, 4)
        rows = list_documents(study.drawn, study.depth, engine, evaluation)
    assert {row.query_id for row in rows} == set(study.drawn) and len(study.drawn) == 4
    assert all(rank <= 5 for row in rows for _, rank in row.ranks) and len(rows) == 4 * 5  # the same five, permuted
    assert rows[0].text == f"word {int(rows[0].query_id[1:])}" and rows[0].effect is None


@pytest.mark.slow
def test_judge_next_begins_with_drawn_queries_that_nobody_judged(folder: Path, tmp_path: Path) -> None:
    """Then come unjudged documents of the others, whose effect is known."""
    drawn = study_of(folder, 3)
    write_table(drawn.table, tmp_path / "drawn.tsv")
    first, *left = drawn.drawn
    (tmp_path / "judgments").write_text(f"{first} 0 d1 1\n")
    files = [str(tmp_path / "judgments"), str(folder / "old.run"), str(folder / "new.run"), "--metric", "ndcg@5"]
    written = tmp_path / "next.csv"
    options = ["--queries", str(tmp_path / "drawn.tsv"), "-n", "12", "--csv", str(written)]
    told = invoke(["judge-next", *files, *options])
    assert told.exit_code == 0 and "2 of the 3 drawn queries have no judgment: their first results" in told.output
    rows = list(csv.DictReader(written.open()))
    assert [row["place"] for row in rows] == [str(index) for index in range(1, 13)]
    assert {row["query_id"] for row in rows[:10]} == {*left} and not any(row["effect"] for row in rows[:10])
    assert all(row["query_id"] == first and float(row["effect"]) > 0 for row in rows[10:])
    told = invoke(["judge-next", *files, *options[:2], "-n", "2"])
    assert told.exit_code == 0 and "their first results come first" in told.output, "no room for any other"


@pytest.mark.slow
def test_judge_next_does_not_promise_what_no_grade_can_do(folder: Path, tmp_path: Path) -> None:
    """Of queries that were drawn for `new`, where `other` differs on more: with every grade the bounds stay open."""
    drawn = study_of(folder, 4)
    write_table(drawn.table, tmp_path / "drawn.tsv")
    grades = "".join(f"{query} 0 d{doc} {doc % 3}\n" for query in drawn.drawn for doc in range(12))
    (tmp_path / "judgments").write_text(grades)
    files = [str(tmp_path / "judgments"), str(folder / "old.run"), str(folder / "other.run"), "--metric", "ndcg@5"]
    told = invoke(["judge-next", *files, "--queries", str(tmp_path / "drawn.tsv")])
    assert "There is nothing to judge" in told.output and "draw again" in " ".join(told.output.split())
    (tmp_path / "judgments").write_text("".join(line + "\n" for line in grades.splitlines() if " d3 " not in line))
    told = invoke(["judge-next", *files, "--queries", str(tmp_path / "drawn.tsv")])
    assert "There is nothing to judge" not in told.output


def test_a_configuration_can_have_another_log_and_the_plan_is_data(folder: Path, tmp_path: Path) -> None:
    systems = "".join(f"  - {{name: {name}, file: {folder / name}.run}}\n" for name in ("old", "new"))
    config = tmp_path / "night.yaml"
    config.write_text(f"name: n\njudgments: none.qrels\nmetrics: [ndcg@5]\nsystems:\n{systems}")
    log = tmp_path / "log.tsv"
    log.write_text("query_id\tdevice\tweight\n" + "".join(f"q{number:02}\tapp\t{number + 1}\n" for number in range(40)))
    output = tmp_path / "drawn.tsv"
    options = ["--queries", str(log), "-n", "5", "--output-file", str(output), "--set", "statistics.weighted=false"]
    told = invoke(["draw", str(config), *options, "--power", "0.9", "--json", "-"])
    found = json.loads(told.stdout)
    assert told.exit_code == 0 and (found["queries"], found["changed"], found["drawn"]) == (40, 20, 5)
    assert (found["plan"]["power"], found["plan"]["is_supposed"]) == (0.9, True) and found["plan"]["detected"] > 0
    assert output.read_text().splitlines()[0].split("\t") == ['"query_id"', '"probability"', '"disagreement"']
    told = invoke(["draw", str(config), *options])
    assert "columns of the log that are left out: device" in told.stdout


@pytest.mark.slow
def test_disagreement_is_the_root_mean_square_over_candidates(folder: Path) -> None:
    def values(*systems: str) -> np.ndarray:
        evaluation = evaluation_of(folder, systems)
        with open_engine_for(evaluation) as engine:
            log = read_log(evaluation, engine, lambda step: None)
            ids = log.table["query_id"].to_pylist()
            again, _ = measure_disagreements(engine, ids, systems[1:], "old", evaluation.metric_list[0])
        assert (again == log.disagreements).all()
        return log.disagreements

    both = values("old", "new", "other")
    assert both == pytest.approx(np.sqrt((values("old", "new") ** 2 + values("old", "other") ** 2) / 2))


@pytest.mark.parametrize(
    ("metric", "systems", "sentence"),
    [
        ("ndcg(unjudged=condense)@5", ("old", "new"), "looks below its cutoff by what is judged"),
        ("ndcg@5", ("old", "old2"), "the systems show the same for all 60 queries of the log"),
    ],
)
def test_what_cannot_be_drawn_for_is_refused(
    folder: Path, metric: str, systems: tuple[str, str], sentence: str
) -> None:
    (folder / "old2.run").write_text((folder / "old.run").read_text())
    assert sentence in refusal_text(study_of, folder, 5, *systems, metric=metric)
