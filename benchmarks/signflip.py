"""The sign-flip test beside scipy, ranx and a plain numpy loop on the same differences, in one run.

    python benchmarks/signflip.py

7,000 queries x 50 comparisons x 10,000 flips, then larger and smaller loads of our own.  Every peer runs in a process
of its own: the best of three calls after a warm-up on little data.  Its extra memory is the peak resident memory minus
that before the calls, imports and data included.  Slow peers get the first comparisons only; times per comparison are
compared, as if the others took as long.
"""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:  # the parent stays small: a child's peak memory starts from its parent's
    import numpy as np
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

FLIPS = 10_000
ROUNDS = 3
QUERIES, COMPARISONS = 7_000, 50
SYSTEMS, METRICS = 50, 5


class Load(NamedTuple):
    """What one child does: which peer, how many queries, how many comparisons of how many."""

    peer: str
    queries: int
    comparisons: int


class Found(NamedTuple):
    """Seconds of the best call, extra peak memory in MB, and the p-values."""

    seconds: float
    extra: float
    p_values: list[float]

    def budget(self, what: str, seconds: float, extra: float | None = None) -> str:
        kept = self.seconds <= seconds and (extra is None or self.extra <= extra)
        memory = f", {self.extra:.0f} MB (at most {extra:g})" if extra is not None else f", {self.extra:.0f} MB"
        return f"{what:48} {self.seconds:8.3f} s (at most {seconds:g}){memory}  {'ok' if kept else 'OUT'}"


# ---- in the child


def scores(queries: int, comparisons: int) -> "tuple[FloatArray, FloatArray]":
    """(comparisons x queries) nDCG of one document, of a baseline and of candidates; some 60 % of them are ties."""
    import numpy as np

    rng = np.random.default_rng(7)
    values = np.append(1 / np.log2(np.arange(2, 12)), 0.0)
    baseline = np.broadcast_to(rng.choice(values, size=queries), (comparisons, queries))
    candidates = np.empty((comparisons, queries))
    for number, candidate in enumerate(candidates):
        changed = rng.random(queries) < 0.5
        effect = 0.02 * (number % 10) / 9
        candidate[:] = np.where(changed, rng.choice(values, size=queries) + effect, baseline[number])
    return baseline, candidates


def by_sign_flip(baseline: "FloatArray", candidates: "FloatArray", flips: int) -> list[float]:
    from ndcg_core.statistics.hypothesis_tests.sign_flip import sign_flip

    return list(sign_flip((candidates - baseline).T, resamples=flips).p_value)


def by_compare_family(baseline: "FloatArray", candidates: "FloatArray", flips: int) -> list[float]:
    from ndcg_core.statistics.verdicts.comparison import Column, compare_family

    ids = tuple(f"q{number:06d}" for number in range(baseline.shape[1]))
    differences = candidates - baseline
    columns = [Column("old", f"new {number}", "ndcg@10", ids, row) for number, row in enumerate(differences)]
    return [comparison.p_value or 1.0 for comparison in compare_family(columns, resamples=flips)]


def by_scipy(baseline: "FloatArray", candidates: "FloatArray", flips: int) -> list[float]:
    import numpy as np
    from scipy.stats import permutation_test  # type: ignore[import-untyped]

    def p_value(differences: "FloatArray") -> float:
        test = permutation_test(
            (differences,), np.mean, permutation_type="samples", vectorized=True, n_resamples=flips, batch=500, rng=7
        )
        return float(test.pvalue)

    return [p_value(row) for row in candidates - baseline]


def by_ranx(baseline: "FloatArray", candidates: "FloatArray", flips: int) -> list[float]:
    from ranx.statistical_tests import fisher_randomization_test  # type: ignore[import-untyped]

    return [
        float(fisher_randomization_test(old.copy(), new.copy(), flips)[0])
        for old, new in zip(baseline, candidates, strict=True)
    ]


def by_numpy_loop(baseline: "FloatArray", candidates: "FloatArray", flips: int) -> list[float]:
    import numpy as np

    rng = np.random.default_rng(7)
    p_values = []
    for differences in candidates - baseline:
        hits = 0
        for start in range(0, flips, 100):
            signs = rng.choice([-1.0, 1.0], size=(min(100, flips - start), len(differences)))
            hits += int(np.count_nonzero(np.abs(signs @ differences) >= abs(differences.sum()) - 1e-9))
        p_values.append((1 + hits) / (flips + 1))
    return p_values


def by_all_pairs(baseline: "FloatArray", candidates: "FloatArray", flips: int) -> list[float]:
    """All pairs of 50 systems on 5 metrics: `candidates` are their 250 columns."""
    from itertools import combinations

    from ndcg_core.statistics.verdicts.comparison import Column, compare_family

    ids = tuple(f"q{number:06d}" for number in range(baseline.shape[1]))
    columns = [
        Column(f"system {one}", f"system {other}", f"metric {metric}", ids, differences)
        for metric in range(METRICS)
        for one, other in combinations(range(len(candidates) // METRICS), 2)
        for differences in [candidates[other * METRICS + metric] - candidates[one * METRICS + metric]]
    ]
    compared = compare_family(columns, exploratory=True, resamples=flips)
    return [comparison.p_value or 1.0 for comparison in compared]


PEERS: "dict[str, Callable[[FloatArray, FloatArray, int], list[float]]]" = {
    "ndcg-ab sign_flip": by_sign_flip,
    "ndcg-ab compare_family": by_compare_family,
    "ndcg-ab all pairs": by_all_pairs,
    "scipy permutation_test": by_scipy,
    "ranx fisher_randomization_test": by_ranx,
    "numpy loop": by_numpy_loop,
}


def child(load: Load) -> None:
    call = PEERS[load.peer]
    call(*scores(50, 2 * METRICS), 100)
    baseline, candidates = scores(load.queries, load.comparisons)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds, p_values = float("inf"), list[float]()
    for _ in range(ROUNDS):
        start = time.perf_counter()
        p_values = call(baseline, candidates, FLIPS)
        seconds = min(seconds, time.perf_counter() - start)
    extra = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(json.dumps([seconds, extra, p_values]))


# ---- in the parent


def measured(*load: Any) -> Found:
    command = [sys.executable, __file__, json.dumps(load)]
    printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return Found(*json.loads(printed.splitlines()[-1]))


def disagreement(ours: list[float], theirs: list[float]) -> str:
    """The largest distance between two p-values, also in standard errors of the difference of two samples of flips."""
    pairs = list(zip(ours, theirs, strict=False))
    error = max(abs(a - b) / (2 * max(a * (1 - a), 1 / FLIPS) / FLIPS) ** 0.5 for a, b in pairs)
    return f"{max(abs(a - b) for a, b in pairs):.4f} ({error:.1f} s.e., {len(pairs)} p-values)"


def side_by_side() -> None:
    ours = measured("ndcg-ab sign_flip", QUERIES, COMPARISONS)
    each = ours.seconds / COMPARISONS
    print(f"{QUERIES:,} queries x {COMPARISONS} comparisons x {FLIPS:,} flips, {os.cpu_count()} cores\n")
    print("| | comparisons | s | s per comparison | ratio | extra MB | largest distance of p |")
    print("|---|---|---|---|---|---|---|")
    ratios = {}
    for peer, comparisons in {
        "ndcg-ab sign_flip": COMPARISONS,
        "ndcg-ab compare_family": COMPARISONS,
        "scipy permutation_test": 2,
        "ranx fisher_randomization_test": 5,
        "numpy loop": 2,
    }.items():
        found = ours if peer == "ndcg-ab sign_flip" else measured(peer, QUERIES, comparisons)
        ratios[peer] = found.seconds / comparisons / each
        print(
            f"| {peer} | {comparisons} | {found.seconds:.2f} | {found.seconds / comparisons:.4f} | {ratios[peer]:.0f} |"
            f" {found.extra:.0f} | {disagreement(ours.p_values, found.p_values)} |",
            flush=True,
        )
        if peer == "ndcg-ab compare_family":
            whole = found
    print()
    for peer, least in {"scipy permutation_test": 150, "ranx fisher_randomization_test": 300}.items():
        verdict = "ok" if ratios[peer] >= least else "OUT"
        print(f"{peer:48} {ratios[peer]:8.0f} times our time (at least {least})  {verdict}")
    print(ours.budget("sign_flip, 7,000 x 50", 1, 150))
    print(whole.budget("compare_family, 7,000 x 50", 1, 150))


def main() -> None:
    side_by_side()
    print(measured("ndcg-ab sign_flip", 100_000, 50).budget("sign_flip, 100,000 x 50", 10, 400))
    print(measured("ndcg-ab compare_family", 100_000, 50).budget("compare_family, 100,000 x 50", 10, 400))
    print(measured("ndcg-ab sign_flip", 1_000, 1).budget("sign_flip, 1,000 x 1", 0.020))
    print(measured("ndcg-ab compare_family", 1_000, 1).budget("compare_family, 1,000 x 1", 0.020))
    pairs = measured("ndcg-ab all pairs", 200, SYSTEMS * METRICS)
    print(pairs.budget(f"all {len(pairs.p_values):,} comparisons of {SYSTEMS} systems, 200 queries", 1.5))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        child(Load(*json.loads(sys.argv[1])))
    else:
        main()
