"""The compiled reader under the sanitizers: a second of each program here, minutes by `make fuzz`."""

import subprocess
from pathlib import Path

import pytest

from tests.sanitizing import compiled


@pytest.mark.parametrize("options", [(), ("-DPORTABLE",)])
def test_nothing_is_read_beyond_a_text(tmp_path: Path, options: tuple[str, ...]) -> None:
    program = compiled(tmp_path, *options)
    if program is None:
        pytest.skip("there is no C compiler with the sanitizers")
    done = subprocess.run([program, "3", "1"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
