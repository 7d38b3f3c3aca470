"""What of the page's data stays where not all of it fits."""

from ndcg_ab.report.page.block import query_indices_by_difference


def test_the_largest_differences_of_any_candidate_stay_up_or_down() -> None:
    """By hand: 0, 0.5 down, 0.3 up, not scored, 0.5 up of the second candidate."""
    values = [[0.5, 0.9, 0.4, None, 0.1], [0.5, 0.4, 0.7, 0.2, None], [0.5, 0.9, 0.4, 0.8, 0.6]]
    assert query_indices_by_difference({"values": [values, []], "baseline": 0}) == [1, 4, 2, 0, 3]
