"""Are decisions with few judgments those that all judgments would give?  Two collections, judgments removed in 8 ways.

    python benchmarks/simulate_labels.py [--seed 1] [--repetitions N] [--quick]

Reads the demo's judgments and makes its five rankings (configs/), and reads five rankings of CAsT 2021 in the folder
NDCG_AB_DATA; without that folder it measures the demo alone.  Judged results count as the whole truth: the ten best
judged results of a query are its ranking.  For every two systems, the baseline drawn by lot, judgments are removed, and
`ndcg_ab.compare` decides (ndcg@10, smallest effect .01).  A *wrong direction* is `ship` or `ship if cheap` of a
candidate that is worse by all judgments, or `do not ship` of one that is better.  Also counted is how often a verdict
has the warning `labels_favour`.  Prints rows as `simulate.py` does, and ends with code 1 if one lies outside its
accepted range (docs/calibration.md).
"""

import gzip
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from simulate import FloatArray, Rng, Row, run

import ndcg_ab
from ndcg_ab.results.decisions import Choice
from ndcg_core.statistics.verdicts.verdict import Verdict

CONFIGS = Path(__file__).parent.parent / "configs"
CAST = ("manual_bm25", "convdr", "convdr_bert", "manual_ance", "manual_ance_bert")
DEMO = ("body-only", "name-weighted", "general-first", "name-weighted-unstemmed", "all-words")
QUICK = ("body-only", "general-first")
CUTOFF = 10
SELDOM, WARNED_SELDOM, WARNED_MOSTLY = (0.0, 0.01), (0.0, 0.05), (0.9, 1.0)
DIRECTIONS = {Choice.SHIP: 1, Choice.SHIP_IF_CHEAP: 1, Choice.DO_NOT_SHIP: -1}
DECIDED = {*DIRECTIONS, Choice.NOTHING_CHANGED}
Grades = Mapping[str, Mapping[str, int]]
Ranking = dict[str, dict[str, float]]


@dataclass(frozen=True, eq=False)
class Collection:
    """A test collection whose rankings hold judged documents only, at most CUTOFF a query."""

    name: str
    judgments: Grades
    rankings: Mapping[str, Ranking]


class JudgedResults(NamedTuple):
    """The judged documents, (query_id, doc_id), of all queries, with their grades and the systems that return them."""

    keys: list[tuple[str, str]]
    grade: NDArray[np.int64]
    by_baseline: NDArray[np.bool_]
    by_candidate: NDArray[np.bool_]


class Way(NamedTuple):
    """A way of removing judgments.

    chance: returns, for each result, the chance that its judgment is removed. is_fair: whether the chances ignore the
    grade.
    """

    name: str
    chance: Callable[[JudgedResults], FloatArray]
    is_fair: bool = True
    """False if the chance depends on the grade: no rule can notice that, so nothing is promised."""


def candidate_alone(results: JudgedResults, share: float) -> FloatArray:
    return np.where(results.by_candidate & ~results.by_baseline, share, 0.0)


def one_alone(results: JudgedResults, share: float) -> FloatArray:
    return np.where(results.by_candidate ^ results.by_baseline, share, 0.0)


def by_grade(results: JudgedResults, relevant: float, others: float) -> FloatArray:
    return np.where(results.grade > 0, relevant, others)


RANDOM, LOSER = ("20 % at random", "half at random"), "all that the candidate alone shows"
WAYS = (
    Way("20 % at random", lambda results: np.full(len(results.keys), 0.2)),
    Way("half at random", lambda results: np.full(len(results.keys), 0.5)),
    Way("30 % of what the candidate alone shows", lambda results: candidate_alone(results, 0.3)),
    Way("70 % of what the candidate alone shows", lambda results: candidate_alone(results, 0.7)),
    Way("70 % of what one of the two alone shows", lambda results: one_alone(results, 0.7)),
    Way(LOSER, lambda results: candidate_alone(results, 1.0)),
    Way("all but the baseline's top 10", lambda results: np.where(results.by_baseline, 0.0, 1.0)),
    Way("30 % of the relevant, 10 % of the others", lambda results: by_grade(results, 0.3, 0.1), is_fair=False),
    Way(
        "of what the candidate shows 80 % of the relevant, 10 % of the others",
        lambda results: results.by_candidate * by_grade(results, 0.8, 0.1),
        is_fair=False,
    ),
)


def judged_top(scores: Mapping[str, Mapping[str, float]], judgments: Grades) -> Ranking:
    """Return the best judged documents of every query, at most CUTOFF, without ties."""
    found: Ranking = {}
    for query, grades in judgments.items():
        order = sorted(((score, doc) for doc, score in scores.get(query, {}).items() if doc in grades), reverse=True)
        found[query] = {doc: float(CUTOFF - index) for index, (_, doc) in enumerate(order[:CUTOFF])}
    return found


def collection(
    name: str, grades: Grades, rankings: Iterator[tuple[str, Mapping[str, Mapping[str, float]]]]
) -> Collection:
    judgments = {query: judged for query, judged in grades.items() if max(judged.values()) > 0}
    return Collection(name, judgments, {system: judged_top(scores, judgments) for system, scores in rankings})


def read_demo(systems: tuple[str, ...]) -> Collection:
    """Return the demo's judgments, with the rankings that its search engine makes."""
    sys.path.insert(0, str(CONFIGS))
    import demo_engine

    judgments = defaultdict[str, dict[str, int]](dict)
    for line in (CONFIGS / "demo_judgments.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, doc, grade = line.split("\t")
        judgments[query][doc] = int(grade)
    lines = (CONFIGS / "demo_queries.tsv").read_text(encoding="utf-8").splitlines()[1:]
    texts = dict(line.split("\t")[:2] for line in lines)
    found = ((name, {query: dict(docs) for query, docs in demo_engine.search(texts, name).items()}) for name in systems)
    return collection("demo", judgments, found)


def read_cast(folder: Path) -> Collection:
    judgments = defaultdict[str, dict[str, int]](dict)
    with gzip.open(folder / "qrels.txt.gz", "rt", encoding="utf-8") as file:
        for line in file:
            query, _, doc, grade = line.split()
            judgments[query][doc] = int(grade)
    return collection("CAsT 2021", judgments, ((name, read_run(folder / f"{name}.run.gz")) for name in CAST))


def read_run(path: Path) -> Mapping[str, Mapping[str, float]]:
    scores = defaultdict[str, dict[str, float]](dict)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            query, _, doc, _, score, _ = line.split()
            scores[query][doc] = float(score)
    return scores


@cache
def collections(quick: bool) -> tuple[Collection, ...]:
    demo = read_demo(QUICK if quick else DEMO)
    folder = os.environ.get("NDCG_AB_DATA")
    return (demo,) if quick or not folder else (demo, read_cast(Path(folder) / "cast2021"))


def judged_results_of(of: Collection, baseline: str, candidate: str) -> JudgedResults:
    """Return every judged document of the collection, and which of the two systems return it."""
    keys = [(query, doc) for query, grades in of.judgments.items() for doc in grades]
    shown = ([doc in of.rankings[name][query] for query, doc in keys] for name in (baseline, candidate))
    return JudgedResults(keys, np.array([of.judgments[query][doc] for query, doc in keys]), *map(np.array, shown))


class Decided(NamedTuple):
    """The decision on a candidate with a set of judgments.

    difference: the mean difference. sign: that of the verdict, 0 if none is shown. is_warned: whether `labels_favour`
    warns.
    """

    choice: Choice
    difference: float
    sign: int
    is_warned: bool


def decide(of: Collection, judgments: Grades, baseline: str, candidate: str) -> Decided:
    """Return the decision on the candidate."""
    found = ndcg_ab.compare(
        judgments,
        {name: of.rankings[name] for name in (baseline, candidate)},
        metrics=f"ndcg@{CUTOFF}",
        smallest_effect=0.01,
        resamples=500,
        bounds=False,
        threads=1,
    )
    row = found.comparison()
    sign = {Verdict.IMPROVED: 1, Verdict.REGRESSED: -1}.get(row.conclusion, 0)
    is_warned = any(finding.code == "labels_favour" for finding in found.findings)
    return Decided(found.decisions[0].decision, row.difference or 0.0, sign, is_warned)


def remove(rng: Rng, results: JudgedResults, way: Way) -> Grades:
    """Return the judgments that remain after random removal."""
    is_kept = rng.random(len(results.keys)) >= way.chance(results)
    left = defaultdict[str, dict[str, int]](dict)
    for (query, doc), grade, keeps in zip(results.keys, results.grade.tolist(), is_kept.tolist(), strict=True):
        if keeps:
            left[query][doc] = grade
    return left


class Outcome(NamedTuple):
    """One decision with fewer judgments, compared with the decision with all judgments."""

    is_decided: bool
    is_wrong: bool
    is_early: bool
    """It is decided, and all judgments do not decide it so."""
    is_decided_by_all: bool
    is_warned: bool | None
    """None if no difference is shown."""
    is_shown_by_all: bool
    """All judgments show a difference of the same sign."""


def outcomes(of: Collection, seed: int, repetitions: int, ways: tuple[Way, ...]) -> dict[str, list[Outcome]]:
    """Return the decisions on every two systems, for each way of removing judgments."""
    found = defaultdict[str, list[Outcome]](list)
    by_all: dict[tuple[str, str], Decided] = {}
    for repetition in range(repetitions):
        rng = np.random.default_rng([seed, 10, len(of.judgments), repetition])
        for pair in combinations(of.rankings, 2):
            baseline, candidate = pair if rng.random() < 0.5 else pair[::-1]
            if (baseline, candidate) not in by_all:
                by_all[baseline, candidate] = decide(of, of.judgments, baseline, candidate)
            whole = by_all[baseline, candidate]
            results = judged_results_of(of, baseline, candidate)
            for way in ways:
                few = decide(of, remove(rng, results, way), baseline, candidate)
                direction, is_decided = DIRECTIONS.get(few.choice, 0), few.choice in DECIDED
                is_early = is_decided and direction != DIRECTIONS.get(whole.choice, 0)
                is_warned = few.is_warned if few.sign else None
                is_wrong, by_all_too = direction * whole.difference < 0, whole.sign == few.sign
                found[way.name].append(
                    Outcome(is_decided, is_wrong, is_early, whole.choice in DECIDED, is_warned, by_all_too)
                )
    return found


def share(values: Iterable[bool]) -> float:
    return float(np.mean(list(values)))


def warned(what: str, setting: str, every: list[Outcome], accepted: tuple[float, float]) -> list[Row]:
    """Return how often a verdict that shows a difference has the warning."""
    shown = [each.is_warned for each in every if each.is_warned is not None]
    return [Row(f"verdicts warned of, {what}", setting, len(shown), share(shown), accepted)] if shown else []


def rows(seed: int, repetitions: int, *, quick: bool = False) -> list[Row]:
    ways = WAYS[:1] + WAYS[6:7] if quick else WAYS
    found, fair, random, one_sided = list[Row](), list[Outcome](), list[Outcome](), list[Outcome]()
    for of in collections(quick):
        by_way = outcomes(of, seed, repetitions, ways)
        for way in ways:
            every = by_way[way.name]
            setting = f"{of.name}, removed: {way.name}"
            measured = (
                ("decided", share(each.is_decided for each in every)),
                ("decided by all judgments", share(each.is_decided_by_all for each in every)),
                ("decided otherwise than by all judgments", share(each.is_early for each in every)),
                ("wrong direction", share(each.is_wrong for each in every)),
            )
            found += [Row(what, setting, len(every), value) for what, value in measured]
            fair += every if way.is_fair else []
            random += every if way.name in RANDOM else []
            one_sided += [each for each in every if not each.is_shown_by_all] if way.name == LOSER else []
    wrong = share(each.is_wrong for each in fair)
    found.append(Row("wrong direction", "removed at random or from one side, together", len(fair), wrong, SELDOM))
    found += warned("of any kind", "removed at random, together", random, WARNED_SELDOM)
    return found + warned("which all judgments do not give", f"removed: {LOSER}", one_sided, WARNED_MOSTLY)


if __name__ == "__main__":
    run(__doc__, lambda given: rows(given.seed, given.repetitions or (1 if given.quick else 2), quick=given.quick))
