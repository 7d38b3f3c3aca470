"""Broken rankings through the compiled reader under the sanitizers of addresses and of undefined behaviour.

    python -m tests.sanitizing --seconds 600 [--seed N]

Compiles tests/sanitizing.c with the reader's own source, for this machine and as for any, and runs each half the time.
A byte that is read beyond a text, a sum that runs over, memory that is not given back, or parts that do not fit
together end it with 1.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.repeated import read_options, require_work

MISSING = "there is no C compiler with the sanitizers"
SOURCE = Path(__file__).with_suffix(".c")
OPTIONS = ["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


def compiled(folder: Path, *more: str) -> Path | None:
    """The program; None where it cannot be made here."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    program = folder / "-".join(["sanitizing", *more])
    made = subprocess.run([compiler, *OPTIONS, *more, SOURCE, "-lm", "-o", program], capture_output=True, text=True)
    if made.returncode and "asan" not in made.stderr:  # the sanitizer's library is not there
        raise RuntimeError(made.stderr)
    return None if made.returncode else program


def main(words: Sequence[str] | None = None) -> int | str:
    options = read_options(__doc__, words, seconds=600)
    with TemporaryDirectory() as folder:
        programs = [compiled(Path(folder)), compiled(Path(folder), "-DPORTABLE")]
        for program in programs:
            if program is None:
                return MISSING
            print(f"{program.name}, seed {options.seed}: ", end="", flush=True)
            half = max(1, options.seconds // len(programs))
            done = subprocess.run([program, str(options.seed), str(half)], stdout=subprocess.PIPE, text=True)
            print(done.stdout, end="", flush=True)
            if done.returncode:
                return 1
            require_work("sanitizing", inputs=int((re.match(r"\d+", done.stdout) or "0")[0]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
