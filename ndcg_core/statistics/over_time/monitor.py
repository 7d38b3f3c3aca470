"""Tests that are repeated night after night: how much of alpha each look may spend, and a ledger of discoveries.

Nights share their queries, so that their tests depend on each other in a way that nobody knows. What is used here is
valid under any dependence:

- A monitor of one comparison, look by look, spends alpha_k = 6 alpha / (pi^2 k^2) on look k; these sum to alpha, so
  that the chance that any look ever rejects a true null hypothesis is at most alpha (union bound).
- A ledger of many hypotheses, one after another, controls the false discovery rate: LOND (A. Javanmard and
  A. Montanari, arXiv:1502.06197) with level_t = beta_t (discoveries so far + 1), where beta_t = 6 alpha / (pi^2 t^2)
  is divided by 1 + 1/2 + … + 1/t for dependent p-values (T. Zrnic, A. Ramdas, M. I. Jordan, JMLR 22, 2021; the
  correction of Benjamini and Yekutieli 2001).

Sign flips cannot show a p-value below 1 / (resamples + 1), and levels fall below that. At such a level Student's t over
the whole family (Bonferroni) decides, and the flips must have come as near to it as they can.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

RESOLUTION = 20
"""How many flips must be able to lie beyond a level, that flips decide at it."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One test, before its level is known.

    p_adjusted: of the sign flips, adjusted over its family. p_t: of the t test alone; None where it is not known.
    family_size: how many comparisons p_adjusted covers, >= 1. resamples: flips that it comes from.
    """

    p_adjusted: float
    p_t: float | None
    family_size: int
    resamples: int

    def p_value_at(self, level: float) -> float:
        """The p-value that is held against a level."""
        if self.p_t is None or max(level, self.p_adjusted) * (self.resamples + 1) >= RESOLUTION:
            return self.p_adjusted
        return min(1.0, self.family_size * self.p_t)


@dataclass(frozen=True, slots=True)
class Judged:
    """A test with the level that it got. p_value <= level: detected."""

    level: float
    p_value: float

    @property
    def is_detected(self) -> bool:
        return self.p_value <= self.level


def spend_alpha(alpha: float, look: int) -> float:
    """The part of alpha that look 1, 2, 3, … may spend; all of them together alpha."""
    return 6 * alpha / (math.pi * look) ** 2


def monitor_looks(looks: Sequence[Evidence], alpha: float) -> list[Judged]:
    """Every look at one comparison with its level: the chance that any detects a true null is at most alpha."""
    return [_judged(each, spend_alpha(alpha, at)) for at, each in enumerate(looks, start=1)]


def judge_hypotheses(hypotheses: Sequence[Evidence], alpha: float) -> list[Judged]:
    """Every hypothesis with its level, in the order of their coming: false discoveries are at most alpha of all."""
    return list(_ledger(hypotheses, alpha))


def _ledger(hypotheses: Sequence[Evidence], alpha: float) -> Iterator[Judged]:
    discoveries, harmonic = 0, 0.0
    for at, each in enumerate(hypotheses, start=1):
        harmonic += 1 / at
        found = _judged(each, min(alpha, spend_alpha(alpha, at) / harmonic * (discoveries + 1)))
        discoveries += found.is_detected
        yield found


def _judged(evidence: Evidence, level: float) -> Judged:
    return Judged(level, evidence.p_value_at(level))
