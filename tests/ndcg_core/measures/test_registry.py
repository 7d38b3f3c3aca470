"""What the entries of the registry say of themselves is so, and a new entry is all that the core needs."""

import ast
from dataclasses import fields

import pytest

from ndcg_core.measures import metric as definitions
from ndcg_core.measures.meanings import CHOICE_MEANINGS, MEASURE_MEANINGS, VALUE_MEANINGS
from ndcg_core.measures.metric import Metric, MetricError
from ndcg_core.measures.notation import parse
from ndcg_core.measures.registry import (
    DISCOUNTS,
    GAINS,
    IDEALS,
    MEASURES,
    Discount,
    Divisor,
    Gain,
    GainSource,
    Measure,
    Quotient,
    RankedGains,
)
from ndcg_core.measures.score import discount, gain, score_query
from tests.laboratory import in_order
from tests.paths import ROOT


@pytest.mark.parametrize("entries", [GAINS, DISCOUNTS, IDEALS, MEASURES], ids=["gain", "discount", "ideal", "measure"])
def test_entries_are_kept_by_their_names(entries: dict) -> None:
    assert [entry.name for entry in entries.values()] == list(entries)


@pytest.mark.parametrize(
    ("metric", "in_force", "own", "deeper", "endless", "depth"),
    [
        ("ndcg@10", ("linear", "log2", "global"), False, False, False, 10),
        ("ndcg(ideal=local)@10", ("linear", "log2", "local"), True, False, False, 10),
        ("ndcg(ideal=recall)@10", ("linear", "log2", "recall"), True, True, False, None),
        ("ndcg(ideal=recall, recall_depth=50)@10", ("linear", "log2", "recall"), True, True, False, 50),
        ("ndcg(ideal=max)@10", ("linear", "log2", "max"), False, False, True, 10),
        ("dcg(gain={1:2}, discount=none)", (((1.0, 2.0),), "none", None), False, False, False, None),
        ("cg(gain=exponential)@5", ("exponential", "none", None), False, False, False, 5),
        ("recall@5", ("binary", "none", "global"), False, False, False, 5),
        ("precision(relevant_from=2)@5", ("binary", "none", None), False, False, False, 5),
        ("judged@5", ("judged", "none", None), False, False, False, 5),
        ("ap@5", ("binary", "none", "global"), False, False, False, 5),
        ("rbp(p=0.9)", ("binary", "geometric", None), False, False, False, None),
        ("err(max_grade=4)@5", ("exponential", "none", None), False, False, False, 5),
        ("bpref", ("binary", "none", "global"), False, False, False, None),
    ],
)
def test_what_is_in_force(
    metric: str, in_force: tuple[object, ...], own: bool, deeper: bool, endless: bool, depth: int | None
) -> None:
    found = parse(metric)
    assert (found.effective_gain, found.effective_discount, found.effective_ideal) == in_force
    assert (found.has_own_ideal, found.has_deeper_ideal, found.has_endless_ideal) == (own, deeper, endless)
    assert found.depth == depth


def test_every_measure_choice_and_value_has_its_words_in_order() -> None:
    assert list(MEASURE_MEANINGS) == list(MEASURES)
    assert set(CHOICE_MEANINGS) == {field.name for field in fields(Metric)} - {"measure"}
    values = [(choice, each) for choice, values in definitions.VALUES.items() for each in values]
    assert list(VALUE_MEANINGS) == values


def test_traits_by_hand() -> None:
    assert {name for name, measure in MEASURES.items() if measure.is_graded} == {"ndcg", "dcg", "cg"}
    assert {name for name, measure in MEASURES.items() if measure.takes("discount")} == {"ndcg", "dcg"}
    assert {name for name, measure in MEASURES.items() if measure.takes("ideal")} == {"ndcg"}
    no_sums = {"accuracy", "rr", "ap", "err", "bpref", "infap"}
    assert {name for name, measure in MEASURES.items() if not measure.is_additive} == no_sums
    walking = {"ap", "err", "rprec", "bpref", "infap"}
    assert {name for name, measure in MEASURES.items() if measure.factors} == walking
    assert {name for name, measure in MEASURES.items() if not measure.has_cutoff} == {"rprec", "bpref", "infap"}
    assert {name for name, measure in MEASURES.items() if not measure.is_monotone} == {"infap"}
    assert {name for name, measure in MEASURES.items() if not measure.is_bounded} == {"dcg", "cg"}
    assert {name for name, ideal in IDEALS.items() if ideal.pool is GainSource.RETURNED} == {"local", "recall"}


def test_each_value_is_divided_as_the_entry_says() -> None:
    """Bounds, expected values and the SQL for warehouses rely on the entry."""
    ranked = RankedGains(gains=(1.0, 0.0), total=1.0, ideal=3.0, cutoff=5, returned=7)
    divisors = {Divisor.NOTHING: None, Divisor.LENGTH: 5, Divisor.SHOWN: 2, Divisor.IDEAL: 3.0}
    for name, entry in MEASURES.items():
        if entry.divisor in divisors and not entry.is_decided_by_first:
            assert entry.quotient(ranked) == (ranked.total, divisors[entry.divisor]), f"{name}: take Divisor.OTHER"


def test_a_new_measure_is_an_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    def hits(counted: RankedGains) -> Quotient:
        return Quotient(counted.total)

    monkeypatch.setitem(MEASURES, "hits", Measure("hits", hits, Divisor.NOTHING, is_additive=True, is_bounded=False))
    metric = parse("hits(relevant_from=2)@3")
    assert metric.name == "hits(relevant_from=2)@3"
    assert score_query(metric, in_order("a", "b", "c", "d"), {"a": 2, "b": 1, "c": 3, "d": 3}) == 2.0
    with pytest.raises(MetricError, match="discount = none has no effect on hits: leave it out"):
        parse("hits(discount=none)@3")


def test_a_new_discount_and_a_new_gain_are_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    halved = Discount("geometric", lambda rank, base: base ** (1 - rank), choices=("discount_base",))
    monkeypatch.setitem(DISCOUNTS, "geometric", halved)
    monkeypatch.setitem(GAINS, "square", Gain("square", lambda grade, _: grade * grade))
    monkeypatch.setitem(definitions.VALUES, "discount", tuple(DISCOUNTS))
    monkeypatch.setitem(definitions.VALUES, "gain", ("linear", "square"))
    metric = parse("dcg(gain=square, discount=geometric, discount_base=4)@3")
    assert (gain(metric, 3), discount(metric, 3)) == (9, 1 / 16)
    assert score_query(metric, in_order("a", "b"), {"a": 1, "b": 2}) == 1 + 4 / 4
    assert "discount_base" not in parse("dcg@3").choices()


def test_no_entry_is_asked_for_by_its_name_elsewhere() -> None:
    """Of the core: a comparison with the name of an entry would be a place that a new one has to find."""
    names = {*MEASURES, *GAINS, *DISCOUNTS, *IDEALS} - {"none"}  # that is a value of ideal_cut, too
    for path in (ROOT / "ndcg_core").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Compare):
                constants = {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}
                assert not names & {each for each in constants if isinstance(each, str)}, f"{path}:{node.lineno}"
