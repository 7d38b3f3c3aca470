"""Click models on events small enough to work out by hand, and against what others say."""

import random

import numpy as np
import pytest
from click_models import MODELS, ClickCount, ClickValue, click_grades, click_values, logged_rates, score_interval

from benchmarks.click_users import Chances, User, cascade_chances, cascade_user, position_chances, position_user
from tests.click_counts import Event, count_clicks

RATES = {"a": 30, "b": 45, "c": 45, "d": 95, "e": 100, "f": 0}


def values(model: str, counts: list[ClickCount]) -> dict[str, float]:
    return {doc_id: found.value for (_, doc_id), found in click_values(counts, model).items()}


def test_opensearch_counts_every_event_and_takes_the_highest_place_even_of_a_click() -> None:
    """As its CoecClickModel does: rates of logged events, `logRank` for clicks, and 0 where nothing is expected."""
    counts = count_clicks(
        [
            Event("q", "a", 2, "s1", 1, 0),
            Event("q", "a", 2, "s1", 0, 1),
            Event("q", "a", 2, "s1", 0, 1),
            Event("q", "a", 1, "s2", 0, 1),
            Event("q", "b", 1, "s2", 1, 0),
            Event("q", "c", 3, "s2", 1, 0),
        ]
    )
    assert logged_rates(counts) == {1: 1.0, 2: 2.0, 3: 0.0}
    assert values("opensearch", counts) == {"a": 3 / (1 * 1.0), "b": 0.0, "c": 0.0}
    found = {(row.doc_id, row.rank): (row.impressions, row.clicks) for row in counts}
    assert found == {("a", 1): (1, 1), ("a", 2): (1, 1), ("b", 1): (1, 0), ("c", 3): (1, 0)}, "of one search one click"


def test_the_position_model_finds_what_made_the_clicks() -> None:
    """Counts that are exactly as the model expects: the likelihood has one maximum, where they come from."""
    examination, attraction = {1: 1.0, 2: 0.5, 3: 0.25}, {"a": 0.8, "b": 0.4, "c": 0.1}
    n = 100_000
    counts = [
        ClickCount("q", doc_id, place, n, round(n * e * a))
        for doc_id, a in attraction.items()
        for place, e in examination.items()
    ]
    assert values("position", counts) == pytest.approx(attraction, abs=1e-6)


def test_the_position_model_of_one_place_is_the_rate_without_an_interval() -> None:
    assert click_values([ClickCount("q", "d", 1, 4, 1)], "position") == {("q", "d"): (4, 1, 0.25, None, None)}
    assert values("position", [ClickCount("q", "d", 1, 4, 0)]) == {"d": 0.0}
    assert click_values([], "position") == {}


def test_where_nothing_moves_the_position_model_is_the_rate_above_a_half_too() -> None:
    counts = [ClickCount("q", doc_id, index, 100, clicks) for index, (doc_id, clicks) in enumerate(RATES.items(), 1)]
    assert values("position", counts) == {doc_id: clicks / 100 for doc_id, clicks in RATES.items()}


def test_documents_outside_the_places_that_the_log_joins_have_no_value() -> None:
    """Two documents exchange places 1 and 2, two others 3 and 4: the pair with more impressions has values."""
    cells = [
        ("a", 1, 90),
        ("a", 2, 40),
        ("b", 1, 60),
        ("b", 2, 30),
        ("c", 3, 30),
        ("c", 4, 20),
        ("d", 3, 9),
        ("d", 4, 6),
    ]
    counts = [ClickCount("q", doc_id, place, 100 + (place < 3), clicks) for doc_id, place, clicks in cells]
    assert values("position", counts).keys() == {"a", "b"}
    joined = [*counts, ClickCount("q", "a", 3, 100, 30), ClickCount("q", "c", 1, 100, 80)]
    assert values("position", joined).keys() == {"a", "b", "c", "d"}


def test_equal_documents_have_one_grade_whatever_the_fit_leaves() -> None:
    examination = [1, 0.7, 0.5, 0.4, 0.3]
    counts = [ClickCount("q", f"f{at}", at + 1, 1000, round(500 * e)) for at, e in enumerate(examination)]
    counts += [
        ClickCount("p", f"s{a}", at + 1, 200, round(20 * a * e))
        for at, e in enumerate(examination)
        for a in (1, 3, 7, 9)
    ]
    found = click_values(counts, "position")
    equal = {document for document, _ in found.items() if document[0] == "q"}
    assert len({found[each].value for each in equal}) > 1, "the fit leaves something"
    for scale, cuts in (("quantile", (0.25, 0.41, 0.5, 0.75)), ("threshold", (0.5,))):
        grades = click_grades(found, 0, scale, cuts)
        assert len({grades[each] for each in equal}) == 1


def test_wilsons_interval() -> None:
    """Of 2 in 10, as statsmodels' proportion_confint(2, 10, method="wilson") has it: .0567, .5098."""
    assert score_interval(2, 10, 10.0, 10.0, 0.2) == pytest.approx((0.056682, 0.509838), abs=1e-6)
    assert score_interval(0, 10, 10.0, 10.0, 0.0) == pytest.approx((0.0, 0.277533), abs=1e-6)


def test_the_interval_of_a_ratio_to_expected_counts() -> None:
    """c = 9, S = 10: roots of (9 - 10 v)^2 = 3.8415 x 10 v: v = (9 + 1.92073 +- 1.95996 sqrt(9 + .960365)) / 10."""
    assert score_interval(9, 99, 10.0, 0.0, 0.9) == pytest.approx((0.473508, 1.710638), abs=1e-6)


def test_the_interval_of_a_ratio_is_wilsons_over_the_mean_expected_rate() -> None:
    """2 of 10 at a place where 1 of 4 impressions is clicked: .0567 and .5098, over .25."""
    counts = [ClickCount("q", "a", 1, 10, 2, 10, 2), ClickCount("q", "b", 1, 10, 3, 10, 3)]
    found = click_values(counts, "opensearch")["q", "a"]
    assert (found.low, found.high) == (
        pytest.approx(0.056682 / 0.25, abs=4e-6),
        pytest.approx(0.509838 / 0.25, abs=4e-6),
    )


def test_more_clicks_than_impressions_are_counts_without_an_upper_end() -> None:
    """OpenSearch's 3 clicks of 1 impression at a rate of 1: roots of (3 - v)^2 = 3.8415 v."""
    counts = [ClickCount("q", "a", 1, 3, 3, 1, 3), ClickCount("q", "b", 1, 3, 1, 3, 1)]
    found = click_values(counts, "opensearch")["q", "a"]
    assert (found.value, found.low, found.high) == (3.0, pytest.approx(1.020271), pytest.approx(8.821188))


def test_clicks_at_places_where_few_are_expected_have_an_interval() -> None:
    """All of 10 where 1 of 10 is clicked, none of 1 where nearly all is: more than the chances of the places allow."""
    weights = {1: 0.99, 2: 0.1}
    expected, square = 10 * weights[2] + weights[1], 10 * weights[2] ** 2 + weights[1] ** 2
    assert 10 * square > expected**2
    found = score_interval(10, 11, expected, square, 10 / expected)
    low, high = score_interval(10, 11, 11.0, 11.0, 10 / 11)
    assert found == pytest.approx((low * 11 / expected, high * 11 / expected))


def test_intervals_hold_the_value_and_keep_to_their_ranges() -> None:
    counts = [ClickCount("q", "sure", 1, 90, 90), ClickCount("q", "sure", 9, 90, 90), ClickCount("q", "rest", 1, 9, 0)]
    counts.append(ClickCount("q", "rest", 9, 30, 1))
    for model in MODELS:
        for found in click_values([row._replace(shown_events=9, click_events=1) for row in counts], model).values():
            assert found.low is not None and found.high is not None
            assert 0 <= found.low <= found.value <= found.high
            assert model not in ("rate", "position") or found.high <= 1


def test_grades() -> None:
    found = {
        ("q", name): ClickValue(10 + at, 0, value, 0.0, 1.0)
        for at, (name, value) in enumerate(zip("abcde", (0.0, 0.0, 1.0, 1.5, 9.0), strict=True))
    }

    def of(*rule: object) -> list[float]:
        return list(click_grades(found, *rule).values())  # type: ignore[arg-type]

    assert of(0, "value") == [0.0, 0.0, 1.0, 1.5, 9.0]
    assert of(0, "threshold", (0.5, 1.0, 2.0)) == [0.0, 0.0, 2.0, 2.0, 3.0]
    assert of(0, "quantile", (0.25, 0.5, 0.75)) == [0.0, 0.0, 2.0, 3.0, 3.0], "shares below: 0, 0, .5, .75, 1"
    assert of(12, "quantile", (0.25, 0.5, 0.75)) == [0.0, 2.0, 3.0], "those with 12 impressions or more"
    assert of(14, "quantile", (0.25,)) == [0.0]


def test_the_score_interval_covers_an_attraction_with_about_95_percent() -> None:
    """On average over attractions, 12 impressions at three places of known examination: 10,000 draws."""
    draw = random.Random(5)
    weights, hits = [1.0, 0.6, 0.3] * 4, 0
    for _ in range(10_000):
        attraction = draw.random()
        clicks = sum(draw.random() < attraction * weight for weight in weights)
        expected, square = sum(weights), sum(weight**2 for weight in weights)
        low, high = score_interval(clicks, len(weights), expected, square, clicks / expected)
        hits += low <= attraction <= high
    assert 0.94 <= hits / 10_000 <= 0.96


@pytest.mark.slow
@pytest.mark.parametrize(("queries", "searches", "share"), [(1, 10_000, 0.01), (40, 8_000, 0.01), (40, 8_000, 0.05)])
def test_intervals_of_attractions_where_few_searches_are_shuffled(queries: int, searches: int, share: float) -> None:
    """At least .93 of them hold the chance that made the clicks; .84 in the second if the examination were known."""
    generator, held = np.random.default_rng(11), list[bool]()
    for _ in range(40 if queries == 1 else 6):
        attraction = generator.choice([0.05, 0.32, 0.58, 0.85], (queries, 10), p=[0.55, 0.25, 0.15, 0.05])
        chances = dict(np.ndenumerate(attraction))
        query = generator.integers(queries, size=searches)
        shown = np.argsort(-attraction + generator.normal(0, 0.3, attraction.shape))[query]
        is_shuffled = generator.random(searches) < share
        shown[is_shuffled] = generator.permuted(shown[is_shuffled], axis=1)
        clicked = generator.random(shown.shape) < attraction[query[:, None], shown] / np.log2(np.arange(2, 12))
        cells, at = np.unique((query[:, None] * 10 + shown) * 10 + np.arange(10), return_inverse=True)
        counted = zip(cells.tolist(), np.bincount(at.ravel()), np.bincount(at.ravel(), clicked.ravel()), strict=True)
        counts = [ClickCount(str(c // 100), str(c // 10 % 10), c % 10 + 1, int(n), int(k)) for c, n, k in counted]
        for (query_id, doc_id), found in click_values(counts, "position").items():
            assert found.low is not None and found.high is not None
            held.append(bool(found.low <= chances[int(query_id), int(doc_id)] <= found.high))
    assert np.mean(held) >= 0.93


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("user", "chances"),
    [(position_user, position_chances), (cascade_user, cascade_chances)],
    ids=["position", "cascade"],
)
def test_simulated_users_click_as_often_as_is_likely(user: User, chances: Chances) -> None:
    """20,000 of them, at four places: within four standard errors."""
    attraction, generator = [0.05, 0.6, 0.3, 0.85], np.random.default_rng(3)
    clicked = np.bincount([place for _ in range(20_000) for place in user(attraction, generator)], minlength=4) / 20_000
    assert clicked == pytest.approx(chances(attraction), abs=4 * (0.25 / 20_000) ** 0.5)


def test_the_interval_of_a_ratio_covers_it_with_about_95_percent() -> None:
    """Of 30 impressions at places with rates of .5, .4 and .3: 10,000 draws, of which a Poisson count holds .987."""
    draw = random.Random(6)
    rates, hits = [0.5, 0.4, 0.3] * 10, 0
    expected, square = sum(rates), sum(rate**2 for rate in rates)
    for _ in range(10_000):
        ratio = draw.uniform(0.0, 2.0)
        clicks = sum(draw.random() < ratio * rate for rate in rates)
        low, high = score_interval(clicks, len(rates), expected, square, clicks / expected)
        hits += low <= ratio <= high
    assert 0.94 <= hits / 10_000 <= 0.96
