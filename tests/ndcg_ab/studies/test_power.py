"""Questions about the number of queries, as they are read from options."""

from ndcg_ab.studies.power import parse_questions


def test_numbers_of_queries_are_in_order_and_once() -> None:
    asked = parse_questions([0.05, 0.01, 0.05], [200, 50, 200, 100], 0.05, 0.8)
    assert asked.queries == (50, 100, 200)
    assert asked.effects == (0.05, 0.01), "effects keep their order"
