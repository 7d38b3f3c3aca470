"""How near do judgments from clicks come to the relevance that simulated users know?

    python benchmarks/simulate_clicks.py [--seed 1] [--repetitions N] [--quick]

Users (`ndcg_core/clicks/users.py`) search 40 queries of 20 documents whose grades 0 to 3 are known, and see the first
ten places of one of two rankings, or of one alone. Of every log each model makes grades, by which six other rankers are
compared in pairs. Prints rows as `simulate.py` does (docs/calibration.md): Kendall's tau-b between values and true
grades, the mean over queries; and the share of pairs of rankers that the grades order as the truth does.
"""

import argparse
from itertools import combinations

import numpy as np
from scipy.stats import kendalltau  # type: ignore[import-untyped]
from simulate import Row, run

from ndcg_core.clicks.models import MODELS, Event, click_values, count_clicks
from ndcg_core.clicks.users import User, attractions, cascade_user, position_user

QUERIES, DOCUMENTS, PLACES, RANKERS = 40, 20, 10, 6
NOISE = 1.0, 1.6  # standard deviations of what the two logged rankings add to the grades
USERS: dict[str, User] = {"position-based users": position_user, "cascade users": cascade_user}
Grades = np.ndarray[tuple[int, int], np.dtype[np.float64]]


def rank_all(
    grades: Grades, noise: float, generator: np.random.Generator
) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """(queries, documents) the documents of each query in the order of their grades with noise."""
    return np.argsort(-(grades + generator.normal(0, noise, grades.shape)), axis=1)


def log_of(grades: Grades, user: User, searches: int, rankings: int, generator: np.random.Generator) -> list[Event]:
    """The events of so many searches, each of one of the rankings."""
    shown = [rank_all(grades, noise, generator) for noise in NOISE[:rankings]]
    events = []
    for number in range(searches):
        query = int(generator.integers(QUERIES))
        documents = shown[int(generator.integers(rankings))][query, :PLACES]
        clicked = set(user(attractions(grades[query, documents].tolist(), 3.0), generator))
        events += [
            Event(str(query), str(document), place + 1, str(number), 1, int(place in clicked))
            for place, document in enumerate(documents)
        ]
    return events


def dcg(gains: Grades) -> float:
    """The mean over queries of the first ten places' discounted sum."""
    return float((gains[:, :10] / np.log2(np.arange(10) + 2)).sum(axis=1).mean())


def measure(user: User, searches: int, rankings: int, generator: np.random.Generator) -> dict[str, tuple[float, float]]:
    """Model -> tau-b, and the share of pairs of rankers ordered as by the truth."""
    grades = generator.choice([0.0, 1.0, 2.0, 3.0], (QUERIES, DOCUMENTS), p=[0.55, 0.25, 0.15, 0.05])
    counts = count_clicks(log_of(grades, user, searches, rankings, generator))
    rankers = [rank_all(grades, noise, generator) for noise in np.linspace(1.0, 2.5, RANKERS)]
    truth = [dcg(np.take_along_axis(grades, ranker, axis=1)) for ranker in rankers]
    found = {}
    for model in MODELS:
        values = np.full(grades.shape, np.nan)
        for (query, document), row in click_values(counts, model).items():
            if row.value is not None and row.impressions >= 10:
                values[int(query), int(document)] = row.value
        taus = [
            kendalltau(one[~np.isnan(one)], true[~np.isnan(one)])[0] for one, true in zip(values, grades, strict=True)
        ]
        known = np.nan_to_num(values)
        seen = [dcg(np.take_along_axis(known, ranker, axis=1)) for ranker in rankers]
        pairs = [(truth[a] - truth[b]) * (seen[a] - seen[b]) > 0 for a, b in combinations(range(RANKERS), 2)]
        found[model] = (float(np.nanmean(taus)), float(np.mean(pairs)))
    return found


def all_rows(options: argparse.Namespace) -> list[Row]:
    repetitions = options.repetitions or (3 if options.quick else 20)
    found = []
    for name, user in USERS.items():
        for searches, rankings in ((8_000, 2), (40_000, 2), (40_000, 1)):
            generator = np.random.default_rng([options.seed, searches, rankings])
            measured = [measure(user, searches, rankings, generator) for _ in range(repetitions)]
            setting = f"{name}, {searches:,} searches, {rankings} ranking{'s' * (rankings > 1)}"
            for model in MODELS:
                taus, pairs = zip(*(each[model] for each in measured), strict=True)
                found.append(Row(f"tau-b, {model}", setting, repetitions, float(np.mean(taus))))
                found.append(
                    Row(f"pairs of rankers as by the truth, {model}", setting, repetitions, float(np.mean(pairs)))
                )
    return found


if __name__ == "__main__":
    run(__doc__, all_rows)
