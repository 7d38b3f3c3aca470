"""Bounds against every completion of more evaluations than the fast tests draw: tests/completing.py."""

from tests import completing


def test_no_completion_lies_beyond_the_bounds() -> None:
    """5,000 of them: make completions."""
    assert completing.main(["--count", "40", "--seed", "11"]) == 0
