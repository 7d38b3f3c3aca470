"""Where it is soon told that no id is like another, nothing is looked for; where one is, it is."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ndcg_ab.checks.ids.near_ids import has_none_alike, is_any_alike, pairs_of
from tests.examples import examples
from tests.laboratory import in_order, pulled_judgments, pulled_ranking

IDS = st.sets(st.text("aA0 \"'-", max_size=4), max_size=4)


@given(IDS, IDS)
@settings(max_examples=examples(200))
def test_whether_there_are_pairs(own: set[str], judged: set[str]) -> None:
    assert is_any_alike(own, judged) == bool(pairs_of(own, judged))


@pytest.mark.parametrize(
    ("returned", "is_none"),
    [
        ("d9", True),  # another document
        ("d1", True),  # judged
        ("D1", False),
        ("d01", False),
        ("x/d1", False),
        ("d1#p", False),
        ("d", False),  # the judged one begins with it
        ("é9", False),  # not told here
    ],
)
def test_what_is_soon_told(returned: str, is_none: bool) -> None:
    judgments = pulled_judgments({"q": {"d1": 1.0}, "other": {returned.upper(): 1.0}})
    rankings = [pulled_ranking("new", {"q": in_order(returned), "unjudged": in_order("D1")})]
    assert has_none_alike(judgments, rankings) == is_none
    many = {"q": {f"{number:04}": 0.0 for number in range(1_000)}}
    assert not has_none_alike(pulled_judgments(many), rankings)
