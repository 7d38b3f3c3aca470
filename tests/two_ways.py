"""Rankings with faults through the quick way and the careful one: a reduced ranking and the whole must tell the same.

    python -m tests.two_ways --count 10000 [--seed N] [--keep build/two_ways]

Small rankings with ties, gaps in what is answered, and ids that miss those of the judgments are written, most of them
broken as `tests.fuzzing` breaks files, and compared with another one.  Where the broken file is still plain, the whole
comparison is made from what was kept of it and from all of its rows, and both must give the same JSON, or the same
sentence; where it is not, the two ways are one from there on.  The command ends with 1 where they differ.
"""

import random
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from unittest.mock import patch

from ndcg_ab.checks import data_checks
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.duckdb import DuckDBEngine
from ndcg_ab.errors import InputError
from ndcg_ab.pipeline.stages import evaluate
from ndcg_ab.scoring import needed_results as reducing
from ndcg_ab.scoring import parity
from ndcg_ab.sources.fast_reader.reduce import reduce_file
from ndcg_ab.sources.files import file as files
from ndcg_ab.sources.tables.reduced_ranking import NeededResults
from tests.fuzzing import VALUES, mutated
from tests.readings import reduce_ranking
from tests.repeated import read_options, require_work

QUERIES = 7
METRICS = [
    "ndcg@2",
    "ndcg(ties=average)@3",
    "precision@2",
    "ndcg(score_precision=float32)@2",
    "rr(ties=doc_id_asc)@3",
    "ndcg(ties=given)@3",
]
SIZES = (1, 150, 600, 1 << 22)  # bytes of a slice


def ranking(chance: random.Random, judged: str) -> bytes:
    """A plain ranking; judged: how the judgments spell the id of a document."""
    first = chance.choice((1, 1, 1, 0, 5, -2))
    tag, decimals = chance.choice(("a", "run-1")), chance.choice((0, 1, 1, 6))
    spelt = judged if chance.random() < 0.9 else chance.choice(("D{}", "x-{}", "0{}"))
    lines = []
    for query in chance.sample(range(QUERIES + 2), chance.randint(1, QUERIES + 2)):
        documents = chance.sample(range(30), chance.choice((1, 3, 4, 12, 12)))
        scores = sorted((round(chance.uniform(-2, 2), decimals) for _ in documents), reverse=True)
        if chance.random() < 0.1:
            scores = [chance.choice((0.0, -0.0, 1.5))] * len(scores)
        for rank, (document, score) in enumerate(zip(documents, scores, strict=True), start=first):
            lines.append(f"q{query} Q0 {spelt.format(document)} {rank} {score} {tag}\n")
    return "".join(lines).encode()


def judgments(chance: random.Random, judged: str) -> bytes:
    lines = [
        f"q{query} 0 {judged.format(document)} {chance.choice((0, 0, 1, 1, 2, -1))}\n"
        for query in range(QUERIES)
        for document in chance.sample(range(30), 12)
    ]
    return "".join(lines).encode()


@contextmanager
def small_samples(size: int) -> Iterator[None]:
    """Few queries are sampled, and slices are small."""
    with ExitStack() as stack:
        for module, name, value in (
            (parity, "SAMPLE", 1),
            (reducing, "LOOKED_AT", 3),
            (reducing, "FIRST_QUERIES", 2),
            (data_checks, "FIRST_QUERIES", 2),
            (files, "reduce_file", partial(reduce_file, size=size)),
        ):
            stack.enter_context(patch.object(module, name, value))
        yield


def comparison_json(evaluation: Evaluation, *, whole: bool) -> str:
    """The JSON of a comparison, or the sentence that refuses it."""
    with DuckDBEngine(1) as engine:
        try:
            return evaluate(evaluation, engine, complete=whole)[0].to_json()
        except InputError as error:
            return str(error)


def write_random_comparison(folder: Path, chance: random.Random) -> Evaluation:
    """A comparison of a ranking with another, of which it may be a copy; most are broken."""
    judged = chance.choice(("d{}", "d{}", "документ{}", "{}"))
    old = ranking(chance, judged)
    new = ranking(chance, judged) if chance.random() < 0.95 else old
    if chance.random() < 0.8:
        new = mutated(new, chance, VALUES)
    for name, content in (("qrels", judgments(chance, judged)), ("old.run", old), ("new.run", new)):
        (folder / name).write_bytes(content)
    systems = [{"name": name, "file": f"{name}.run"} for name in ("old", "new")]
    metrics = chance.sample(METRICS, 2)
    content = {"name": "two-ways", "directory": folder, "judgments": {"file": "qrels"}, "systems": systems}
    return Evaluation.model_validate({**content, "metrics": metrics, "statistics": {"resamples": 100}})


def difference(folder: Path, seed: int) -> tuple[bool, str | None]:
    """(whether the file is plain, what the two ways tell differently)."""
    chance = random.Random(seed)
    evaluation = write_random_comparison(folder, chance)
    with small_samples(chance.choice(SIZES)):
        if reduce_ranking(folder / "new.run", "trec", {}, NeededResults(3, frozenset())) is None:
            return False, None
        quick, careful = comparison_json(evaluation, whole=False), comparison_json(evaluation, whole=True)
    if quick != careful:
        return True, f"seed {seed}: from what was kept: {quick[:2000]}\nfrom all rows: {careful[:2000]}"
    return True, None


def main(words: Sequence[str] | None = None) -> int:
    options = read_options(__doc__, words, count=10_000, keep=Path("build/two_ways"))
    options.keep.mkdir(parents=True, exist_ok=True)
    plain_files, found = 0, []
    for seed in range(options.seed, options.seed + options.count):
        is_plain, told_otherwise = difference(options.keep, seed)
        plain_files += is_plain
        if told_otherwise:
            found.append(told_otherwise)
            print(told_otherwise)
    print(f"{options.count} inputs from seed {options.seed}, {plain_files} of them plain, {len(found)} told otherwise")
    require_work("two_ways", inputs=options.count, plain=plain_files)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
