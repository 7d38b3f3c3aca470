"""Which change moved a system's mean since the previous evaluation: planted changes, and that the parts add up."""

import contextlib
import functools
import itertools
import json
import random
import shutil
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from ndcg_ab.comparing.families import PairedValues
from ndcg_ab.comparing.since_last import MeanChange, SinceLast
from ndcg_ab.history import bundle as bundles
from ndcg_ab.history import mean_attribution
from ndcg_ab.history.mean_attribution import PastEvaluation, split_mean_changes
from ndcg_ab.history.timeline import read_timeline, timeline_json
from ndcg_ab.report.markdown import format_since
from ndcg_ab.report.over_time import parts_of_changes, since_lines
from ndcg_ab.report.terminal.timeline import format_mixed_change
from ndcg_ab.trackers.mlflow.values import system_values
from ndcg_core.measures.notation import parse
from tests.inputs import write_judgments, write_rankings
from tests.laboratory import core_scores, results
from tests.ndcg_ab.history.test_last_night import since
from tests.small_evaluation import DATA, nights, rows_of, small, undrawn

CAUSES = ("ranking", "judgments", "queries")
Judgments = dict[str, dict[str, float]]
Weights = dict[str, float]


def night(folder: Path, day: int, **changes: Any) -> bundles.Bundle:
    performed = undrawn(small(folder, **changes), at=datetime(2027, 1, day, 2, tzinfo=UTC))
    return bundles.read_bundle(performed.bundle)


def rewrite(folder: Path, name: str, lines: list[str]) -> None:
    (folder / "inputs" / name).write_text("\n".join(lines) + "\n")


def lines_of(name: str) -> list[str]:
    return (DATA / name).read_text().splitlines()


def other_ranking(folder: Path) -> None:
    """The first result of every query is gone."""
    seen: set[str] = set()
    rewrite(folder, "new.run", [line for line in lines_of("new.run") if (q := line.split()[0]) in seen or seen.add(q)])


def regraded() -> list[str]:
    """Three documents of `bread` with other grades, and one that is new."""
    own = [line for line in lines_of("judgments.qrels") if line.startswith("bread ")]
    others = [line for line in lines_of("judgments.qrels") if line not in own]
    changed = [f"{line.rsplit(maxsplit=1)[0]} {index}" for index, line in enumerate(own[:3])]
    return [*others, *changed, *own[3:], "bread 0 another 3"]


def of_new(found: SinceLast) -> MeanChange:
    return next(row for row in found.moved if row.system_id == "new")


def parts(row: MeanChange) -> dict[str, float]:
    """Those that moved it; all of them add up."""
    every = [row.ranking, row.judgments, row.queries]
    assert sum(every) == pytest.approx(row.now - row.before, abs=1e-12)
    return row.parts


EVERYTHING = ", ".join(CAUSES)


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, bundles.Bundle]]:
    """A folder with a night and one after it, with what is planted between them; and the bundle of the second."""

    @functools.cache
    def made(planted: str) -> tuple[Path, bundles.Bundle]:
        folder = tmp_path_factory.mktemp("planted")
        nights(folder, 1)
        if "ranking" in planted:
            other_ranking(folder)
        judgments = regraded() if "judgments" in planted else lines_of("judgments.qrels")
        gone = "cheese " if "queries" in planted else "-"
        rewrite(folder, "judgments.qrels", [line for line in judgments if not line.startswith(gone)])
        return folder, night(folder, 2)

    return made


@pytest.mark.first_case
@pytest.mark.parametrize("planted", ["ranking", EVERYTHING])
def test_a_planted_change_is_named(planted: str, changed: Callable[[str], tuple[Path, bundles.Bundle]]) -> None:
    folder, bundle = changed(planted)
    found = since(bundle)
    row = of_new(found)
    assert set(parts(row)) == set(planted.split(", "))
    means = [each.mean for each in bundle.outcome.systems if each.system_id == "new"]
    ((before,),) = rows_of(small(folder), "select mean from system_summary where ordinal = 1 and system_id = 'new'")
    assert (row.before, row.now) == (pytest.approx(before, abs=1e-15), pytest.approx(means[0], abs=1e-15))
    behind = {part: [query.query_id for query in row.behind if query.part == part] for part in row.parts}
    assert behind.get("judgments", ["bread"]) == ["bread"] and behind.get("queries", ["cheese"]) == ["cheese"]
    assert len(behind.get("ranking", range(5))) == 5
    counts = (row.new_judgments, row.changed_judgments)
    if planted == "ranking":
        assert counts == (None, None) and parts_of_changes(found) == []
        told = [line.text for line in since_lines(found) if "→" in line.text and " from " in line.text]
        assert len(told) == 1 and told[0].endswith(" from the ranking"), "it dropped: what moved it is shown"
    else:
        assert counts[0] == 1 and 1 <= counts[1] <= 3
        assert f" from 1 new and {counts[1]} changed judgments" in format_since(found)
        assert " from the queries" in format_since(found)
    assert "mixes" not in format_since(found)


@pytest.mark.slow
def test_it_is_kept_where_the_rest_is(changed: Callable[[str], tuple[Path, bundles.Bundle]]) -> None:
    folder, bundle = changed(EVERYTHING)
    row = of_new(since(bundle))
    assert any("queries: 0 new, 1 gone" in line.text for line in since_lines(since(bundle)))
    values = system_values(bundle, "new")
    assert [values[f"moved_{cause}/ndcg_at_10"] for cause in CAUSES] == [row.ranking, row.judgments, row.queries]
    assert "moved_ranking/ndcg_at_10" in system_values(bundle, "old")
    kept = rows_of(
        small(folder), "select ordinal, before, now, ranking, judgments, queries from moved where system_id = 'new'"
    )
    assert kept == [(2, row.before, row.now, row.ranking, row.judgments, row.queries)]
    timeline = read_timeline(small(folder), None, None)
    told = json.loads(timeline_json(timeline))["evaluations"][1]["moved"]
    assert {"system_id": "new", **{cause: getattr(row, cause) for cause in CAUSES}} in told
    assert (
        format_mixed_change(timeline.evaluations[1]).startswith("new: -0.")
        and format_mixed_change(timeline.evaluations[0]) == ""
    )


@pytest.mark.slow
def test_where_it_cannot_be_told_it_is_said_and_no_number_given(tmp_path: Path) -> None:
    """What changed alone is all, whatever is left of the previous evaluation; mixed changes need its tables."""
    first = nights(tmp_path, 1)[0]
    (first / bundles.TABLES).unlink()
    other_ranking(tmp_path)
    assert set(parts(of_new(since(night(tmp_path, 2))))) == {"ranking"}
    shutil.rmtree(first.parent / "20270102T020000Z")
    rewrite(tmp_path, "judgments.qrels", regraded())
    rewrite(tmp_path, "new.run", lines_of("new.run")[1:])
    found = since(night(tmp_path, 3))
    assert all((row.ranking, row.judgments, row.queries, row.behind) == (None, None, None, ()) for row in found.moved)
    row = of_new(found)
    assert row.before and row.now and row.unknown == "the tables of evaluation 2 are not kept any more"
    text = format_since(found)
    assert text.count("what moved the means cannot be told: the tables of evaluation 2 are not kept any more") == 1
    assert "whether its ranking dropped cannot be told" in text and " from " not in text


@pytest.mark.slow
def test_values_that_another_program_made_are_not_split(tmp_path: Path) -> None:
    """The kept values of the previous evaluation are not those of its own rankings and judgments."""
    nights(tmp_path, 1)
    kept = "where ordinal = 1 and system_id = 'new'"
    rows_of(
        small(tmp_path),
        f"update query_score set value = value / 2 {kept}; update system_summary set mean = mean / 2 {kept}",
    )
    other_ranking(tmp_path)
    rewrite(tmp_path, "judgments.qrels", regraded())
    assert (
        of_new(since(night(tmp_path, 2))).unknown == "the values of evaluation 1 are not those that it would have now"
    )


@pytest.mark.slow
def test_scores_of_another_tool_are_not_split(tmp_path: Path) -> None:
    def scored(day: int, value: float) -> bundles.Bundle:
        rows = [f"{system}\tq{n}\tndcg@10\t{value / n}" for system in ("old", "new") for n in range(1, 9)]
        small(tmp_path)
        rewrite(tmp_path, "scores.tsv", ["system_id\tquery_id\tmetric\tvalue", *rows])
        both = [{"name": name} for name in ("old", "new")]
        keys = {"judgments": None, "systems": both, "scores": [{"file": "scores.tsv"}], "metrics": ["ndcg@10"]}
        return night(tmp_path, day, **keys)

    scored(1, 0.5)
    row = of_new(since(scored(2, 0.6)))
    assert row.unknown and row.unknown.startswith("the scores are another tool's") and row.parts == {}


# ---- random evaluations, against the definition in a loop over orders and queries
DOCUMENTS = "abcdefgh"
Side = tuple[Judgments, dict[str, dict[str, float]], Weights]


def drawn(chance: random.Random, *, queries: int = 5, returned: int = 4) -> Side:
    """Judgments, the ranking of `new`, and weights; the first query is always there, and can be scored."""
    ids = [f"q{number}" for number in range(queries)]
    judgments: Judgments = {
        query: {doc: float(chance.choice([0, 0, 1, 2])) for doc in chance.sample(DOCUMENTS, 3)}
        for query in ids
        if chance.random() < 0.7
    }
    judgments["q0"] = {"a": 2.0, "b": float(chance.randrange(3)), "c": 1.0}
    ranking = {
        query: {doc: float(score) for score, doc in enumerate(chance.sample(DOCUMENTS, returned), 1)}
        for query in ids
        if query == "q0" or chance.random() < 0.8
    }
    return judgments, ranking, {query: chance.choice([0.5, 1.0, 3.0]) for query in ids}


def expected(sides: list[Side], metric: str, *, weighted: bool) -> dict[str, float]:
    """The parts by the definition: the mean over the six orders of changing one thing after the other."""
    scored = {}
    for ranking, judgments in itertools.product((0, 1), repeat=2):
        runs = {"new": {query: results(found) for query, found in sides[ranking][1].items()}}
        found = core_scores(sides[judgments][0], runs, [metric])
        scored[ranking, judgments] = {query: value for (_, query, _), value in found.items()}

    def mean(state: dict[str, int]) -> float:
        side = state["queries"]
        values, weights = [], []
        for query in sides[side][0]:
            is_shared = query in sides[1 - side][0]
            at = (state["ranking"], state["judgments"]) if is_shared else (side, side)
            if query in scored[at]:
                values.append(scored[at][query])
                weights.append(sides[side][2][query] if weighted else 1.0)
        return sum(v * w for v, w in zip(values, weights, strict=True)) / sum(weights)

    moved = dict.fromkeys(CAUSES, 0.0)
    for order in itertools.permutations(CAUSES):
        state = dict.fromkeys(CAUSES, 0)
        for cause in order:
            earlier = mean(state)
            state[cause] = 1
            moved[cause] += (mean(state) - earlier) / 6
    return moved


@pytest.mark.soak
@settings(max_examples=3, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(chance=st.randoms(use_true_random=False), weighted=st.booleans())
def test_random_evaluations_are_split_exactly(chance: random.Random, *, weighted: bool) -> None:
    sides = [drawn(chance), drawn(chance)]
    metrics = ["ndcg@3", "ndcg(unanswered=exclude)@3", "rr(no_relevant=zero)@3"]
    check(sides, metrics, weighted=weighted)


@pytest.mark.soak
def test_rankings_of_which_only_the_top_is_kept_are_split_as_exactly() -> None:
    """There are more queries than those whose whole rankings are kept for the parity check."""
    chance = random.Random(1953)
    check([drawn(chance, queries=150, returned=8) for _ in range(2)], ["ndcg@2"], weighted=True)


def check(sides: list[Side], metrics: list[str], *, weighted: bool) -> None:
    """Two nights: the parts are those of the definition, and add up."""
    queries = {"queries": {"file": "weights.tsv"}} if weighted else {}
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        small(folder)
        for day, side in enumerate(sides, start=1):
            write(folder, *side)
            bundle = night(folder, day, metrics=metrics, primary_metrics=metrics, **queries)
    found = since(bundle) if sides[0] != sides[1] else SinceLast(1, "", ())
    means = {(each.system_id, each.metric): each.mean for each in bundle.outcome.systems}
    for row in found.moved:
        if row.system_id == "new":
            told = [row.ranking, row.judgments, row.queries]
            assert row.unknown is None and row.now == pytest.approx(means["new", row.metric], abs=1e-15)
            assert sum(told) == pytest.approx(row.now - row.before, abs=1e-12)
            wanted = expected(sides, row.metric, weighted=weighted)
            assert told == pytest.approx(list(wanted.values()), abs=1e-12)
    assert len(found.moved) == len(found.systems) * len(metrics)


def write(folder: Path, judgments: Judgments, ranking: dict[str, dict[str, float]], weights: Weights) -> None:
    """The files of one night."""
    write_judgments(folder / "inputs" / "judgments.qrels", judgments)
    best_first = {query: dict(sorted(found.items(), key=lambda row: -row[1])) for query, found in ranking.items()}
    write_rankings(folder / "inputs", {"new": best_first, "old": dict.fromkeys(weights, "a")})
    rewrite(folder, "weights.tsv", ["query_id\tweight", *(f"{query}\t{weight}" for query, weight in weights.items())])


def test_rankings_before_are_compared_on_queries_that_are_judged_in_both(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of b and c nothing was judged before: the old ranking has values there by the judgments of now."""
    metric, values = parse("rr"), np.array([0.5, 1.0, 0.2])
    key, scored = (metric.hash, "new"), PairedValues(("a", "b", "c"), values, values)
    here, there = (
        mean_attribution.ComparedEvaluation(cast(Any, None), frozenset(judged), None, {}) for judged in ("abc", "a")
    )
    monkeypatch.setattr(mean_attribution, "read_side", lambda *_: here)
    monkeypatch.setattr(mean_attribution, "open_earlier_side", lambda *_: contextlib.nullcontext(there))
    monkeypatch.setattr(mean_attribution, "score_by_judgments", lambda *_: {(metric.hash, "then new"): scored})
    for name, found in (("count_changed_judgments", (2, 0)), ("attribution_rows", [])):
        monkeypatch.setattr(mean_attribution, name, lambda *_, found=found: found)
    evaluation = SimpleNamespace(deciding_metrics=[metric], scores=None, engine=SimpleNamespace(spark=None))
    earlier = PastEvaluation(1, cast(Any, None), None, {key: scored}, {})
    causes = {"new": frozenset(("ranking", "judgments"))}
    _, old = split_mean_changes(cast(Any, None), cast(Any, evaluation), earlier, {key: scored}, causes)
    assert (old[key].query_ids, old[key].differences.tolist()) == (("a",), [0.5])
