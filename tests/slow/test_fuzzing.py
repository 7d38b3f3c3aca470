"""Malformed files, rankings and configurations: a few here, thousands by `make fuzz`."""

import gzip
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ndcg_ab.config.secrets import redaction
from tests import mistaking, sanitizing, two_ways
from tests.repeated import mostly_soaked
from tests.skips import needs_ranking_reader

MEMORY = 600  # MB that the process may take; imports alone take some 150
READ = """
import atexit, re, sys
from pathlib import Path
from tests.readings import read_table
from ndcg_ab.sources import JUDGMENT
status = Path("/proc/self/status")  # of the program alone: what rusage tells begins with the parent's
atexit.register(lambda: print(re.search(r"VmHWM:\\s+(\\d+)", status.read_text())[1]))
read_table(Path(sys.argv[1]), JUDGMENT, None, {})
"""


def test_whatever_is_broken_is_a_sentence(tmp_path: Path) -> None:
    """For an hour, with other seeds: make fuzz."""
    command = [sys.executable, "-m", "tests.fuzzing", "--seconds", "1", "--seed", "11", "--keep", str(tmp_path)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert found.returncode == 0, f"{found.stdout[-3000:]}{found.stderr[-3000:]}"


# file, content, how often it is repeated inside of gzip (0: not gzipped), what must be said
WORST = {
    "one line that unpacks without end": ("q.gz", b"q" * (1 << 20), 500, "longer than 1,048,576 bytes"),
    "lines that unpack without end": ("q.gz", b"q1 0 d1 1\n" * 100_000, 500, "unpacks to more than 100 bytes for each"),
    "an object that unpacks without end": (
        "q.json",
        b'{"": ' + b" " * (1 << 20),
        500,
        "unpacks to more than 100 bytes for each",
    ),
    "null alone": ("q.jsonl", b"null\n", 0, "every line must be one JSON object"),
    "an id without end": ("q.csv", b"query_id,doc_id,grade\n" + b"q" * (1 << 26), 0, "longer than 1,048,576 bytes"),
}


KEPT = ["one line that unpacks without end", "an id without end"]


@pytest.mark.parametrize("name", mostly_soaked(WORST, kept=KEPT))
def test_memory_has_a_bound_and_nothing_dies(name: str, tmp_path: Path) -> None:
    file, content, times, words = WORST[name]
    (tmp_path / file).write_bytes(gzip.compress(content) * times if times else content)
    command = [sys.executable, "-c", READ, str(tmp_path / file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    said = done.stderr.strip().rpartition("\n")[2]
    assert done.returncode == 1
    assert said.startswith("ndcg_ab.errors.InputError: ") and words in said, said[:500]
    assert len(said) < 500
    assert int(done.stdout) / 1024 < MEMORY


def test_the_compiled_reader_reads_nothing_beyond_a_text() -> None:
    """Under the sanitizers, a second of each program."""
    found = sanitizing.main(["--seconds", "2", "--seed", "3"])
    if found == sanitizing.MISSING:
        pytest.skip(sanitizing.MISSING)
    assert found == 0


def test_a_reduced_ranking_gives_the_comparison_of_the_whole_one(tmp_path: Path) -> None:
    needs_ranking_reader()
    assert two_ways.main(["--count", "10", "--seed", "0", "--keep", str(tmp_path)]) == 0


@pytest.fixture
def _own_secrets() -> Iterator[None]:
    """Wrong configurations have secrets such as Europe/Berlin, which other tests of the process want to say."""
    known = set(redaction._known)
    yield
    redaction._known.clear()
    redaction._known.update(known)
    redaction.clear_secret_caches()


@pytest.mark.usefixtures("_own_secrets")
@pytest.mark.parametrize(
    ("count", "processes"), [(40, 0), pytest.param(150, 2, marks=pytest.mark.soak)], ids=["few", "processes, too"]
)
def test_a_wrong_configuration_ends_in_a_short_message(count: int, processes: int) -> None:
    assert mistaking.main(["--count", str(count), "--seed", "3", "--processes", str(processes)]) == 0
