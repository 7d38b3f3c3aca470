"""The sign-flip test beside scipy and ranx on the same differences, each in a process of its own.

    python benchmarks/signflip.py [--queries 7000] [--comparisons 50]

Prints the best of three calls after a warm-up, per comparison; the peak resident memory above that before the calls;
the ratio of the time to that of `sign_flip`; and the largest distance of the p-values from those of `sign_flip`, in
standard errors of two samples of flips. Slow peers get the first comparisons only.
Exits with 1 if a peer is less than 100 times as slow, or a p-value is more than 6 standard errors away.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the parent stays small: the peak memory of a process begins with that of its parent
    import numpy as np
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

FLIPS, ROUNDS = 10_000, 3
LEAST_RATIO, MOST_ERRORS = 100, 6


def differences(queries: int, comparisons: int) -> "FloatArray":
    """Return (comparisons, queries) differences of the nDCG of one relevant document; some 60 % of them are ties."""
    import numpy as np

    rng = np.random.default_rng(7)
    values = np.append(1 / np.log2(np.arange(2, 12)), 0.0)
    baseline = rng.choice(values, size=queries)
    candidates = np.empty((comparisons, queries))
    for number, candidate in enumerate(candidates):
        changed = rng.random(queries) < 0.5
        effect = 0.02 * (number % 10) / 9
        candidate[:] = np.where(changed, rng.choice(values, size=queries) + effect, baseline)
    found: FloatArray = candidates - baseline
    return found


def by_sign_flip(differences: "FloatArray", flips: int) -> list[float]:
    from ndcg_core.statistics.hypothesis_tests.sign_flip import sign_flip

    return list(sign_flip(differences.T, resamples=flips).p_value)


def by_compare_family(differences: "FloatArray", flips: int) -> list[float]:
    from ndcg_core.statistics.verdicts.comparison import Column, compare_family

    ids = tuple(f"q{number:06d}" for number in range(differences.shape[1]))
    columns = [Column("old", f"new {number}", "ndcg@10", ids, row) for number, row in enumerate(differences)]
    return [comparison.p_value or 1.0 for comparison in compare_family(columns, resamples=flips)]


def by_scipy(differences: "FloatArray", flips: int) -> list[float]:
    import numpy as np
    from scipy.stats import permutation_test  # type: ignore[import-untyped]

    options = {"permutation_type": "samples", "vectorized": True, "n_resamples": flips, "batch": 500, "rng": 7}
    return [float(permutation_test((row,), np.mean, **options).pvalue) for row in differences]


def by_ranx(differences: "FloatArray", flips: int) -> list[float]:
    import numpy as np
    from ranx.statistical_tests import fisher_randomization_test  # type: ignore[import-untyped]

    nothing = np.zeros(differences.shape[1])
    return [float(fisher_randomization_test(nothing.copy(), row.copy(), flips)[0]) for row in differences]


PEERS: "dict[str, tuple[Callable[[FloatArray, int], list[float]], int | None]]" = {
    "ndcg-ab sign_flip": (by_sign_flip, None),
    "ndcg-ab compare_family": (by_compare_family, None),
    "scipy permutation_test": (by_scipy, 2),
    "ranx fisher_randomization_test": (by_ranx, 5),
}
"""What is timed, and for how many comparisons; None: for all of them."""


def time_calls(peer: str, queries: int, comparisons: int) -> None:
    """Print the seconds of the best call, the extra peak memory in MB, and the p-values."""
    call, _ = PEERS[peer]
    call(differences(50, 3), 100)
    given = differences(queries, comparisons)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        p_values = call(given, FLIPS)
        seconds.append(time.perf_counter() - start)
    extra = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(json.dumps([min(seconds), extra, p_values]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=7_000)
    parser.add_argument("--comparisons", type=int, default=50)
    parser.add_argument("--peer", choices=PEERS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.peer:
        time_calls(given.peer, given.queries, given.comparisons)
        sys.exit()
    first, ours, wrong = 0.0, list[float](), []
    for peer, (_, most) in PEERS.items():
        comparisons = min(given.comparisons, most or given.comparisons)
        command = [
            sys.executable,
            __file__,
            "--peer",
            peer,
            f"--queries={given.queries}",
            f"--comparisons={comparisons}",
        ]
        seconds, extra, found = json.loads(subprocess.check_output(command, text=True).splitlines()[-1])
        first, ours = first or seconds / comparisons, ours or found
        ratio = seconds / comparisons / first
        pairs = list(zip(ours, found, strict=False))
        errors = max(abs(a - b) / (2 * max(a * (1 - a), 1 / FLIPS) / FLIPS) ** 0.5 for a, b in pairs)
        each = f"{seconds / comparisons:.4f} s per comparison"
        print(f"{peer:32} {each}, {ratio:6.1f} times, {extra:5.0f} MB, p within {errors:.1f} s.e.", flush=True)
        if most and ratio < LEAST_RATIO:
            wrong.append(f"{peer}: only {ratio:.0f} times as slow as sign_flip")
        if "compare_family" not in peer and errors > MOST_ERRORS:  # which also takes the bootstrap's p-value
            wrong.append(f"{peer}: p-values {errors:.1f} standard errors away")
    sys.exit("\n".join(wrong) if wrong else 0)


if __name__ == "__main__":
    main()
