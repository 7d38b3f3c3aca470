"""Configurations and paths that are wrong in every way (tests/mistaking.py): a few here, thousands by its command."""

import pytest

from tests.mistaking import run


def test_whatever_is_wrong_ends_in_a_short_message() -> None:
    assert run(40, seed=3) == []


@pytest.mark.slow
def test_so_do_many_and_processes_of_their_own() -> None:
    assert run(1500, seed=5, processes=4) == []
