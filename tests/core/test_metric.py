"""A metric's written form, its hash, and what is refused."""

import dataclasses

import pytest
from hypothesis import given

from ndcg_core.metric import POLICIES, PRESETS, Metric, MetricError, from_mapping, parse
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


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("ndcg@10", "ndcg@10"),
        ("nDCG@10", "ndcg@10"),
        (" NDCG ( ) @ 10 ", "ndcg@10"),
        ("ndcg", "ndcg"),
        ("ndcg(ideal=local, gain=exponential)@10", "ndcg(gain=exponential, ideal=local)@10"),
        ("ndcg(gain={3:9,1:1,2:4})@5", "ndcg(gain={1:1, 2:4, 3:9})@5"),
        ("dcg(gain=linear)@3", "dcg@3"),
        ("precision(relevant_from=2.0)@5", "precision(relevant_from=2)@5"),
        ("ndcg(discount=jarvelin_kekalainen, discount_base=2)", "ndcg(discount=jarvelin_kekalainen)"),
    ],
)
def test_many_spellings_one_name(text: str, name: str) -> None:
    assert parse(text).name == name


def test_tracker_names() -> None:
    assert parse("ndcg@10").tracker_name == "ndcg_at_10"
    assert parse("ndcg(gain=exponential, ideal=local)@10").tracker_name == "ndcg_exponential_local_at_10"
    assert parse("precision(relevant_from=2)@5").tracker_name == "precision_relevant_from_2_at_5"


def test_the_hash_is_fixed_across_versions_of_this_project() -> None:
    """Stored results are compared by hash: it may change only when a definition does."""
    assert parse("ndcg@10").hash == "a9caf641b91c"
    assert parse("ndcg(gain=exponential, ideal=local)@10").hash == "00274c2d5911"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ndgc@10", "did you mean 'ndcg'?"),
        ("ndcg(gain=exponental)@3", "did you mean 'exponential'?"),
        ("ndcg@0", "cutoff = 0: must be a whole number from 1 to 1000000"),
        ("ndcg@99999999999999999999", "from 1 to 1000000"),
        ("ndcg@ten", "cutoff = 'ten'"),
        ("ndcg@-1", "cutoff = '-1'"),
        ("ndcg(gain=linear, gain=binary)@3", "gain is given twice"),
        ("ndcg(gain)@3", "'gain' must be choice=value"),
        ("ndcg(depth=3)@3", "choice = 'depth'"),
        ("cg(discount=log2)@3x", "cutoff = '3x'"),
        ("cg(discount=reciprocal)@3", "discount = reciprocal has no effect on cg"),
        ("dcg(ideal=local)@3", "ideal = local has no effect on dcg"),
        ("precision(gain=binary)@3", "gain = binary has no effect on precision"),
        ("ndcg(relevant_from=2)@3", "it needs gain = binary"),
        ("ndcg(discount_base=3)@3", "it needs discount = jarvelin_kekalainen"),
        ("ndcg(discount=jarvelin_kekalainen, discount_base=1)@3", "discount_base = 1: must be above 1"),
        ("precision(relevant_from=0)@3", "relevant_from = 0: must be a grade above 0"),
        ("precision(relevant_from=nan)@3", "must be a finite number"),
        ("ndcg(gain={1:-1})@3", "grade 1 has the gain -1"),
        ("ndcg(gain={0:1})@3", "grade 0 must gain 0"),
        ("ndcg(gain={1:1, 1:2})@3", "grade 1 is given twice"),
        ("ndcg(gain={})@3", "at least one grade"),
        ("ndcg(gain={1})@3", "must be grade:gain"),
        ("ndcg(preset=trec)@10", "did you mean 'trec_eval-9'?"),
        ("ndcg(recall_depth=3)@3", "it needs ideal = recall"),
        ("ndcg(max_grade=3)@3", "it needs ideal = max"),
        ("ndcg(ideal=max, max_grade=0)@3", "max_grade = 0: must be a grade above 0"),
        ("ndcg(ideal=recall, recall_depth=0)@3", "recall_depth = 0: must be a whole number from 1 to 1000000"),
        ("ndcg(ideal=recall, recall_depth=2)@3", "recall_depth = 2: not below k = 3"),
        ("ndcg(ideal=recall, recall_depth=2)", "leave it out where there is no cutoff"),
        ("ndcg(ideal=max, ideal_cut=none)@3", "must end somewhere"),
        ("rr(ties=average)@3", "rr is no sum over places"),
        ("", "must look like"),
        ("ndcg@10@5", "cutoff = '10@5'"),
    ],
)
def test_what_is_wrong_is_said(text: str, said: str) -> None:
    with pytest.raises(MetricError) as caught:
        parse(text)
    assert said in str(caught.value)


def test_a_mapping_reads_as_the_written_form() -> None:
    assert from_mapping({"measure": "ndcg", "cutoff": 10, "gain": {1: 1, 2: 3}}) == parse("ndcg(gain={1:1, 2:3})@10")
    with pytest.raises(MetricError, match="cutoff = True"):
        from_mapping({"measure": "ndcg", "cutoff": True})


def test_every_field_is_in_the_definition_of_some_measure() -> None:
    full = set(parse("ndcg(gain=binary, discount=jarvelin_kekalainen, ideal=recall)@1").definition)
    full |= set(parse("ndcg(ideal=max)").definition)
    assert {field.name for field in dataclasses.fields(Metric)} == full


def test_presets_are_short_for_their_choices() -> None:
    assert parse("ndcg(preset=trec_eval-9)@10").name == "ndcg(score_precision=float32, no_relevant=zero)@10"
    assert parse("ndcg(preset=Elasticsearch, ties=given)@5") == parse(
        "ndcg(gain=exponential, ideal_cut=returned, ties=given)@5"
    )
    assert parse("ndcg(preset=gdeval, gain=binary)@5") == parse("ndcg(gain=binary)@5"), "what is written wins"
    assert parse("precision(preset=mlflow)@5") == parse("precision@5"), "a measure takes the choices that it has"
    assert from_mapping({"measure": "ndcg", "preset": "quepid", "cutoff": 10}) == parse("ndcg(preset=quepid)@10")
    for name in PRESETS:
        assert parse(parse(f"ndcg(preset={name})@10").name) == parse(f"ndcg(preset={name})@10")


def test_policies_belong_to_every_measure() -> None:
    for measure in ("ndcg", "judged", "rr"):
        assert set(POLICIES) <= set(parse(measure).definition)


def test_without_a_cutoff_an_ideal_that_ends_nowhere_is_the_default() -> None:
    assert parse("ndcg(ideal_cut=none)").name == "ndcg"
    assert parse("ndcg(ideal_cut=none)@10").name == "ndcg(ideal_cut=none)@10"


def test_choices_that_come_to_the_same_have_one_name() -> None:
    for cut in ("none", "returned"):
        assert parse(f"ndcg(ideal=local, ideal_cut={cut})@10") == parse("ndcg(ideal=local)@10")
    assert parse("ndcg(ideal=recall, ideal_cut=returned)@10") == parse("ndcg(ideal=recall)@10")
    assert parse("ndcg(ideal=recall, ideal_cut=none)@10") != parse("ndcg(ideal=recall)@10")
    assert parse("rr(ties=given, score_precision=float32)@10") == parse("rr(ties=given)@10")
