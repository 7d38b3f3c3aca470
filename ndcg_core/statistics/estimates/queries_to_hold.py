"""How many queries like those observed a guardrail needs, so that it is shown to hold with a chance of 80 %.

Samples of another size are drawn from the observed differences (a bootstrap) and tested by Gaffke's bound
(`hypothesis_tests.bounded_mean`), with its p-value approximated by a saddle point, for all samples at once. Four of
five samples pass at the number that is returned.

Source: R. Lugannani and S. Rice, Saddle point approximation for the distribution of the sum of independent random
variables, Advances in Applied Probability 12 (1980).
"""

import math

import numpy as np
from numpy.typing import NDArray

from ndcg_core.statistics.distributions import ndtr, ndtri

FloatArray = NDArray[np.float64]
SAMPLES = 300
SEED = 1935
MOST_VALUES = 64
"""Most distinct differences that are drawn from; neighbours stand together for more."""
MOST_QUERIES = 10_000_000
ROUNDS = 12
CLOSE = 0.01  # of a number of queries: nearer is not looked for
NEWTON_STEPS = 40


def queries_to_hold(
    values: FloatArray, margin: float, largest_loss: float, alpha: float = 0.05, power: float = 0.8
) -> int | None:
    """Return the number of queries at which a guardrail is shown to hold with the chance `power`.

    values: (n,) observed differences, n >= 2, none below -largest_loss. margin: > 0, in the metric's unit.
    None if the observed mean is at or below -margin, or more than ten million would be needed.
    """
    mean = float(values.mean())
    if mean <= -margin:
        return None
    x, shares = _binned(values + margin)
    loss = margin - largest_loss
    spread = math.sqrt(float(shares @ np.square(x - float(shares @ x))))
    both = float(ndtri(1 - alpha)) + float(ndtri(power))
    root = min(both * spread / (mean + margin), math.sqrt(MOST_QUERIES))
    count = min(max(root**2, -math.log(alpha) * largest_loss / (mean + margin), 2.0), float(MOST_QUERIES))

    def room(n: float) -> float:
        """Return by how many deviations the sample passes that one of five is below; rises with the root of n."""
        counts = np.random.default_rng(SEED).multinomial(round(n), shares, size=SAMPLES)
        p_values = _chances_below(x, counts, loss)
        return float(np.quantile(float(ndtri(alpha)) - ndtri(p_values), 1 - power))

    known: list[tuple[float, float]] = []
    low, high = 2.0, float(MOST_QUERIES)
    for _ in range(ROUNDS):
        found = room(count)
        low, high = (count, high) if found < 0 else (low, count)
        known.append((math.sqrt(count), found))
        if high / low < 1 + CLOSE or count >= MOST_QUERIES:
            break
        (root, here), slope = known[-1], both / math.sqrt(count)
        if len(known) > 1 and known[-2][0] != root:
            slope = max((here - known[-2][1]) / (root - known[-2][0]), slope / 4)
        following = max(root - here / slope, root / 3) ** 2
        if abs(following - count) <= CLOSE * count:
            count = following
            break
        count = min(max(following, low), high)
    return None if count >= MOST_QUERIES else max(2, math.ceil(count))


def _binned(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return distinct values, rising, and the share of each; many values are put together with their neighbours."""
    x, counts = np.unique(values, return_counts=True)
    if len(x) <= MOST_VALUES:
        return x, counts / counts.sum()
    parts = np.array_split(np.sort(values), MOST_VALUES)
    return np.array([part.mean() for part in parts]), np.array([len(part) for part in parts]) / len(values)


def _chances_below(x: FloatArray, counts: NDArray[np.int64], loss: float) -> FloatArray:
    """Compute P(sum of count_i gamma_i x_i + E loss <= 0) for each row of counts, by its saddle point; loss < 0."""
    values = np.append(x, loss) / max(float(np.abs(x).max()), -loss)
    c = np.column_stack([counts, np.ones(len(counts))]).astype(np.float64)
    y = np.where(c > 0, values, 0.0)  # what a sample lacks: 1 - s y may be at or below 0 of it, and 0 * nan is no 0
    most, least = y.max(axis=1), y.min(axis=1)
    low = 1 / least * (1 - 1e-12)
    never = most <= 0
    high = np.where(never, 0.0, 1 / np.where(never, 1.0, most) * (1 - 1e-12))
    squares = np.maximum(np.einsum("ij,ij->i", c, np.square(y)), 1e-300)
    s = np.clip(-np.einsum("ij,ij->i", c, y) / squares, low / 2, high / 2)
    for _ in range(NEWTON_STEPS):
        ratios = y / (1 - s[:, None] * y)
        slope = np.einsum("ij,ij->i", c, ratios)
        bend = np.einsum("ij,ij->i", c, np.square(ratios))
        low, high = np.where(slope < 0, s, low), np.where(slope < 0, high, s)
        before, s = s, s - slope / bend
        s = np.where((s > low) & (s < high), s, (low + high) / 2)
        if np.all(np.abs(s - before) <= 1e-9):
            break
    cumulant = -np.einsum("ij,ij->i", c, np.log1p(-s[:, None] * y))
    ratios = y / (1 - s[:, None] * y)
    r = np.sign(s) * np.sqrt(np.maximum(-2 * cumulant, 0.0))
    u = s * np.sqrt(np.einsum("ij,ij->i", c, np.square(ratios)))
    near = np.abs(r) < 1e-4
    safe = np.where(near, 1.0, r)
    density = np.exp(-np.square(safe) / 2) / math.sqrt(2 * math.pi)
    tail = np.where(near, 0.5, ndtr(safe) + density * (1 / safe - 1 / np.where(near, 1.0, u)))
    return np.where(never, 1.0, np.clip(tail, 1e-300, 1 - 1e-16))
