"""How near do judgments from clicks come to the relevance that simulated users know, and what do intervals hold?

    python benchmarks/simulate_clicks.py [--seed 1] [--repetitions N] [--quick]

Users (`benchmarks/click_users.py`) search 40 queries of 20 documents whose grades 0 to 3 are known, and see the first
ten results of one of two rankings, or of one alone, of which a share of the searches is shuffled. Of every log each
model makes grades, by which six other rankers are compared in pairs. Prints rows as `simulate.py` does
(docs/calibration.md): Kendall's tau-b between values and true grades, the mean over queries; the share of pairs of
rankers that the grades order as the truth does; and the share of documents whose interval holds the value that the
model has where every impression is clicked as often as it is likely. Where searches are shuffled, users are
position-based, and `position` has to hold the chance of a click that they were made with.
"""

import argparse
from collections import defaultdict
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from click_models import MODELS, ClickCount, click_values
from click_users import Chances, User, attractions, cascade_chances, cascade_user, position_chances, position_user
from scipy.stats import kendalltau  # type: ignore[import-untyped]
from simulate import Row, run

QUERIES, DOCUMENTS, DEPTH, RANKERS = 40, 20, 10, 6
NOISE = 1.0, 1.6  # standard deviations of what the two logged rankings add to the grades
FLOOR = 10  # impressions of a document that is looked at
SHUFFLED = 0.01, 0.05, 0.2  # shares of searches
USERS: dict[str, tuple[User, Chances]] = {
    "position-based users": (position_user, position_chances),
    "cascade users": (cascade_user, cascade_chances),
}
Grades = np.ndarray[tuple[int, int], np.dtype[np.float64]]


class Measured(NamedTuple):
    """The quality of one click model.

    tau: Kendall's tau-b. pairs: the share of pairs of rankers ordered as by the truth. held: the share of intervals
    that hold the value.
    """

    tau: float
    pairs: float
    held: float


class Setting(NamedTuple):
    """The setting of a simulated click log. shuffled: share of the searches whose ten results are in random order."""

    users: str
    searches: int
    rankings: int
    shuffled: float = 0.0


SETTINGS = (
    *(Setting(users, *size) for users in USERS for size in ((8_000, 2), (40_000, 2), (40_000, 1))),
    *(Setting("position-based users", searches, 1, share) for searches in (8_000, 40_000) for share in SHUFFLED),
)
WHAT = ("tau-b", "pairs of rankers as by the truth", "intervals of 95 % that hold the value")


def rank_all(
    grades: Grades, noise: float, generator: np.random.Generator
) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """Return the (queries, documents) rankings by grade with noise."""
    return np.argsort(-(grades + generator.normal(0, noise, grades.shape)), axis=1)


def count_log(
    grades: Grades, setting: Setting, generator: np.random.Generator
) -> tuple[list[ClickCount], list[ClickCount]]:
    """Return the click counts of simulated searches, and those with as many clicks as are expected."""
    shown = [rank_all(grades, noise, generator) for noise in NOISE[: setting.rankings]]
    user, chances_of = USERS[setting.users]
    counted = defaultdict[tuple[str, str, int], list[float]](lambda: [0, 0, 0.0])
    for _ in range(setting.searches):
        query = int(generator.integers(QUERIES))
        documents = shown[int(generator.integers(setting.rankings))][query, :DEPTH]
        if setting.shuffled and generator.random() < setting.shuffled:
            documents = generator.permutation(documents)
        attraction = attractions(grades[query, documents].tolist(), 3.0)
        clicked = set(user(attraction, generator))
        for index, (document, chance) in enumerate(zip(documents, chances_of(attraction), strict=True)):
            cell = counted[str(query), str(document), index + 1]
            for at, more in enumerate((1, index in clicked, chance)):
                cell[at] += more
    found: tuple[list[Any], list[Any]] = ([], [])
    for key, (shown_there, *clicks) in sorted(counted.items()):
        for rows, number in zip(found, clicks, strict=True):
            rows.append(ClickCount(*key, shown_there, number, shown_there, number))  # type: ignore[arg-type]
    return found


def dcg(gains: Grades) -> float:
    """Return the mean over queries of the discounted sum of the top ten results."""
    return float((gains[:, :10] / np.log2(np.arange(10) + 2)).sum(axis=1).mean())


def measure(setting: Setting, generator: np.random.Generator) -> dict[str, Measured]:
    """Measure each model on one log."""
    grades = generator.choice([0.0, 1.0, 2.0, 3.0], (QUERIES, DOCUMENTS), p=[0.55, 0.25, 0.15, 0.05])
    counts, likely = count_log(grades, setting, generator)
    rankers = [rank_all(grades, noise, generator) for noise in np.linspace(1.0, 2.5, RANKERS)]
    truth = [dcg(np.take_along_axis(grades, ranker, axis=1)) for ranker in rankers]
    found = {}
    for model in MODELS:
        values = np.full(grades.shape, np.nan)
        meant, held = click_values(likely, model), []
        for (query, document), row in click_values(counts, model).items():
            if row.impressions < FLOOR:
                continue
            values[int(query), int(document)] = row.value
            if row.low is None or row.high is None or (query, document) not in meant:
                continue
            value = meant[query, document].value
            if setting.shuffled and model == "position":
                (value,) = attractions([grades[int(query), int(document)]], 3.0)
            held.append(row.low <= value <= row.high)
        taus = [
            kendalltau(one[~np.isnan(one)], true[~np.isnan(one)])[0] for one, true in zip(values, grades, strict=True)
        ]
        known = np.nan_to_num(values)
        seen = [dcg(np.take_along_axis(known, ranker, axis=1)) for ranker in rankers]
        pairs = [(truth[a] - truth[b]) * (seen[a] - seen[b]) > 0 for a, b in combinations(range(RANKERS), 2)]
        found[model] = Measured(
            float(np.nanmean(taus)), float(np.mean(pairs)), float(np.mean(held)) if held else np.nan
        )
    return found


def all_rows(options: argparse.Namespace) -> list[Row]:
    repetitions = options.repetitions or (3 if options.quick else 20)
    found = []
    for setting in SETTINGS:
        generator = np.random.default_rng(
            [options.seed, setting.searches, setting.rankings, round(100 * setting.shuffled)]
        )
        measured = [measure(setting, generator) for _ in range(repetitions)]
        named = (
            f"{setting.users}, {setting.searches:,} searches, {setting.rankings} ranking{'s' * (setting.rankings > 1)}"
        )
        named += f", {setting.shuffled:.0%} shuffled" if setting.shuffled else ""
        for model in MODELS:
            means = map(np.mean, zip(*(each[model] for each in measured), strict=True))
            for what, mean in zip(WHAT, means, strict=True):
                if np.isfinite(mean):
                    found.append(Row(f"{what}, {model}", named, repetitions, float(mean)))
    return found


if __name__ == "__main__":
    run(__doc__, all_rows)
