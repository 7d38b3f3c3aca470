"""What names a metric: spellings, mappings, presets, what is refused; its canonical form, its definition, its hash."""

import dataclasses

import pytest
from hypothesis import given

from ndcg_core.measures.metric import POLICIES, Metric, MetricError
from ndcg_core.measures.notation import PRESETS, from_mapping, parse
from tests.strategies import metrics


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ndgc@10", "did you mean 'ndcg'?"),
        ("ndcg(gain=exponental)@3", "did you mean 'exponential'?"),
        ("ndcg@0", "cutoff = 0: must be a whole number from 1 to 1000000"),
        ("ndcg@99999999999999999999", "from 1 to 1000000"),
        ("ndcg@ten", "cutoff = 'ten'"),
        ("ndcg(gain=linear, gain=binary)@3", "gain is given twice"),
        ("ndcg(gain)@3", "'gain' must be choice=value"),
        ("ndcg(depth=3)@3", "choice = 'depth'"),
        ("cg(discount=reciprocal)@3", "discount = reciprocal has no effect on cg"),
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
        ("rbp(p=1)", "persistence = 1: must be above 0 and below 1"),
        ("ndcg(persistence=0.5)", "persistence = 0.5 has no effect on ndcg: leave it out"),
        ("rprec@10", "cutoff = 10: rprec has none, it looks at all that was returned"),
        ("bpref(unjudged=condense)", "unjudged = condense has no effect on bpref"),
        ("bpref(negative=unjudged)", "negative = unjudged has no effect on bpref: leave it out"),
        ("infap(negative=unjudged)", "choose unjudged = condense as well"),
        ("bpref_10", "has no cutoff here: say 'bpref'"),
        ("gm_map", "the geometric mean of average precision is not computed here; the nearest is 'ap'"),
        ("", "must look like"),
        ("ndcg@10@5", "cutoff = '10@5'"),
    ],
)
def test_what_is_wrong_is_said(text: str, said: str) -> None:
    with pytest.raises(MetricError) as caught:
        parse(text)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        *[("P@10", "precision@10"), ("P_10", "precision@10"), ("prec@10", "precision@10"), ("set_P", "precision")],
        *[("R@100", "recall@100"), ("recall_100", "recall@100"), ("Recall.100", "recall@100")],
        *[("MRR", "rr"), ("MRR@10", "rr@10"), ("recip_rank", "rr"), ("mrr_at_10", "rr@10")],
        *[("nDCG@10", "ndcg@10"), ("ndcg_cut_10", "ndcg@10"), ("ndcg_cut.10", "ndcg@10"), ("NDCG 10", "ndcg@10")],
        *[("map", "ap"), ("MAP", "ap"), ("MAP@100", "ap@100"), ("map_cut_100", "ap@100"), ("map-cut.100", "ap@100")],
        *[
            ("success_1", "accuracy@1"),
            ("Success@1", "accuracy@1"),
            ("hit_rate@5", "accuracy@5"),
            ("HR@5", "accuracy@5"),
        ],
        *[("R-prec", "rprec"), ("Rprec", "rprec"), ("rbp.95", "rbp(persistence=0.95)"), ("infAP", "infap")],
        *[(" NDCG ( ) @ 10 ", "ndcg@10"), ("dcg(gain=Linear)@3", "dcg@3"), ("rbp(p=0.8)", "rbp")],
        ("ndcg(gain={3:9,1:1,2:4})@5", "ndcg(gain={1:1, 2:4, 3:9})@5"),
        *[("judged_at_10", "judged@10"), ("P(rel=2)@10", "precision(relevant_from=2)@10"), ("MAP(rel=2)", "ap(rel=2)")],
    ],
)
def test_names_of_other_tools_are_read_and_ours_is_written(theirs: str, ours: str) -> None:
    assert parse(theirs).name == parse(ours).name
    assert parse(parse(theirs).name) == parse(theirs)


def test_a_mapping_reads_as_the_written_form() -> None:
    assert from_mapping({"measure": "ndcg", "cutoff": 10, "gain": {1: 1, 2: 3}}) == parse("ndcg(gain={1:1, 2:3})@10")
    assert from_mapping({"measure": "MRR", "cutoff": 10}) == parse("rr@10")
    with pytest.raises(MetricError, match="cutoff = True"):
        from_mapping({"measure": "ndcg", "cutoff": True})


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


# ---- canonical form, definition, hash


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
