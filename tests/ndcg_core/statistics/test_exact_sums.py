"""Exact sums of many numbers against `math.fsum`."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from ndcg_core.statistics.averages import MANY, exact_sum

RNG = np.random.default_rng(5)
CANCELLING = RNG.normal(0.0, 1.0, 500)
CASES = {
    "differences": RNG.choice([0.0, 0.1, -0.3, 1 / 3], 7000),
    "magnitudes from 1e-300 to 1e300": RNG.normal(0.0, 1.0, 999) * 10.0 ** RNG.integers(-300, 300, 999),
    "from 1e-12 to 1": 10.0 ** RNG.uniform(-12, 0, 4096),
    "what cancels": np.concatenate([CANCELLING, -CANCELLING, [1e-30]]),
    "halfway between two floats": np.concatenate([np.full(MANY, 2.0**53), [1.0, 2.0**-60]]),
    "subnormal": np.full(300, 5e-324),
    "near the largest": np.append(np.tile([1e308, -1e308], 150), 0.1),
    "nothing but zeros": np.zeros(300),
    "few": np.array([0.1] * 10),
}


@pytest.mark.parametrize("name", CASES)
def test_as_the_exact_sum(name: str) -> None:
    values: NDArray[np.float64] = CASES[name]
    assert exact_sum(values) == math.fsum(values.tolist())


def test_a_plain_sum_would_differ() -> None:
    assert any(float(values.sum()) != exact_sum(values) for values in CASES.values())
