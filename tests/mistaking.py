"""Configurations and paths that are wrong in every way: each command ends in one short message and exit code 0, 1 or 2.

    python -m tests.mistaking --count 20000 [--seed N] [--processes 20]

Every key of the model is given every kind of value, in the file and with `--set`; keys are misspelt, doubled and of no
text; what ought to be a file is any of what a file system, or somebody who types, can offer.  The application is
called in this process; some cases again as processes of their own.  Exit code 70 is an error of ours, and is printed
with what led to it.
"""

import contextlib
import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import typing
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from pydantic import BaseModel
from typer.testing import CliRunner

from ndcg_ab.config.loading.keys import inner_types
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.secrets import redaction
from ndcg_ab.flows.cli.app import app
from tests import fuzzing
from tests.paths import DATA
from tests.repeated import read_options, require_work

LONGEST = 3000  # characters of what is said
SLOWEST = 20.0  # seconds of the processor
CODES = (0, 1, 2)
PROBLEM = "an error of ndcg-ab"
RUNNER = CliRunner()
QRELS, RUN, NEW, QUERIES = (str(DATA / name) for name in ("judgments.qrels", "old.run", "new.run", "queries.tsv"))
GOOD: dict[str, Any] = {
    "name": "t",
    "judgments": {"file": QRELS, "format": "trec"},
    "queries": {"file": QUERIES},
    "systems": [{"name": "old", "file": RUN}, {"name": "new", "file": NEW}],
    "statistics": {"resamples": 100, "alpha": 0.1},
    "output": "out",
}
NESTED: Any = 1
for _ in range(60):
    NESTED = [NESTED]
# As they stand in YAML, where one flow value goes: text of it, not data, so that tags and syntax errors are among them.
VALUES = (
    *("", "null", "~", "true", "false", "on", "no", "0", "-1", "1", "3", "2.5", "1e308", "1e999", ".inf", "-.inf"),
    *(
        ".nan",
        "0x1F",
        "0x" + "f" * 5000,
        "0o7",
        "1_000",
        "1:30",
        "5%",
        "'5%'",
        "'0,05'",
        "95",
        "9" * 20,
        "9" * 400,
        "-" + "9" * 5000,
    ),
    *("''", "' '", "a", "'a b'", "'\\0'", '"\\0"', '"\\u0007"', '"\\ud800"', '"\\U0001F600"', '"a\\nb"', "'=1+1'"),
    *("x" * 300, "x" * 5000, "'" + "é" * 2000 + "'", "[]", "{}", "[null]", "[1, a, {b: 1}]", "[[[]]]", "{a: 1}"),
    *("{1: 1}", "{null: 1}", "{true: ignore}", "{on: off}", "{[1]: 2}", "{{a: b}: c}", "{2.5: x}", "{.nan: .nan}"),
    *("{a: {b: {c: {}}}}", "{? a}", "!!set {a, b}", "!!binary aGk=", "!!omap [a: 1]", "!!pairs [a: 1]", "!!str 3"),
    *("!!int x", "!!float x", "!!python/object:os.system {}", "!x y", "2026-11-20", "2026-13-45", "&a [*a]", "*b"),
    *("${HOME}", "${NOPE}", "${", "${NOPE:-5}", "$${", "{date}", "'{date}'", "'{date:%Q}'", "'{date:%}'", "'{stem}'"),
    *("{env: HOME}", "{env: NOPE}", "{env: [1]}", "{file: /nope}", "{file: null}", "{prefect: x}", "{env: ''}"),
    *("10XB", "20g", "20GB", "0B", "0GB", "1e3GB", "50%", "0%", "101%", "-4GB", "4 gib", "'0 2 * * *'"),
    *("'0 25 * * *'", "'0 0 30 2 *'", "'* * * * * *'", "'@daily'", "'60 * * * *'", "'*/0 * * * *'", "'5-1 * * * *'"),
    *("Europe/Berlin", "Europe/Atlantis", "../../etc/passwd", "/etc/localtime", "localtime", "UTC", "''"),
    *("localhost:5000", "http://", "http://[", "'http://a b'", "sqlite:///x.db", "sqlite:", "ftp://x", "s3://", "://"),
    *("http://127.0.0.1:9/x", "postgresql://", "http://x:y@", "file:///", "local[", "sc://", "local[x"),
    *("ndcg@10", "ndcg@0", "ndcg@-1", "ndcg@" + "9" * 400, "nope@3", "ndcg(gain={1: 1e999})@3", "ndcg(", "()@", "@"),
    *("{measure: ndcg}", "{measure: []}", "{measure: ndcg, cutoff: {}}", "{measure: ndcg, gain: {a: b}}", "rr,ap"),
    *("{ndcg@10: 0.02}", "{ndcg@10: 2}", "{rr: -1}", "{rr: true}", "{rr: {}}", "{rr: .nan}", "{rr: [0, 1]}"),
    *("{rr: [1, 0]}", "{rr: 2%}", "{nope: 1}", "{x: [0, .inf]}", "a:b", "a:b:c", "os:getcwd", "json:nope", "'.:.'"),
    *("{a: , b: }", "[a", "{a", '"a', "a: b: c", "a: [", "\t", "- a", "> x", "| x", "@x", "`x", "%x", "? x", "#"),
)
TEXTS = tuple(value.strip("'\"") for value in VALUES)
KEYS = (
    "on",
    "1",
    "2.5",
    "null",
    "~",
    "[a]",
    "{a: b}",
    "''",
    "'a b'",
    "' '",
    '"\\u0000"',
    "<<",
    "? a",
    ".nan",
    "=",
    "x" * 5000,
)


class Case(NamedTuple):
    """One command: its arguments, and what tells it in a report."""

    args: list[str | bytes]
    about: str


def keys_of(
    model: type[BaseModel] = Evaluation, place: tuple[str, ...] = (), most: int = 4
) -> Iterator[tuple[str, ...]]:
    """Every key of a configuration, and of what stands in it; of a list's entries behind `[]`."""
    for name, field in model.model_fields.items():
        if name == "directory" and not place:
            continue
        yield (*place, name)
        inner = [
            each for each in inner_types(field.annotation) if isinstance(each, type) and issubclass(each, BaseModel)
        ]
        is_list = any(typing.get_origin(each) is list for each in inner_types(field.annotation))
        for each in inner if len(place) < most else ():
            yield from keys_of(each, (*place, name, "[]") if is_list else (*place, name), most)


PLACES = sorted(set(keys_of()))


def write_flow_yaml(content: Any, slot: str) -> str:
    """YAML in flow style in which `slot` stands as it is."""
    return json.dumps(content).replace(json.dumps("\x00slot"), slot)


def with_slot(content: Any, place: Sequence[str], add: str | None = None) -> Any:
    """The content with the slot at a place, which is made where it is not there; add: a key beside it instead."""
    if not place:
        return "\x00slot"
    first, *rest = place
    if first == "[]":
        entries = content if isinstance(content, list) and content else [{}]
        return [with_slot(entries[0], rest), *entries[1:]]
    found = dict(content) if isinstance(content, dict) else {}
    return found | {first: with_slot(found.get(first), rest)}


def configuration(chance: random.Random) -> tuple[str, str]:
    """(the file's text, what is wrong in it); bytes that are no text are surrogates in it."""
    kind = chance.random()
    place = chance.choice(PLACES)
    if kind < 0.6:
        value = chance.choice(VALUES)
        return write_flow_yaml(with_slot(GOOD, place), value), f"{'.'.join(place)}: {value[:60]}"
    if kind < 0.75:
        key = chance.choice((*KEYS, place[-1][:-1] + "x", place[-1].upper()))
        count = chance.choice((1, 1, 1, 99))
        entries = ", ".join(f"{key}{at or ''}: {chance.choice(VALUES) if count == 1 else 1}" for at in range(count))
        return write_flow_yaml(GOOD, "")[:-1] + f", {entries}}}", f"{count} keys such as {key[:60]}"
    if kind < 0.85:
        inner = with_slot(GOOD, place)
        key, value = chance.choice(KEYS), chance.choice(VALUES)
        return write_flow_yaml(inner, f"{{{key}: {value}}}"), f"{'.'.join(place)}: {{{key[:60]}: {value[:60]}}}"
    if kind < 0.9:
        text = write_flow_yaml(GOOD, "")
        first, last = sorted(chance.randrange(len(text)) for _ in range(2))
        middle = chance.choice(("", chance.choice(VALUES), text[first:last] * 2))
        return text[:first] + middle + text[min(last, first + 9) :], f"{middle[:60]} at {first}"
    if kind < 0.98:
        values = [*fuzzing.VALUES, *(value.encode() for value in VALUES)]
        broken = fuzzing.mutated(yaml.safe_dump(GOOD).encode(), chance, values)
        return broken.decode(errors="surrogateescape"), "broken as tests.fuzzing breaks files"
    return chance.choice(VALUES), "no mapping"


def hostile_paths(folder: Path) -> dict[str, bytes]:
    """What a path can lead to; FIFOs are left out: reading one waits for its writer, as it must."""
    folder.mkdir()
    (folder / "good").write_text(Path(RUN).read_text())
    (folder / "empty").touch()
    (folder / "inner").mkdir()
    (folder / "loop").symlink_to(folder / "pool")
    (folder / "pool").symlink_to(folder / "loop")
    (folder / "broken").symlink_to(folder / "gone")
    (folder / "self").symlink_to(".")
    (folder / "wide.csv").write_text(",".join(f"c{at}" for at in range(3003)) + "\n" + ",".join("1" * 3003) + "\n")
    (folder / "wide.jsonl").write_text(json.dumps({f"c{at}": 1 for at in range(3003)}) + "\n")
    (folder / "digits").write_text(f"q1 Q0 a 1 {'9' * 400} t\n")
    (folder / "word").write_text(f"q1 Q0 a 1 {'x' * 5000} t\n")
    (folder / "long.id").write_text(f"{'q' * 100_000} 0 {'d' * 100_000} 1\n" * 2)
    (folder / "forbidden").touch(mode=0)
    with contextlib.suppress(OSError):
        (folder / "n\new\tline\x1b[2J.run").write_text("q1 Q0 a 1 1 t\n")
    raw = os.fsencode(folder)
    names = {each.name: os.fsencode(each) for each in folder.iterdir()}
    with contextlib.suppress(OSError):
        for name in (b"\xff\xfe.run", b"caf\xe9.yaml", b"\xff.csv"):
            Path(os.fsdecode(raw + b"/" + name)).write_text("q1 Q0 a 1 1 t\n")
            names[repr(name)] = raw + b"/" + name
        Path(os.fsdecode(raw + b"/\xff")).mkdir()
        names["a folder that is no UTF-8"] = raw + b"/\xff"
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "socket"))
        names["socket"] = raw + b"/socket"
    others = (
        *(b"", b" ", b".", b"..", b"/", b"~", b"~/x", b"~nobody-such/x", b"-", b"--", b"/dev/null", b"/dev/full"),
        *(b"/proc/self/mem", b"/proc/self/environ", b"/proc/1/mem", b"/proc/self/fd/99", b"/dev/tty", b"/dev/null/x"),
        *(raw + b"/good/x", raw + b"/good/", raw + b"/self/self/good", raw + b"/loop/x", raw + b"/" + b"n" * 300),
        *(raw + b"/" + b"n/" * 3000, b"*", raw + b"/*", raw + b"/[", raw + b"/**/x", b"{date}", b"${HOME}", b"x\ny"),
        *(b"s3://", b"s3://b", b"file:///etc/passwd", b"http://127.0.0.1:9/a.run", b"https://", b"C:\\x", b"a=b", b"="),
        *(raw + b"/good?x=1", raw + b"/good#x", b"\xe2\x80\xae", b"\x1b[2J", b"'", b'"', b"%s", b"{}", b"{0}"),
    )
    return names | {repr(each): each for each in others}


COMMANDS: tuple[tuple[str, ...], ...] = (
    ("check", "{}"),
    ("check", "--system", "a={}"),
    ("check", "--system", "a={}", "--judgments", QRELS),
    ("compare", "--judgments", "{}", "--system", f"a={RUN}", "--system", f"b={NEW}"),
    ("compare", "--judgments", QRELS, "--system", "a={}", "--resamples", "100"),
    ("compare", "--judgments", QRELS, "--system", f"a={RUN}", "--queries", "{}", "--resamples", "100"),
    ("compare", "--judgments", QRELS, "--system", f"a={RUN}", "--documents", "{}", "--resamples", "100"),
    ("compare", "--judgments", QRELS, "--system", f"a={RUN}", "--intended", "{}", "--resamples", "100"),
    ("compare", "--judgments", QRELS, "--system", f"a={RUN}", "--resamples", "100", "--quiet", "--json", "{}"),
    ("compare", "--judgments", QRELS, "--system", f"a={RUN}", "--resamples", "100", "--quiet", "--per-query", "{}"),
    ("compare", "--scores", "{}"),
    ("power", "--scores", "{}"),
    ("history", "{}"),
    ("publish", "{}"),
    ("init", "{}", "--output-file", "-"),
    ("explain", "--judgments", "{}", "--system", f"a={RUN}", "--query", "bread"),
    ("judgments", QRELS, "{}"),
    ("judge-next", "--judgments", QRELS, "--system", f"a={RUN}", "--system", "b={}", "--output-file", "-"),
    ("deploy", "{}"),
)
OPTIONS = (
    *("--metric", "--secondary", "--guardrail", "--smallest-effect", "--require", "--alpha", "--resamples", "--seed"),
    *("--interval", "--slice", "--smallest-slice", "--baseline", "--format", "--columns", "--judgments-columns"),
    *("--finding", "--threads", "--memory-limit", "--spill", "--cluster-prefix", "--combine", "--judgments-format"),
)


def cases(chance: random.Random, folder: Path) -> Iterator[Case]:
    """Cases without end, in a folder of theirs."""
    paths = hostile_paths(folder / "paths")
    config = folder / "c.yaml"
    good = folder / "good.yaml"
    good.write_text(write_flow_yaml(GOOD, ""))
    while True:
        kind = chance.random()
        if kind < 0.55:
            text, about = configuration(chance)
            config.write_text(text, encoding="utf-8", errors="surrogateescape")
            command = "history" if chance.random() < 0.05 else "check"
            yield Case([command, str(config)], f"{command} of {about}")
        elif kind < 0.75:
            place = ".".join(part for part in chance.choice(PLACES) if part != "[]").replace("systems", "systems.new")
            value = chance.choice(TEXTS).replace("\0", "")
            yield Case(["check", str(good), "--set", f"{place}={value}"], f"--set {place}={value[:60]}")
        elif kind < 0.83:
            option, value = chance.choice(OPTIONS), chance.choice(TEXTS).replace("\0", "")
            compare = ["compare", "--judgments", QRELS, "--system", f"a={RUN}", "--resamples", "100", "--quiet"]
            yield Case([*compare, option, value], f"{option} {value[:60]}")
        elif kind < 0.93:
            command, (name, path) = chance.choice(COMMANDS), chance.choice(list(paths.items()))
            if ("--json" in command or "--per-query" in command) and not path.startswith(os.fsencode(folder)):
                continue  # what it writes stays in its own folder
            filled = [each.encode().replace(b"{}", path) for each in command]
            yield Case([*filled], f"{' '.join(command)} with {name}"[:300])
        else:
            name, path = chance.choice(list(paths.items()))
            place = chance.choice([each for each in PLACES if each[-1] in ("file", "output", "spill", "extends")])
            value = json.dumps(os.fsdecode(path))
            config.write_text(write_flow_yaml(with_slot(GOOD, place), value), encoding="utf-8", errors="surrogatepass")
            yield Case(["check", str(config)], f"{'.'.join(place)}: {name}"[:300])


def fault_of(code: int, said: str, seconds: float = 0.0) -> str | None:
    """What is wrong with how a command ended; None where nothing is."""
    if code not in CODES or PROBLEM in said or "Traceback" in said or "Input should" in said:
        return f"exit code {code}: {said[-600:]}"
    if len(said) > LONGEST:
        return f"{len(said):,} characters: {said[:200]} … {said[-200:]}"
    if code == 2 and not said.strip():
        return "nothing is said"
    if re.search(r"\[Errno \d", said) and "/" not in said:
        return f"names no file: {said}"
    return f"took {seconds:.0f} s" if seconds > SLOWEST else None


def run_case_here(case: Case) -> str | None:
    """The case in this process, which forgets what earlier ones named as secrets."""
    redaction._known.clear()
    redaction.clear_secret_caches()
    start = time.process_time()
    done = RUNNER.invoke(app, [os.fsdecode(each) for each in case.args])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        return f"{type(done.exception).__name__} leaves the program: {done.exception}"[:600]
    return fault_of(done.exit_code, done.stderr, time.process_time() - start)


def run_case_in_process(case: Case) -> str | None:
    """The case in a process of its own."""
    command = [sys.executable, "-m", "ndcg_ab.flows.cli.main", *(os.fsdecode(each) for each in case.args)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=120)
    except ValueError:  # a zero byte, which no command line can hold
        return None
    return fault_of(done.returncode, done.stderr.decode(errors="replace"))


@contextlib.contextmanager
def in_new_folder() -> Iterator[Path]:
    """A folder to be in, with what was there before put back."""
    before, environment = Path.cwd(), dict(os.environ)
    folder = Path(tempfile.mkdtemp(prefix="mistaking-"))
    os.chdir(folder)
    os.environ |= {"TMPDIR": str(folder), "PREFECT_API_URL": "http://127.0.0.1:9/api", "PREFECT_HOME": str(folder)}
    try:
        yield folder
    finally:
        os.chdir(before)
        os.environ.clear()
        os.environ |= environment
        shutil.rmtree(folder, ignore_errors=True)


def run(count: int, seed: int, processes: int = 0) -> list[str]:
    """What was found in so many cases; the last of them again as processes."""
    chance = random.Random(seed)
    found = []
    with in_new_folder() as folder:
        for number, case in enumerate(cases(chance, folder)):
            if number == count + processes:
                break
            fault = run_case_here(case) if number < count else run_case_in_process(case)
            if fault is not None:
                found.append(f"seed {seed}, case {number}: {case.about}: {fault}")
                print(found[-1], flush=True)
    return found


def main(words: Sequence[str] | None = None) -> int:
    options = read_options(__doc__, words, count=20_000, processes=20)
    start = time.monotonic()
    found = run(options.count, options.seed, options.processes)
    seconds = time.monotonic() - start
    count = options.count + options.processes
    print(f"seed {options.seed}: {count:,} cases in {seconds:.0f} s, {len(found)} of them wrong")
    require_work("mistaking", cases=count)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
