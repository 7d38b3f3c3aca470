"""Broken rankings through the quick way and the careful one: a few here, 10,000 by `make fuzz`."""

from pathlib import Path

import pytest

from tests import two_ways
from tests.skips import needs_ranking_reader
from tests.two_ways import kept_otherwise

pytestmark = pytest.mark.slow


def test_what_is_kept_of_a_ranking_tells_what_all_of_it_does(tmp_path: Path) -> None:
    needs_ranking_reader()
    assert two_ways.main(["--count", "10", "--seed", "0", "--keep", str(tmp_path)]) == 0


def test_what_is_kept_of_a_ranking_stands_in_its_table(tmp_path: Path) -> None:
    needs_ranking_reader()
    found = [kept_otherwise(tmp_path, seed) for seed in range(60)]
    assert sum(is_plain for is_plain, _ in found) > 3
    assert [told for _, told in found if told] == []
