"""The places that results of one score hold together."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ndcg_ab.sources.tables.reduced_ranking import tied_ranks


def test_equal_scores_of_a_query_share_their_first_and_last_place() -> None:
    queries = np.array([4, 4, 4, 4, 1, 1, 7])
    scores = np.array([0.9, 0.5, 0.5, 0.1, 0.1, 0.1, -0.0])
    first, last = tied_ranks(queries, scores)
    assert first.tolist() == [1, 2, 2, 4, 1, 1, 1]
    assert last.tolist() == [1, 3, 3, 4, 2, 2, 1]


@given(st.lists(st.lists(st.sampled_from([0.0, -0.0, 0.5, 1.0]), min_size=1, max_size=6), min_size=1, max_size=5))
def test_they_are_counted_from_the_scores_above_and_below(answers: list[list[float]]) -> None:
    answers = [sorted(scores, reverse=True) for scores in answers]
    queries = np.array([number for number, scores in enumerate(answers) for _ in scores])
    first, last = tied_ranks(queries, np.concatenate(answers))
    assert first.tolist() == [1 + sum(other > score for other in each) for each in answers for score in each]
    assert last.tolist() == [sum(other >= score for other in each) for each in answers for score in each]
