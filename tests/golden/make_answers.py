"""The answers that the cases of tests/ndcg_ab/pipeline/test_two_stores.py came to when they were last kept, and
what differs from them: `python -m tests.golden.make_answers` keeps them again, and prints what became different."""

import gzip
import json
import math
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ANSWERS = Path(__file__).parent / "answers.json.gz"
PRECISION = 1e-9  # relative, and of numbers near 0 absolute: other processors add up in another order


def read_answers() -> dict[str, Any]:
    """Name of a case -> the outcome as JSON."""
    found: dict[str, Any] = json.loads(gzip.decompress(ANSWERS.read_bytes()))
    return found


def differences(found: Any, kept: Any, where: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Where two answers differ, with the value in either; numbers may differ by rounding."""
    if isinstance(found, dict) and isinstance(kept, dict):
        for key in sorted(found.keys() | kept.keys()):
            if key in found and key in kept:
                yield from differences(found[key], kept[key], f"{where}/{key}")
            else:
                yield f"{where}/{key}", found.get(key, "(none)"), kept.get(key, "(none)")
    elif isinstance(found, list) and isinstance(kept, list) and len(found) == len(kept):
        for index, (one, other) in enumerate(zip(found, kept, strict=True)):
            yield from differences(one, other, f"{where}/{index}")
    elif isinstance(found, float) and isinstance(kept, float):
        if not math.isclose(found, kept, rel_tol=PRECISION, abs_tol=PRECISION):
            yield where, found, kept
    elif found != kept or type(found) is not type(kept):
        yield where, found, kept


def to_answer(outcome: Any, folder: Path) -> Any:
    """An outcome as JSON, without the folder of its inputs."""
    return json.loads(outcome.to_json().replace(f"{folder}/", ""))


def make_answers() -> dict[str, Any]:
    """The outcome of every case, evaluated in memory, as JSON."""
    from ndcg_ab.pipeline.stages import evaluate
    from ndcg_ab.scoring.scoring import open_engine_for
    from tests.ndcg_ab.pipeline.test_two_stores import CASES, configured, write_inputs

    found = {}
    with tempfile.TemporaryDirectory() as folder:
        write_inputs(Path(folder))
        for case in CASES:
            evaluation = configured(case, Path(folder), Path(folder) / "out")
            with open_engine_for(evaluation) as engine:
                found[case] = to_answer(evaluate(evaluation, engine, complete=False)[0], Path(folder))
    return found


if __name__ == "__main__":
    answers = make_answers()
    for where, value, earlier in differences(answers, read_answers() if ANSWERS.exists() else {}):
        print(f"{where}: {earlier!s:.60} -> {value!s:.60}")
    ANSWERS.write_bytes(gzip.compress(json.dumps(answers, sort_keys=True).encode(), mtime=0))
