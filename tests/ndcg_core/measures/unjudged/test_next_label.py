"""The difference with each grade of one document against the core's."""

from random import Random

import numpy as np
import pytest

from ndcg_core.measures.notation import parse
from ndcg_core.measures.unjudged import next_label
from ndcg_core.measures.unjudged.next_label import find_grade_effects
from tests.ndcg_core.measures.unjudged.small_pairs import DOCS, GRADES, METRICS, draw_pair


@pytest.mark.parametrize("name", METRICS)
def test_differences_are_those_of_the_core(name: str) -> None:
    random, metric = Random(8), parse(name)
    for pair in (draw_pair(random) for _ in range(12)):
        shown = pair.shown(metric)
        docs = shown.unjudged.doc.tolist()
        assert len({*docs}) == len(docs)
        for doc, differences in zip(docs, find_grade_effects(shown).differences.tolist(), strict=True):
            expected = [pair.difference(metric, {DOCS[doc]: grade}) for grade in GRADES]
            assert differences == pytest.approx(expected, abs=1e-12)


def test_of_many_grades_some_stand_for_their_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(next_label, "MOST_GRADES", 2)
    found = find_grade_effects(draw_pair(Random(2)).shown(parse("ndcg@3")))
    assert found.differences.shape[1] == 2
    assert found.chances.sum(axis=1) == pytest.approx(np.ones(len(found.chances)))
