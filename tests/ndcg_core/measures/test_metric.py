"""A metric's canonical form, its definition and its hash."""

import dataclasses

from hypothesis import given

from ndcg_core.measures.metric import POLICIES, Metric
from ndcg_core.measures.notation import from_mapping, parse
from tests.strategies import metrics


@given(metrics())
def test_canonical_form_and_definition_give_the_same_metric_back(metric: Metric) -> None:
    assert parse(metric.name) == metric
    assert from_mapping(metric.definition) == metric
    assert parse(metric.name).hash == metric.hash


@given(metrics(), metrics())
def test_names_and_hashes_are_equal_only_for_equal_metrics(one: Metric, other: Metric) -> None:
    assert (one.name == other.name) == (one == other)
    assert (one.hash == other.hash) == (one == other)
    assert (one.tracker_name == other.tracker_name) == (one == other)


@given(metrics())
def test_tracker_names_keep_to_what_trackers_allow(metric: Metric) -> None:
    assert set(metric.tracker_name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")


def test_tracker_names() -> None:
    assert parse("ndcg@10").tracker_name == "ndcg_at_10"
    assert parse("ndcg(gain=exponential, ideal=local)@10").tracker_name == "ndcg_exponential_local_at_10"
    assert parse("precision(relevant_from=2)@5").tracker_name == "precision_relevant_from_2_at_5"


def test_the_hash_is_fixed_across_versions_of_this_project() -> None:
    """Stored results are compared by hash: it may change only when a definition does."""
    assert parse("ndcg@10").hash == "a9caf641b91c"
    assert parse("ndcg(gain=exponential, ideal=local)@10").hash == "00274c2d5911"


def test_every_field_is_in_the_definition_of_some_measure() -> None:
    full = set(parse("ndcg(gain=binary, discount=jarvelin_kekalainen, ideal=recall)@1").definition)
    full |= set(parse("ndcg(ideal=max)").definition) | set(parse("rbp").definition)
    assert {field.name for field in dataclasses.fields(Metric)} == full


def test_policies_belong_to_every_measure() -> None:
    for measure in ("ndcg", "judged", "rr", "ap", "rbp", "err", "rprec", "infap"):
        assert set(POLICIES) <= set(parse(measure).definition)
    assert set(POLICIES) - set(parse("bpref").definition) == {"unjudged"}, "it looks at judged documents alone"


def test_without_a_cutoff_an_ideal_that_ends_nowhere_is_the_default() -> None:
    assert parse("ndcg(ideal_cut=none)").name == "ndcg"
    assert parse("ndcg(ideal_cut=none)@10").name == "ndcg(ideal_cut=none)@10"


def test_choices_that_come_to_the_same_have_one_name() -> None:
    for cut in ("none", "returned"):
        assert parse(f"ndcg(ideal=local, ideal_cut={cut})@10") == parse("ndcg(ideal=local)@10")
    assert parse("ndcg(ideal=recall, ideal_cut=returned)@10") == parse("ndcg(ideal=recall)@10")
    assert parse("ndcg(ideal=recall, ideal_cut=none)@10") != parse("ndcg(ideal=recall)@10")
    assert parse("rr(ties=given, score_precision=float32)@10") == parse("rr(ties=given)@10")
