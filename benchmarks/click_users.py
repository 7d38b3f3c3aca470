"""Simulated users who click: they look at places, and click what attracts them.

Sources: N. Craswell, O. Zoeter, M. Taylor and B. Ramsey, An Experimental Comparison of Click Position-Bias Models, WSDM
(2008) (both users). A. Chuklin, I. Markov and M. de Rijke, Click Models for Web Search (2015), chapter 3.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

MOST_ATTRACTIVE, LEAST_ATTRACTIVE = 0.85, 0.05  # chances of a click on what is looked at: of the highest grade, of 0
PATIENCE = 0.9  # chance that a user who goes down the list without a click looks at the next place


class User(Protocol):
    """A kind of user: a function that draws the places, from 0, that a user clicks."""

    def __call__(self, attraction: Sequence[float], generator: np.random.Generator) -> list[int]: ...


class Chances(Protocol):
    """A function that returns the (places,) chances that a kind of user clicks each place."""

    def __call__(self, attraction: Sequence[float]) -> list[float]: ...


def attractions(grades: Sequence[float], highest: float) -> list[float]:
    """Return the click chances of documents by grade, in equal steps up to that of the highest grade, above 0."""
    steps = MOST_ATTRACTIVE - LEAST_ATTRACTIVE
    return [LEAST_ATTRACTIVE + steps * max(grade, 0.0) / highest for grade in grades]


def examine_place(place: int) -> float:
    """Return the chance that a position-based user looks at a place, from 0: 1, 0.63, 0.5 …"""
    return float(1 / np.log2(place + 2))


def position_user(attraction: Sequence[float], generator: np.random.Generator) -> list[int]:
    """Draw the clicks of a user who looks at each place by chance and clicks what attracts."""
    looked = generator.random(len(attraction)) < [examine_place(place) for place in range(len(attraction))]
    clicked = looked & (generator.random(len(attraction)) < np.array(attraction))
    return [int(place) for place in np.flatnonzero(clicked)]


def cascade_user(attraction: Sequence[float], generator: np.random.Generator) -> list[int]:
    """Draw the click of a user who goes down the list to the first attractive document, or gives up."""
    for place, chance in enumerate(attraction):
        if generator.random() < chance:
            return [place]
        if generator.random() > PATIENCE:
            break
    return []


def position_chances(attraction: Sequence[float]) -> list[float]:
    """Return the (places,) chances that a position-based user clicks each place."""
    return [examine_place(place) * chance for place, chance in enumerate(attraction)]


def cascade_chances(attraction: Sequence[float]) -> list[float]:
    """Of `cascade_user`: whoever looks at a place was attracted by none above it, and patient after each."""
    found, looked = [], 1.0
    for chance in attraction:
        found.append(looked * chance)
        looked *= (1 - chance) * PATIENCE
    return found
