"""Compute the value of a document by its clicks: attraction, plain rate, OpenSearch's ratio.

A user looks at top ranks more than at low ones, so that a click at rank 8 says more than one at rank 1, and no click at
rank 8 says little. `rate` does not correct that; the others do.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from ndcg_core.statistics.estimates.click_positions import ClickCounts, fit_joined

MODELS = ("position", "rate", "opensearch")
Document = tuple[str, str]  # query_id, doc_id
EXACT = 1e6  # parts of 1 to which values are exact: the tolerance of the fit
Z = 1.959963984540054  # of a 95 % interval: the .975 quantile of the normal distribution


class ClickCount(NamedTuple):
    """The number of times that a document was displayed at a rank for a query, and clicked there.

    rank: from 1. impressions, clicks: at most one each per search; clicks <= impressions. shown_events, click_events:
    all logged events, which OpenSearch counts.
    """

    query_id: str
    doc_id: str
    rank: int
    impressions: int
    clicks: int
    shown_events: int = 0
    click_events: int = 0


class ClickValue(NamedTuple):
    """The value of a document by a click model, with its 95 % interval.

    impressions, clicks: the counts behind the value. value: for `rate` and `position` a probability in [0, 1]; for
    `opensearch` clicks over expected clicks. low, high: None if the log does not determine them.
    """

    impressions: int
    clicks: int
    value: float
    low: float | None
    high: float | None


def logged_rates(counts: Iterable[ClickCount]) -> dict[int, float]:
    """Return, by rank, logged clicks over logged impressions; 0 if no impression was logged."""
    shown, clicked = defaultdict[int, int](int), defaultdict[int, int](int)
    for row in counts:
        shown[row.rank] += row.shown_events
        clicked[row.rank] += row.click_events
    return {rank: clicked[rank] / total if total else 0.0 for rank, total in shown.items()}


def click_values(counts: Iterable[ClickCount], model: str) -> dict[Document, ClickValue]:
    """Return the value of each (query_id, doc_id) by one of `MODELS`; for `position` only comparable documents."""
    rows = sorted(row for row in counts if row.impressions > 0)
    weights, doubts, attraction = (
        dict.fromkeys((row.rank for row in rows), 1.0),
        dict[int, float](),
        dict[Document, float](),
    )
    if model == "opensearch":
        rates, first = logged_rates(rows), {row[:2]: row.rank for row in reversed(rows)}
        rows = [ClickCount(*row[:2], first[row[:2]], row.shown_events, row.click_events) for row in rows]
        weights = rates
    elif model == "position":
        weights, doubts, attraction = position_model(rows)
    found = {}
    for document, own in groupby((row for row in rows if row.rank in weights), key=lambda row: row[:2]):
        shown_at = [*own]
        shown, clicks = sum(row.impressions for row in shown_at), sum(row.clicks for row in shown_at)
        expected = sum(row.impressions * weights[row.rank] for row in shown_at)
        square = sum(row.impressions * weights[row.rank] ** 2 for row in shown_at)
        value, ends = attraction.get(document, clicks / expected if expected else 0.0), None
        if expected and (doubts or model != "position"):
            low, high = score_interval(clicks, shown, expected, square, value)
            doubt = sum(row.impressions * weights[row.rank] * doubts.get(row.rank, 0.0) for row in shown_at) / expected
            ends = widen_interval(low, high, value, Z * doubt) if doubt else (low, high)
            ends = ends if model == "opensearch" else (ends[0], min(ends[1], 1.0))
        found[document] = ClickValue(shown, clicks, value, *(ends or (None, None)))
    return found


def position_model(rows: Sequence[ClickCount]) -> tuple[dict[int, float], dict[int, float], dict[Document, float]]:
    """Return examination and its uncertainty by rank, and attraction by document.

    The uncertainties are missing if the model is not identified.
    """
    if not rows:
        return {}, {}, {}
    names = [*dict.fromkeys(row[:2] for row in rows)]
    numbers = {name: number for number, name in enumerate(names)}
    ranks, rank_index = np.unique([row.rank for row in rows], return_inverse=True)
    counts = np.array([(row.impressions, row.clicks) for row in rows], dtype=np.float64).T
    fit = fit_joined(ClickCounts(np.array([numbers[row[:2]] for row in rows]), rank_index, *counts))
    attraction = {names[number]: float(value) for number, value in zip(fit.document, fit.attraction, strict=True)}
    at = ranks[fit.rank].tolist()
    doubts = dict(zip(at, fit.doubt.tolist(), strict=True)) if fit.is_identified else {}
    return dict(zip(at, fit.examination.tolist(), strict=True)), doubts, attraction


def widen_interval(low: float, high: float, value: float, doubt: float) -> tuple[float, float]:
    """Add the uncertainty of the examinations, half the width of an interval of their logarithm, to a score interval.

    Notes
    -----
    Distances of both ends from the value on the scale of logarithms, and the uncertainty, are added as independent
    errors
    (G. Zou and A. Donner, Construction of confidence limits about effect measures, Statistics in Medicine 27, 2008).
    """
    if value == 0:
        return 0.0, high * math.exp(doubt)
    least = value * math.exp(-math.hypot(math.log(value / low), doubt)) if low > 0 else 0.0
    return least, value * math.exp(math.hypot(math.log(high / value), doubt))


def score_interval(
    clicks: int, impressions: int, expected: float, square: float, value: float, z: float = Z
) -> tuple[float, float]:
    """Return the ends of all v with (c - v S)^2 <= z^2 (v S - v^2 Q), widened to hold `value`.

    clicks: c. expected: S, the sum of the weights of all impressions, above 0. square: Q, that of their squares, for
    impressions that are clicked with probability v x weight. The weights are taken as known.

    Notes
    -----
    With all weights 1 it is Wilson's (1927, "Probable inference"), with all weights w Wilson's over w, at most 1 / w.
    With more clicks than S^2 / Q some chance v x weight would be above 1: then all chances are taken as equal, with
    Q = S^2 / n, which gives the largest variance. With more clicks than impressions Q is 0, as of a Poisson count:
    Rao's interval of a ratio of observed to expected counts.
    """
    if clicks * square > expected**2 * (1 + 1e-9):  # whatever the rounding where they are as many
        square = expected**2 / impressions if clicks <= impressions else 0.0
    a, b, c = expected**2 + z**2 * square, -expected * (2 * clicks + z**2), float(clicks**2)
    root = max(0.0, expected**2 * z**2 * (4 * clicks + z**2) - 4 * z**2 * square * c) ** 0.5
    low, high = (-b - root) / (2 * a), (-b + root) / (2 * a)
    return min(max(low, 0.0), value), max(high, value)


def click_grades(
    values: Mapping[Document, ClickValue], floor: int, scale: str, cuts: Sequence[float] = ()
) -> dict[Document, float]:
    """Return the grade of each document that has `floor` impressions or more.

    scale: `value`: the value. `threshold`: how many cuts the value reaches. `quantile`: how many cuts the share of
    other graded documents reaches whose value is lower. Values are rounded to 1 / `EXACT` before they are compared.
    """
    known = {document: each.value for document, each in values.items() if each.impressions >= floor}
    if scale == "value":
        return known
    reached = {each: math.floor(value * EXACT + 0.5) / EXACT for each, value in known.items()}
    if scale == "quantile":
        ordered = sorted(reached.values())
        first = {value: index for index, value in reversed([*enumerate(ordered)])}
        reached = {each: first[value] / (len(known) - 1) if len(known) > 1 else 0.0 for each, value in reached.items()}
    return {document: float(sum(cut <= number for cut in cuts)) for document, number in reached.items()}
