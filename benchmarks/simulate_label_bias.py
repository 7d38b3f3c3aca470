"""Does the warning `labels_favour` come where labels decide, and stay away where they are missing at random?

    python benchmarks/simulate_label_bias.py [--seed 1] [--repetitions N] [--quick]

Reads CAsT 2021 of the folder NDCG_AB_DATA: five rankings, of which what is judged is taken for the whole truth. Then
judgments are hidden: what one of two systems alone shows, so that the labels favour the other; or a random part. Prints
rows as `simulate.py` does, and ends with code 1 if one of them lies outside its accepted range (docs/calibration.md).
"""

import argparse
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from simulate import Row, run

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.duckdb import DuckDBEngine
from ndcg_ab.labels.judged_shares import judged_side
from ndcg_ab.pipeline.conclude import make_outcome
from ndcg_ab.results.outcome import Outcome
from ndcg_ab.scoring import loading
from ndcg_ab.scoring.scoring import score_metrics
from ndcg_ab.sources import JUDGMENT, RANKING, Pulled, Queries, pull_source

SYSTEMS = ("manual_bm25", "convdr", "convdr_bert", "manual_ance", "manual_ance_bert")
QUICK = ("manual_bm25", "convdr_bert", "manual_ance")
METRIC, CUTOFF = "ndcg@10", 10
HIDDEN = (0.1, 0.25, 0.5, 0.75)
NEVER, SELDOM, MOSTLY = (0.0, 0.0), (0.0, 0.05), (0.9, 1.0)


@dataclass(frozen=True, eq=False)
class World:
    """The judgments, and of every ranking what is judged, the best first."""

    judgments: Pulled
    rankings: Mapping[str, Pulled]

    def without(self, hidden: pa.ChunkedArray | pa.Array) -> Pulled:
        """The judgments but those of some places."""
        return replace(self.judgments, table=self.judgments.table.filter(pc.invert(hidden)))


def evaluation_of(systems: tuple[str, ...]) -> Evaluation:
    """The first system is the baseline."""
    folder = Path(os.environ["NDCG_AB_DATA"]) / "cast2021"
    return Evaluation(
        name="labels",
        judgments={"file": str(folder / "qrels.txt.gz")},
        systems=[{"name": name, "file": str(folder / f"{name}.run.gz")} for name in systems],
        metrics=[METRIC],
        statistics={"resamples": 1_000},
        resources={"threads": 1},
    )


def keys(table: pa.Table) -> pa.ChunkedArray:
    texts = [table[name].cast(pa.string()) for name in ("query_id", "doc_id")]
    return pc.binary_join_element_wise(*texts, "\t")


def world_of(systems: tuple[str, ...]) -> World:
    evaluation = evaluation_of(systems)
    judgments = pull_source(evaluation.judgments_source, JUDGMENT, evaluation.directory)
    known = keys(judgments.table).combine_chunks()
    rankings = {}
    for system in evaluation.systems:
        found = pull_source(system.source, RANKING, evaluation.directory).whole()
        rankings[system.name] = replace(found, table=found.table.filter(pc.is_in(keys(found.table), value_set=known)))
    return World(judgments, rankings)


def shown(ranking: Pulled) -> set[str]:
    """The results within the cutoff, as `keys` names them."""
    order = [("query_id", "ascending"), ("score", "descending"), ("doc_id", "descending")]
    table = ranking.table.cast(RANKING.schema).sort_by(order)
    ranks: Counter[str] = Counter()
    found = set()
    for query, key in zip(table["query_id"].to_pylist(), keys(table).to_pylist(), strict=True):
        ranks[query] += 1
        if ranks[query] <= CUTOFF:
            found.add(key)
    return found


def outcome_of(world: World, judgments: Pulled, systems: tuple[str, ...]) -> Outcome:
    evaluation = evaluation_of(systems)
    with DuckDBEngine(1) as engine:
        rankings = {name: world.rankings[name] for name in systems}
        loading.load_tables(engine, judgments, Queries(), rankings, evaluation)
        score_metrics(engine, evaluation.metric_list)
        return make_outcome(engine, evaluation, [], 1)


@dataclass(frozen=True, slots=True)
class Told:
    """One comparison by some judgments: the side that its verdict favours, by all of them too, whether it is warned."""

    side: int
    by_all: int
    is_warned: bool


def told(outcome: Outcome, by_all: Mapping[tuple[str, str], int]) -> list[Told]:
    warned = {found.system for found in outcome.findings if found.code == "labels_favour"}
    return [
        Told(judged_side(row), by_all[row.baseline, row.candidate], row.candidate in warned)
        for row in outcome.comparisons
    ]


def by_all_judgments(world: World, systems: tuple[str, ...]) -> tuple[dict[tuple[str, str], int], list[Told]]:
    """The side that each ordered pair's verdict favours, and what is told where everything is judged."""
    outcomes = [
        outcome_of(world, world.judgments, (name, *(other for other in systems if other != name))) for name in systems
    ]
    found = {(row.baseline, row.candidate): judged_side(row) for outcome in outcomes for row in outcome.comparisons}
    return found, [each for outcome in outcomes for each in told(outcome, found)]


def hidden_of_one(world: World, by_all: Mapping[tuple[str, str], int], systems: tuple[str, ...]) -> Iterator[Told]:
    """For each two systems, the first favoured: what the second alone shows is hidden."""
    tops = {name: shown(ranking) for name, ranking in world.rankings.items()}
    known = keys(world.judgments.table)
    for favoured, other in permutations(systems, 2):
        alone = pa.array(sorted(tops[other] - tops[favoured]))
        judgments = world.without(pc.is_in(known, value_set=alone))
        (found,) = told(outcome_of(world, judgments, (other, favoured)), by_all)
        if found.side > 0:
            yield found


def hidden_at_random(
    world: World,
    by_all: Mapping[tuple[str, str], int],
    systems: tuple[str, ...],
    share: float,
    rng: np.random.Generator,
) -> Iterator[Told]:
    hidden = pa.array(rng.random(world.judgments.table.num_rows) < share)
    order = tuple(rng.permutation(systems).tolist())
    yield from (each for each in told(outcome_of(world, world.without(hidden), order), by_all) if each.side)


def row_of(found: list[Told], what: str, setting: str, accepted: tuple[float, float] | None) -> Row:
    share = float(np.mean([each.is_warned for each in found])) if found else 0.0
    return Row(what, setting, max(len(found), 1), share, accepted if found else None)


def rows(seed: int, repetitions: int, systems: tuple[str, ...] = SYSTEMS) -> list[Row]:
    world = world_of(systems)
    by_all, every = by_all_judgments(world, systems)
    found = [row_of([each for each in every if each.side], "verdicts warned of", "everything judged", NEVER)]
    alone = list(hidden_of_one(world, by_all, systems))
    setting = "hidden: what the loser alone shows"
    wrong = [each for each in alone if each.by_all <= 0]
    right = [each for each in alone if each.by_all > 0]
    found.append(row_of(wrong, "verdicts warned of, which all judgments do not give", setting, MOSTLY))
    found.append(row_of(right, "verdicts warned of, which all judgments give too", setting, None))
    for share in HIDDEN:
        rng = np.random.default_rng([seed, round(100 * share)])
        every = [each for _ in range(repetitions) for each in hidden_at_random(world, by_all, systems, share, rng)]
        found.append(row_of(every, "verdicts warned of", f"hidden: {100 * share:.0f} % at random", SELDOM))
    return found


def all_rows(options: argparse.Namespace) -> list[Row]:
    if options.quick:
        return rows(options.seed, options.repetitions or 2, QUICK)
    return rows(options.seed, options.repetitions or 50)


if __name__ == "__main__":
    run(__doc__, all_rows)
