"""Which ids and texts look as if queries belonged together."""

import pytest

from ndcg_ab.checks.plausibility_checks import describe_repeated_texts, describe_shared_ids


def grouped(groups: int, size: int, mark: str = "_") -> list[str]:
    return [f"{100 + group}{mark}{turn}" for group in range(groups) for turn in range(size)]


@pytest.mark.parametrize(
    ("query_ids", "count"),
    [
        (grouped(6, 4), 24),
        (grouped(6, 4, "-"), 24),
        (grouped(6, 4) + ["7"], 24),
        ([f"q{number}" for number in range(50)], None),
        ([f"q_{number}" for number in range(50)], None),  # one beginning names all of them
        ([f"dl{year}-{number}" for year in (19, 20) for number in range(50)], None),
        (grouped(6, 60), None),  # collections, not conversations
        (grouped(6, 4) + [str(number) for number in range(20)], None),
        ([f"{number}_1" for number in range(40)], None),
    ],
)
def test_ids(query_ids: list[str], count: int | None) -> None:
    found = describe_shared_ids(query_ids)
    assert (found and found[1]) == count


@pytest.mark.parametrize(
    ("texts", "count"),
    [
        (["wine", "Wine ", "beer", "tea"], 2),
        (["wine", "beer", "tea"], None),
        ([f"query {number}" for number in range(98)] + ["wine", "wine"], None),
        ([f"query {number}" for number in range(30)] * 2, 60),
    ],
)
def test_texts(texts: list[str], count: int | None) -> None:
    found = describe_repeated_texts([(f"q{index}", text) for index, text in enumerate(texts)])
    assert (found and found[1]) == count
