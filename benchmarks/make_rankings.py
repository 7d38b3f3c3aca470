"""Makes the seeded rankings and judgments that the benchmarks read: TREC text, any size.

    python benchmarks/make_rankings.py DIRECTORY [--queries 6980] [--documents 1000] [--systems 3] [--seed 1]

The default is the load that `benchmarks/compare.py` measures: three rankings of 6,980 queries x 1,000
documents (about 760 MB) and 40 judgments a query.  The systems share part of their documents, scores
have six digits and some are tied, and judged documents stand nearer the top than chance would put them.
"""

import argparse
from pathlib import Path

import numpy as np


def write_judgments(path: Path, query_ids: np.ndarray, pools: np.ndarray, rng: np.random.Generator) -> None:
    """40 judged documents a query out of its pool, grades 0-3, one in three above 0."""
    grades = rng.choice([0, 0, 0, 0, 1, 2, 3], size=(len(query_ids), 40))
    grades[:, 0] = 3  # every query has something to find
    with path.open("w") as file:
        for query_id, documents, row in zip(query_ids, pools, grades, strict=True):
            file.writelines(f"{query_id} 0 {doc} {grade}\n" for doc, grade in zip(documents, row, strict=True))


def write_ranking(path: Path, name: str, query_ids: np.ndarray, pools: np.ndarray, depth: int, seed: int) -> None:
    """One system: `depth` distinct documents a query, of which some 20 judged, with falling scores."""
    rng = np.random.default_rng(seed)
    with path.open("w") as file:
        for query_id, judged in zip(query_ids, pools, strict=True):
            # Unjudged ids are odd and judged ones even, so no document can come twice.
            unjudged = 2 * np.unique(rng.integers(0, 4_400_000, size=depth + 60))[:depth] + 1
            rng.shuffle(unjudged)
            documents = unjudged.copy()
            found = rng.choice(judged, size=min(20, depth), replace=False)
            places = np.unique((rng.beta(0.6, 3.0, size=60) * depth).astype(int))[: len(found)]
            documents[places] = found[: len(places)]
            scores = np.round(np.sort(rng.gamma(4.0, 5.0, size=depth))[::-1], 4)
            file.writelines(
                f"{query_id} Q0 {doc} {rank} {score:.4f} {name}\n"
                for rank, (doc, score) in enumerate(zip(documents, scores, strict=True), start=1)
            )


def make(directory: Path, queries: int, documents: int, systems: int, seed: int) -> None:
    """Writes judgments.qrels and system1.run, system2.run, … where they are not there yet."""
    directory.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    query_ids = np.sort(rng.choice(1_200_000, size=queries, replace=False))
    pools = 2 * np.stack([rng.choice(4_400_000, size=40, replace=False) for _ in range(queries)])
    if not (directory / "judgments.qrels").exists():
        write_judgments(directory / "judgments.qrels", query_ids, pools, rng)
    for number in range(1, systems + 1):
        path = directory / f"system{number}.run"
        if not path.exists():
            partial = path.with_suffix(".partial")
            write_ranking(partial, f"system{number}", query_ids, pools, documents, seed + number)
            partial.rename(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("directory", type=Path)
    for name, default in (("queries", 6980), ("documents", 1000), ("systems", 3), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    make(options.directory, options.queries, options.documents, options.systems, options.seed)


if __name__ == "__main__":
    main()
