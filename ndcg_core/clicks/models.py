"""The value of a document by its clicks: plain rate, clicks over expected clicks, OpenSearch's ratio, attraction.

A user looks at high places more than at low ones, so that a click at place 8 says more than one at place 1, and no
click at place 8 says little. `rate` does not correct that; the others do.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ndcg_core.clicks.positions import PlacedCounts, fit_counts

MODELS = ("coec", "position", "rate", "opensearch")
Document = tuple[str, str]  # query_id, doc_id
Z = 1.959963984540054  # of a 95 % interval: the .975 quantile of the normal distribution


class ClickCount(NamedTuple):
    """How often a document was shown at a place for a query, and clicked there.

    place: from 1. impressions, clicks: of one search at most one each; clicks <= impressions. shown_events,
    click_events: everything that was logged, which OpenSearch counts.
    """

    query_id: str
    doc_id: str
    place: int
    impressions: int
    clicks: int
    shown_events: int = 0
    click_events: int = 0


class ClickValue(NamedTuple):
    """What a model says of a document.

    impressions, clicks: behind it. value: of `rate` and `position` a probability in [0, 1]; of `coec` and `opensearch`
    clicks over expected clicks, 1 where they are as usual; None where none was to be expected. low, high: 95 %
    interval.
    """

    impressions: int
    clicks: int
    value: float | None
    low: float | None
    high: float | None


class Attractions(NamedTuple):
    """A fitted position-based model.

    examination: place -> probability that it is looked at, the largest of them 1.
    attraction: (query_id, doc_id) -> probability of a click once it is looked at.
    """

    examination: Mapping[int, float]
    attraction: Mapping[Document, float]


class Event(NamedTuple):
    """How often a document was shown at a place for a query, and clicked.

    place: from 1. search_id: None where none is known. shown, clicked: 0 or more.
    """

    query_id: str
    doc_id: str
    place: int
    search_id: str | None
    shown: int
    clicked: int


def count_clicks(events: Iterable[Event]) -> list[ClickCount]:
    """One row for each query, document and place, in their order.

    What one search repeats counts once, and a click says that the document was shown; events without a search count as
    they are.
    """
    at_place: dict[tuple[str, str, int], list[Event]] = {}
    for event in events:
        at_place.setdefault((event.query_id, event.doc_id, event.place), []).append(event)
    found = []
    for (query_id, doc_id, place), rows in sorted(at_place.items()):
        searches = {row.search_id for row in rows} - {None}
        clicking = {row.search_id for row in rows if row.clicked} - {None}
        alone = [row for row in rows if row.search_id is None]
        clicked = sum(row.clicked for row in alone)
        impressions = len(searches) + max(sum(row.shown for row in alone), clicked)
        logged = (sum(row.shown for row in rows), sum(row.clicked for row in rows))
        found.append(ClickCount(query_id, doc_id, place, impressions, len(clicking) + clicked, *logged))
    return found


def click_rates(counts: Sequence[ClickCount]) -> dict[int, float]:
    """Place -> clicks / impressions over all queries and documents."""
    shown, clicked = defaultdict[int, int](int), defaultdict[int, int](int)
    for row in counts:
        shown[row.place] += row.impressions
        clicked[row.place] += row.clicks
    return {place: clicked[place] / total if total else 0.0 for place, total in shown.items()}


def logged_rates(counts: Sequence[ClickCount]) -> dict[int, float]:
    """Place -> logged clicks / logged impressions; 0 without impressions, as in OpenSearch's CoecClickModel."""
    shown, clicked = defaultdict[int, int](int), defaultdict[int, int](int)
    for row in counts:
        shown[row.place] += row.shown_events
        clicked[row.place] += row.click_events
    return {place: clicked[place] / total if total else 0.0 for place, total in shown.items()}


def fit_positions(counts: Sequence[ClickCount]) -> Attractions:
    """The position-based model of the greatest likelihood: P(click) = examination of the place x attraction."""
    rows = [row for row in counts if row.impressions > 0]
    documents = dict.fromkeys((row.query_id, row.doc_id) for row in rows)
    numbers = {document: number for number, document in enumerate(documents)}
    places = sorted({row.place for row in rows})
    fitted = fit_counts(
        PlacedCounts(
            np.array([numbers[row.query_id, row.doc_id] for row in rows], dtype=np.int64),
            np.searchsorted(places, [row.place for row in rows]),
            np.array([row.impressions for row in rows], dtype=np.float64),
            np.array([row.clicks for row in rows], dtype=np.float64),
        )
    )
    return Attractions(
        dict(zip(places, fitted.examination.tolist(), strict=True)),
        dict(zip(documents, fitted.attraction.tolist(), strict=True)),
    )


def click_values(counts: Sequence[ClickCount], model: str) -> dict[Document, ClickValue]:
    """(query_id, doc_id) -> its value by one of `MODELS`.

    `coec` is Zhang and Jones 2007, "Comparing click logs and editorial labels for training query rewriting": clicks
    over the sum, over the document's impressions, of the mean click rate at the place of each. `opensearch` multiplies
    all impressions by the rate at the highest place that the document ever had (opensearch-project/search-relevance,
    CoecClickModel.java).
    """
    own: dict[Document, list[ClickCount]] = {}
    rates = logged_rates(counts) if model == "opensearch" else click_rates(counts)
    for row in counts:
        if row.impressions > 0:
            own.setdefault((row.query_id, row.doc_id), []).append(row)
    fitted = fit_positions(counts) if model == "position" else None
    found = {}
    for document, unordered in own.items():
        rows = sorted(unordered, key=lambda row: row.place)
        weights = dict.fromkeys(rates, 1.0) if model == "rate" else fitted.examination if fitted else rates
        if model == "opensearch":
            rows = [row._replace(impressions=row.shown_events, clicks=row.click_events) for row in rows]
            weights = dict.fromkeys(rates, rates[rows[0].place])
        shown, clicks = sum(row.impressions for row in rows), sum(row.clicks for row in rows)
        expected = sum(row.impressions * weights[row.place] for row in rows)
        square = sum(row.impressions * weights[row.place] ** 2 for row in rows)
        value = clicks / expected if expected > 0 else 0.0 if model == "opensearch" else None
        if fitted is not None:
            value = fitted.attraction[document]
        low, high = score_interval(clicks, expected, possible_square(square, shown, clicks, expected), value)
        if high is not None and value is not None and model in ("rate", "position"):
            high = max(min(high, 1.0), value)
        found[document] = ClickValue(shown, clicks, value, low, high)
    return found


def possible_square(square: float, impressions: int, clicks: int, expected: float) -> float:
    """The sum of the squares of weights for `score_interval`, if the clicks can be as many as they are.

    With chances v x weight the clicks have the variance v S - v^2 Q, which is below 0 where they are more than S^2 / Q:
    some chance would be above 1. Then all chances are taken as equal, Q = S^2 / n, which gives the largest variance;
    where more clicks than impressions were logged Q is 0, as of a Poisson count.
    """
    if clicks * square <= expected**2 * (1 + 1e-9):  # whatever the rounding where they are as many
        return square
    return expected**2 / impressions if clicks <= impressions else 0.0


def score_interval(
    clicks: int, expected: float, square: float, value: float | None, z: float = Z
) -> tuple[float | None, float | None]:
    """All v with (c - v S)^2 <= z^2 (v S - v^2 Q), widened to hold `value`: the score test's interval.

    clicks: c. expected: S, the sum of the weights of all impressions. square: Q, that of their squares, for impressions
    that are clicked with probability v x weight; 0 for Poisson counts. With all weights 1 it is Wilson's (1927,
    "Probable inference"), with all weights w Wilson's over w, at most 1 / w; with Q = 0 Rao's of a ratio of observed to
    expected counts. The weights are taken as known. (None, None) where nothing is expected.
    """
    if expected <= 0 or value is None:
        return None, None
    a, b, c = expected**2 + z**2 * square, -expected * (2 * clicks + z**2), float(clicks**2)
    root = max(0.0, expected**2 * z**2 * (4 * clicks + z**2) - 4 * z**2 * square * c) ** 0.5
    low, high = (-b - root) / (2 * a), (-b + root) / (2 * a)
    return min(max(low, 0.0), value), max(high, value)


def click_grades(
    values: Mapping[Document, ClickValue], floor: int, scale: str, cuts: Sequence[float] = ()
) -> dict[Document, float]:
    """(query_id, doc_id) -> grade, of documents with `floor` impressions or more and a value.

    scale: `value`: the value. `threshold`: how many cuts the value reaches. `quantile`: how many cuts the share of
    other graded documents reaches whose value is lower.
    """
    known = {
        document: each.value
        for document, each in values.items()
        if each.value is not None and each.impressions >= floor
    }
    if scale == "value":
        return known
    reached = dict(known)
    if scale == "quantile":
        ordered = sorted(known.values())
        first = {value: place for place, value in reversed([*enumerate(ordered)])}
        reached = {each: first[value] / (len(known) - 1) if len(known) > 1 else 0.0 for each, value in known.items()}
    return {document: float(sum(cut <= number for cut in cuts)) for document, number in reached.items()}
