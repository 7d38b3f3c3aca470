"""Commands killed while they hold temporary files, and what is left of those after one more command.

``python -m tests.leaving --kills 100`` kills that many, at random moments, of every kind.
"""

import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.loopback import Asked, Said, serving
from tests.paths import DATA
from tests.repeated import read_options, require_work

CONFIG = """
name: left
judgments: {address}/judgments.qrels
systems:
  - {{name: old, file: "{address}/old.run"}}
  - {{name: new, file: "{address}/new.run"}}
statistics: {{resamples: 100}}
output: {output}
"""


def give_slowly(asked: Asked) -> Said:
    """Give a file of the tests byte by byte, so that a kill meets half of one."""
    return Said((DATA / Path(asked.path).name).read_bytes(), slowly=1e-5)


def commands(folder: Path, address: str) -> dict[str, list[str]]:
    """Kinds of commands that make temporary folders: copies, and what memory has no room for."""
    config = folder / "left.yaml"
    config.write_text(CONFIG.format(address=address, output=folder / "out"))
    files = ["--judgments", str(DATA / "judgments.qrels")]
    files += ["--system", f"old={DATA / 'old.run'}", "--system", f"new={DATA / 'new.run'}"]
    return {
        "check, of a web server": ["check", str(config)],
        "compare": ["compare", *files, "--quiet"],
        "compare, little memory": ["compare", *files, "--quiet", "--memory-limit", "1GB"],
    }


def start_command(arguments: list[str], temporary: Path, said: Path) -> "subprocess.Popen[bytes]":
    """Begin a command that writes its errors to a file."""
    environment = os.environ | {"TMPDIR": str(temporary), "PYTHONDONTWRITEBYTECODE": ""}
    command = [sys.executable, "-m", "ndcg_ab.flows.cli.main", *arguments]
    with said.open("wb") as file:
        return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=file)


def names_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def list_readable_by_others(folder: Path) -> list[str]:
    """The folders that somebody else could look into."""
    found = []
    for path in folder.rglob("*"):
        try:
            if path.is_dir() and path.stat().st_mode & 0o077:
                found.append(str(path))
        except FileNotFoundError:
            continue
    return found


def remains_after_kills(kills: int, folder: Path, rng: random.Random) -> Iterator[str]:
    """What is wrong after so many kills, and one more command of the kind that makes the least."""
    temporary = folder / "tmp"
    temporary.mkdir(exist_ok=True)
    with serving(give_slowly) as server:
        kinds = commands(folder, server.address)
        met = 0
        for at in range(kills):
            name = list(kinds)[at % len(kinds)]
            process = start_command(kinds[name], temporary, folder / "said")
            deadline = time.monotonic() + rng.uniform(0, 4)
            while time.monotonic() < deadline and process.poll() is None:
                time.sleep(0.005)
                if rng.random() < 0.02 and names_in(temporary):
                    break  # half of them in the midst of it
            if process.returncode:
                raise RuntimeError(f"{name}: ended with {process.returncode}: {(folder / 'said').read_text()}")
            yield from (f"kill {at}, {name}: others can open {each}" for each in list_readable_by_others(temporary))
            process.kill()
            process.wait()
            met += bool(names_in(temporary))
        if code := start_command(kinds["compare"], temporary, folder / "said").wait():
            yield f"the next command ended with {code}: {(folder / 'said').read_text()}"
        yield from (f"after {kills} kills, {met} of which left something: {each}" for each in names_in(temporary))
        if kills > 20 and met < kills / 10:
            yield f"{met} of {kills} kills met a temporary file"


def main(words: Sequence[str] | None = None) -> int:
    given = read_options(__doc__, words, kills=100, seed=1)
    folder = Path(tempfile.mkdtemp(prefix="leaving-"))
    began = time.monotonic()
    try:
        wrong = list(remains_after_kills(given.kills, folder, random.Random(given.seed)))
    finally:
        shutil.rmtree(folder)
    require_work("leaving", kills=given.kills)
    print("\n".join(wrong))
    print(f"{given.kills} kills in {time.monotonic() - began:.0f} s: {len(wrong)} wrong")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
