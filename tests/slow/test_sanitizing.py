"""The compiled reader under the sanitizers: a second of each program here, minutes by `make fuzz`."""

import pytest

from tests import sanitizing


def test_nothing_is_read_beyond_a_text() -> None:
    found = sanitizing.main(["--seconds", "2", "--seed", "3"])
    if found == sanitizing.MISSING:
        pytest.skip(sanitizing.MISSING)
    assert found == 0
