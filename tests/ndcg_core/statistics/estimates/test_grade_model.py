"""The model of grades: the maximum that scipy finds, the chances that made the data, draws as uncertain as they say."""

import numpy as np
import pytest
from scipy import optimize, stats

from ndcg_core.statistics.estimates import grade_model
from ndcg_core.statistics.estimates.features import Features
from ndcg_core.statistics.estimates.grade_model import START_SPREAD, Fitted, Graded, SecantSteps, fit_model

SPREADS = np.array([3.0, 1.0])
STARTS, SLOPES, BETWEEN = np.array([0.5, -0.5, -1.0]), np.array([1.0, -0.7]), 1.0


def features_of(matrix: np.ndarray) -> Features:
    document, feature = np.indices(matrix.shape).reshape(2, -1)
    return Features(document, feature, matrix.ravel(), matrix.shape)


def made(seed: int, queries: int, each: int, between: float = BETWEEN) -> Graded:
    """Documents whose grades follow the model."""
    rng = np.random.default_rng(seed)
    query = np.repeat(np.arange(queries), each)
    features = rng.normal(size=(len(query), 2))
    odds = STARTS[:, None] + features @ SLOPES + rng.normal(0, between, queries)[query]
    climbed = rng.random(odds.shape) < 1 / (1 + np.exp(-odds))
    return Graded(features_of(features), query, np.cumprod(climbed, axis=0).sum(axis=0))


@pytest.fixture(scope="module")
def graded() -> Graded:
    return made(1, 40, 8)


@pytest.fixture(scope="module")
def fitted(graded: Graded) -> Fitted:
    return fit_model(graded, 4, 41, SPREADS)


def loss(numbers: np.ndarray, graded: Graded, between: float) -> float:
    """Minus the log posterior, written out document by document."""
    starts, slopes, effects = np.split(numbers, [3, 5])
    total = -stats.norm.logpdf(starts, 0, START_SPREAD).sum() - stats.norm.logpdf(slopes, 0, SPREADS).sum()
    total -= stats.norm.logpdf(effects, 0, between).sum()
    rows = graded.features.value.reshape(graded.features.shape)
    for features, query, level in zip(rows, graded.query, graded.level, strict=True):
        for step in range(3):
            if level >= step:
                odds = starts[step] + features @ slopes + effects[query]
                total += np.log1p(np.exp(-odds if level > step else odds))
    return float(total)


def test_it_is_the_maximum_of_the_posterior(graded: Graded, fitted: Fitted) -> None:
    numbers = np.concatenate([fitted.values, fitted.effects])
    slope = optimize.approx_fprime(numbers, loss, 1e-6, graded, fitted.between)
    assert np.abs(slope).max() < 0.01
    further = numbers + 0.1 * np.random.default_rng(2).normal(size=len(numbers))
    assert loss(numbers, graded, fitted.between) < loss(further, graded, fitted.between)


def test_what_is_learned_is_where_expectation_maximisation_ends(graded: Graded) -> None:
    """The mean of effect^2 + variance is the spread's square; the same of alike slopes, with those that are guessed."""
    found = fit_model(graded, 4, 41, SPREADS, alike=1)
    covered = np.sum(found.leverage @ found.covariance * found.leverage, axis=1)
    of_effects = (found.effects**2 + found.spreads**2 + covered)[:40]
    assert found.between == pytest.approx(np.sqrt(of_effects.mean()), abs=1e-3)
    assert found.between > 2 * grade_model.LEAST_BETWEEN


def all_or_nothing() -> Graded:
    """Every document of the first half of the queries has the second level, of the others the lowest."""
    graded = made(6, 60, 8)
    return graded._replace(level=np.where(graded.query < 30, 1, 0))


@pytest.mark.parametrize(
    ("graded", "levels"), [(made(6, 60, 8, between=0.0), 4), (all_or_nothing(), 2)], ids=["alike", "all or nothing"]
)
def test_more_rounds_change_nothing(monkeypatch: pytest.MonkeyPatch, graded: Graded, levels: int) -> None:
    found = fit_model(graded, levels, 60, SPREADS, alike=1)
    monkeypatch.setattr(grade_model, "ROUNDS", 1000)
    later = fit_model(graded, levels, 60, SPREADS, alike=1)
    assert found.values == pytest.approx(later.values, abs=1e-3)
    assert found.between == pytest.approx(later.between, abs=1e-3)
    assert np.isfinite(found.covariance).all()


def test_few_rounds_are_enough_where_queries_hardly_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the secant it takes some eighty."""
    monkeypatch.setattr(grade_model, "ROUNDS", 25)
    few = fit_model(made(6, 60, 8, between=0.0), 4, 60, SPREADS)
    monkeypatch.setattr(grade_model, "ROUNDS", 1000)
    assert few.between == pytest.approx(fit_model(made(6, 60, 8, between=0.0), 4, 60, SPREADS).between, abs=1e-3)


def test_begun_at_the_model_of_nearly_the_same_documents_few_rounds_lead_to_the_same(
    monkeypatch: pytest.MonkeyPatch, graded: Graded
) -> None:
    kept = np.arange(len(graded.query)) % 20 != 0
    part = Graded(graded.features.take(kept), graded.query[kept], graded.level[kept])
    begin = fit_model(graded, 4, 41, SPREADS, alike=1)
    whole = fit_model(part, 4, 41, SPREADS, alike=1)
    monkeypatch.setattr(grade_model, "ROUNDS", 6)
    found = fit_model(part, 4, 41, SPREADS, alike=1, begin=begin)
    assert found.values == pytest.approx(whole.values, abs=1e-3)
    assert (found.between, *found.alike) == pytest.approx((whole.between, *whole.alike), abs=1e-3)
    assert fit_model(part, 4, 41, SPREADS, alike=1).between != pytest.approx(whole.between, abs=1e-3), "it takes more"


def test_a_secant_goes_where_a_number_is_moved_no_more() -> None:
    steps, number = SecantSteps(), 5.0
    for _ in range(3):
        number += steps.next(0.3 * (1.0 - number))
    assert number == pytest.approx(1.0)


def test_a_secant_does_not_go_astray() -> None:
    """The first step is the given one; no step goes back where a round moves on, nor further than ten times that."""
    steps = SecantSteps()
    assert [steps.next(moved) for moved in (0.4, 0.39, 0.4, -0.2)] == pytest.approx([0.4, 3.9, 0.4, -0.2])


def test_a_query_without_a_judged_document_is_any_query(fitted: Fitted) -> None:
    assert fitted.effects[40] == 0
    assert fitted.spreads[40] == pytest.approx(fitted.between, abs=1e-3)
    assert fitted.spreads[:40].max() < fitted.between


def test_of_many_documents_it_finds_what_made_them() -> None:
    found = fit_model(made(3, 300, 10), 4, 300, SPREADS)
    truth = np.concatenate([STARTS, SLOPES])
    errors = (found.values - truth) / np.sqrt(np.diag(found.covariance))
    assert np.abs(errors).max() < 3
    assert found.between == pytest.approx(BETWEEN, abs=0.15)


def test_draws_have_the_chances_and_are_uncertain_in_common(fitted: Fitted) -> None:
    """20 like documents of the query that nothing is known of rise and fall together from draw to draw."""
    rng = np.random.default_rng(4)
    features, query = features_of(np.zeros((20, 2))), np.full(20, 40)
    draws = fitted.draw(rng, features, query, 4_000)
    reached = fitted.reached(features, query)[:, 0]
    assert [(draws >= level).mean() for level in (1, 2, 3)] == pytest.approx(reached.tolist(), abs=0.02)
    alone = draws.var() / 20
    assert draws.mean(axis=1).var() > 3 * alone


def test_one_level_only_does_not_run_away() -> None:
    graded = made(5, 20, 8)
    found = fit_model(graded._replace(level=np.zeros_like(graded.level)), 4, 20, SPREADS)
    assert np.isfinite(found.values).all()
    assert found.reached(graded.features, graded.query)[0].max() < 0.1


def test_a_spread_that_is_not_learned_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one round the effects are not yet as wide as the queries differ."""
    monkeypatch.setattr(grade_model, "ROUNDS", 1)
    found = fit_model(made(3, 300, 10), 4, 300, SPREADS)
    assert found.between != pytest.approx(BETWEEN, abs=0.15)
