"""Configurations and paths that are wrong in every way (tests/mistaking.py): a few here, thousands by its command."""

from collections.abc import Iterator

import pytest

from ndcg_ab.config.secrets import redaction
from tests import mistaking
from tests.mistaking import run

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _forgets_secrets() -> Iterator[None]:
    """Wrong configurations have secrets such as Europe/Berlin, which other tests of the process want to say."""
    known = set(redaction._known)
    yield
    redaction._known.clear()
    redaction._known.update(known)
    redaction.forget_forms()


def test_whatever_is_wrong_ends_in_a_short_message() -> None:
    assert mistaking.main(["--count", "40", "--seed", "3", "--processes", "0"]) == 0


@pytest.mark.soak
def test_so_do_many_and_processes_of_their_own() -> None:
    assert run(150, seed=5, processes=2) == []
