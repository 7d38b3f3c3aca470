"""Standard input and pipes are read as the files whose content they give, once, and nothing of them stays."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from ndcg_ab.errors import InputError
from ndcg_ab.flows.cli.inputs import replace_pipes
from ndcg_ab.sources.boundary import BOUNDS
from tests.paths import DATA
from tests.repeated import mostly_soaked

PROGRAM = [sys.executable, "-m", "ndcg_ab.flows.cli.main"]
PLAIN = "compare judgments.qrels old.run new.run --queries queries.tsv --json -"


def run_in_bash(command: str, temporary: Path) -> "subprocess.CompletedProcess[str]":
    """Run a command in which `ndcg` is the program, in the folder of the files; its temporary files go to a folder."""
    return subprocess.run(
        ["bash", "-c", f'ndcg() {{ "{sys.executable}" -m ndcg_ab.flows.cli.main "$@"; }}\n{command}'],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        cwd=DATA,
        env=os.environ | {"TMPDIR": str(temporary)},
    )


COMMANDS = {
    "standard input": "cat new.run | ndcg compare judgments.qrels old.run new=- --queries queries.tsv --json -",
    "process substitution": "ndcg compare <(cat judgments.qrels) old=<(gzip -c old.run) new=<(cat new.run)"
    " --queries queries.tsv --json -",
    "a named pipe": "mkfifo $TMPDIR/p; cat old.run > $TMPDIR/p & ndcg compare judgments.qrels old=$TMPDIR/p new.run"
    " --queries queries.tsv --json -; rm $TMPDIR/p",
}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> str:
    return run_in_bash(f"ndcg {PLAIN}", tmp_path_factory.mktemp("plain")).stdout


@pytest.mark.slow
@pytest.mark.parametrize("kind", COMMANDS)
def test_a_pipe_is_read_as_its_file(kind: str, plain: str, tmp_path: Path) -> None:
    found = run_in_bash(COMMANDS[kind], tmp_path)
    assert found.returncode == 0, found.stderr
    assert found.stdout == plain
    assert list(tmp_path.iterdir()) == []


REFUSED = {
    "cat new.run | ndcg compare judgments.qrels - /dev/stdin": "/dev/stdin: is given 2 times, and can be read once",
    "cat new.run | ndcg init judgments.qrels old.run -": "/dev/stdin: a configuration names files that stay",
    "echo a b | ndcg compare judgments.qrels old.run -": "/dev/stdin, line 1: 2 fields",
    ": | ndcg compare judgments.qrels old.run -": "/dev/stdin: the file is empty",
    "ndcg compare judgments.qrels old.run - < /dev/zero": "/dev/stdin: is not a file",
    "ndcg compare judgments.qrels old.run /dev/full": "/dev/full: is not a file",
    "ndcg check <(echo one two three) old.run new.run": "/dev/fd/63: its first line (one two three)",
    "echo 'name: x' | ndcg run /dev/stdin": "/dev/stdin: there is no such configuration file",
}


@pytest.mark.first_case
@pytest.mark.parametrize("command", mostly_soaked(REFUSED, kept=[*REFUSED][:7:2]))
def test_what_is_refused_is_so_in_one_sentence(command: str, tmp_path: Path) -> None:
    found = run_in_bash(command, tmp_path)
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr.startswith(f"ndcg-ab: {REFUSED[command]}"), found.stderr
    assert found.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_while_a_pipe_is_read_leaves_nothing(stop: signal.Signals, tmp_path: Path) -> None:
    command = [*PROGRAM, "check", "judgments.qrels", "old.run", "-"]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, cwd=DATA, env=environment) as process:
        assert process.stdin
        process.stdin.write(b"q1 Q0 d1 1 1 t\n")
        process.stdin.flush()
        until = time.monotonic() + 60
        while not list(tmp_path.rglob("stdin")) and time.monotonic() < until:
            time.sleep(0.05)
        process.send_signal(stop)
        assert process.wait(30) == 128 + stop
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_socket_is_read_as_a_pipe(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    command = [*PROGRAM, "check", "judgments.qrels", "old.run", "-"]
    with ours, theirs, subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, cwd=DATA) as process:
        ours.sendall((DATA / "new.run").read_bytes())
        ours.shutdown(socket.SHUT_WR)
        assert process.stdout and b"/dev/stdin: ranking of stdin" in process.stdout.read()


def test_a_pipe_that_gives_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BOUNDS, "file", BOUNDS["file"]._replace(bytes=1000))
    pipe = tmp_path / "p"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b"0" * 2000,))
    writer.start()
    with pytest.raises(InputError, match="/p: gives more than 1,000 bytes, the most that is allowed: split it"):
        replace_pipes("compare", {"judgments": str(pipe), "report": Path("-")})
    writer.join()
