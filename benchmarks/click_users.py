"""Simulated users who click: they look at ranks, and click what attracts them.

Sources: N. Craswell, O. Zoeter, M. Taylor and B. Ramsey, An Experimental Comparison of Click Position-Bias Models, WSDM
(2008) (both users). A. Chuklin, I. Markov and M. de Rijke, Click Models for Web Search (2015), chapter 3.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

MOST_ATTRACTIVE, LEAST_ATTRACTIVE = 0.85, 0.05  # chances of a click on what is looked at: of the highest grade, of 0
PATIENCE = 0.9  # chance that a user who goes down the list without a click looks at the next rank


class User(Protocol):
    """A kind of user: a function that draws the indices of the results that a user clicks."""

    def __call__(self, attraction: Sequence[float], generator: np.random.Generator) -> list[int]: ...


class Chances(Protocol):
    """A function that returns the (results,) chances that a kind of user clicks each result."""

    def __call__(self, attraction: Sequence[float]) -> list[float]: ...


def attractions(grades: Sequence[float], highest: float) -> list[float]:
    """Return the click chances of documents by grade, in equal steps up to that of the highest grade, above 0."""
    steps = MOST_ATTRACTIVE - LEAST_ATTRACTIVE
    return [LEAST_ATTRACTIVE + steps * max(grade, 0.0) / highest for grade in grades]


def examination_chance(index: int) -> float:
    """Return the chance that a position-based user looks at the result at an index: 1, 0.63, 0.5 …"""
    return float(1 / np.log2(index + 2))


def position_user(attraction: Sequence[float], generator: np.random.Generator) -> list[int]:
    """Draw the clicks of a user who looks at each result by chance and clicks what attracts."""
    looked = generator.random(len(attraction)) < [examination_chance(index) for index in range(len(attraction))]
    clicked = looked & (generator.random(len(attraction)) < np.array(attraction))
    return [int(index) for index in np.flatnonzero(clicked)]


def cascade_user(attraction: Sequence[float], generator: np.random.Generator) -> list[int]:
    """Draw the click of a user who goes down the list to the first attractive document, or gives up."""
    for index, chance in enumerate(attraction):
        if generator.random() < chance:
            return [index]
        if generator.random() > PATIENCE:
            break
    return []


def position_chances(attraction: Sequence[float]) -> list[float]:
    """Return the (results,) chances that a position-based user clicks each result."""
    return [examination_chance(index) * chance for index, chance in enumerate(attraction)]


def cascade_chances(attraction: Sequence[float]) -> list[float]:
    """Return the (results,) chances that a cascade user clicks each result.

    A user who looks at a result clicked none above it, and stayed patient after each.
    """
    found, looked = [], 1.0
    for chance in attraction:
        found.append(looked * chance)
        looked *= (1 - chance) * PATIENCE
    return found
