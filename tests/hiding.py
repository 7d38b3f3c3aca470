"""Texts of others that repeat a secret, at every place of a text, in every way in which an error is made.

``python -m tests.hiding --count 20000`` tries as many keys and paddings in every way, and prints what showed a part of
a key.
"""

import contextlib
import json
import random
import string
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from typer.testing import CliRunner

from flows.cli.app import app
from ndcg_ab import extensions
from ndcg_ab.config.loading.file import read_config
from ndcg_ab.config.secrets import redaction
from ndcg_ab.config.secrets.lookup import fill_variables
from ndcg_ab.engines.duckdb import engine as duckdb
from ndcg_ab.errors import InputError, error_text, format_value, on_one_line, shorten
from ndcg_ab.flows.cli import exit_codes
from ndcg_ab.report.terminal import grid
from ndcg_ab.sources import RANKING
from ndcg_ab.sources import database_query as drivers
from ndcg_ab.sources.files import stores
from ndcg_ab.sources.http import exchange
from tests.paths import DATA
from tests.readings import read_table
from tests.repeated import read_options, require_work

PART = 6  # letters of a key that show it
Way = Callable[[str], str]


def raised(act: Callable[[], Any]) -> str:
    """What an act says when it fails; nothing where it does not."""
    try:
        act()
    except (InputError, exchange.QueryError) as error:
        return str(error)
    return ""


def printed_error(error: BaseException) -> str:
    with contextlib.redirect_stderr(StringIO()) as said:
        exit_codes.report_error(error)
    return said.getvalue()


def titled(text: str) -> str:
    """What is kept of a title that a search engine sends."""
    found = SimpleNamespace(paths={"title": SimpleNamespace(search=lambda hit: hit)})
    found.find_field = lambda field, content: content
    return exchange.AnswerReader.read_words(found, "title", text) or ""  # type: ignore[arg-type]


def of_a_store(text: str) -> str:
    def fail() -> None:
        store = SimpleNamespace(shown="s3://bucket")
        with stores.ObjectStore.translate_errors(store):  # type: ignore[arg-type]
            raise OSError(text)

    return raised(fail)


def of_a_function(text: str) -> str:
    def fail() -> None:
        with extensions.translate_foreign_errors("module:function failed"):
            raise KeyError(text)

    return raised(fail)


def first_sentence(text: str) -> str:
    from ndcg_ab.trackers.mlflow.client import first_sentence

    return first_sentence(RuntimeError(text))


def of_a_ranking(text: str, ending: str, row: str) -> str:
    """What is said of a file with an id that is a text, twice."""
    if ending == ".run":
        text = text.replace("\t", "-").replace(" ", "-")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"r{ending}"
        head = "query_id,doc_id,score\n" if ending == ".csv" else ""
        path.write_text(head + row.format(text) * 2, encoding="utf-8")
        return raised(lambda: read_table(path, RANKING, None, {}))


def in_a_configuration(text: str, key: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "c.yaml"
        content = f"name: a\njudgments: j.qrels\nsystems: [{{name: a, file: a.run}}]\n{key}: {json.dumps(text)}\n"
        path.write_text(content, encoding="utf-8")
        return raised(lambda: read_config(path))


QUICK: dict[str, Way] = {
    "a text": format_value,
    "bytes": lambda text: format_value(text.encode()),
    "bytes that are no text": lambda text: format_value(b"\xff" + text.encode()),
    "a list": lambda text: format_value([text, 1]),
    "a mapping": lambda text: format_value({"key": text, text: 1}),
    "a text with signs that are not printed": lambda text: format_value(f"\x07{text}"),
    "an error": lambda text: str(InputError(text)),
    "an error with a value": lambda text: str(InputError(f"x: {format_value(text)}: {error_text(ValueError(text))}")),
    "in ten letters": lambda text: shorten(text, 10),
    "in 70 letters": lambda text: shorten(text, 70),
    "in short": lambda text: error_text(ValueError(text)),
    "in short, of a KeyError": lambda text: error_text(KeyError(text)),
    "on one line": lambda text: on_one_line(text, 300),
    "of another error": lambda text: exit_codes.one_line_message(RuntimeError(text)),
    "the end, of an error": lambda text: printed_error(InputError(text)),
    "the end, of a path": lambda text: printed_error(FileNotFoundError(2, "there is none", text)),
    "an excerpt": exchange.excerpt,
    "an excerpt of JSON": lambda text: exchange.excerpt({"error": [text]}),
    "keys of an answer": lambda text: exchange.keys_text({text: 1, f"a{text}": 2}),
    "a title": titled,
    "an answer in HTML": lambda text: raised(lambda: exchange.parse_answer(f"<p>{text}</p>".encode())),
    "a driver": lambda text: drivers.driver_error_text(OSError(text), {}, "x"),
    "a function": of_a_function,
    "a store": of_a_store,
    "DuckDB": lambda text: duckdb.first_line(ValueError(text)),
    "MLflow": first_sentence,
    "a column of a table": lambda text: redaction.remove_known_secrets(grid.shorten_middle(text, 20)),
    "a variable": lambda text: raised(lambda: fill_variables(f"${{{text}", "x")),
}
WITH_FILES: dict[str, Way] = {
    "TREC": lambda text: of_a_ranking(text, ".run", "q Q0 {} 1 1 t\n"),
    "TREC, a score": lambda text: of_a_ranking(text, ".run", "q Q0 d 1 {} t\n"),
    "TREC, a field": lambda text: of_a_ranking(text, ".run", "{}\n"),
    "CSV": lambda text: of_a_ranking(text.replace('"', '""'), ".csv", 'q,"{}",1\n'),
    "CSV, a field": lambda text: of_a_ranking(text.replace('"', '""'), ".csv", 'q,d,"{}"\n'),
    "JSON": lambda text: of_a_ranking(json.dumps(text), ".jsonl", '{{"query_id": "q", "doc_id": {}, "score": 1}}\n'),
    "JSON, a line": lambda text: of_a_ranking(text, ".jsonl", "{}\n"),
    "a configuration": lambda text: in_a_configuration(text, "output_format"),
    "a configuration, a value": lambda text: in_a_configuration(text, "statistics"),
    "a configuration, a metric": lambda text: in_a_configuration(text, "metrics"),
    "a configuration, a name": lambda text: in_a_configuration(text, "baseline"),
}


WITHOUT_SPACES = ("TREC", "TREC, a score", "TREC, a field", "a command")


def by_command(text: str) -> str:
    """Everything that a whole command says of ids that repeat a text."""
    text = text.replace("\t", "-").replace(" ", "-")
    with tempfile.TemporaryDirectory() as folder:
        for name in ("judgments.qrels", "old.run", "new.run"):
            lines = (DATA / name).read_text(encoding="utf-8").splitlines()
            rows = [line.split() for line in lines]
            rows = [[row[0], row[1], f"{row[2]}{text}", *row[3:]] for row in rows]
            (Path(folder) / name).write_text("\n".join(map(" ".join, rows)) + "\n", encoding="utf-8")
        files = [f"{folder}/judgments.qrels", f"old={folder}/old.run", f"new={folder}/new.run"]
        arguments = ["compare", "--judgments", files[0], "--system", files[1], "--system", files[2], "--details"]
        found = CliRunner().invoke(app, [*arguments, "--resamples", "100"])
        return found.output + found.stderr


def keys(rng: random.Random) -> Iterator[str]:
    """Keys of services, passwords, phrases, some of several lines."""
    while True:
        kind = rng.randrange(5)
        size = rng.choice((12, 16, 21, 40, 64, 400, 3000))
        if kind == 0:
            yield "".join(rng.choices(string.ascii_letters + string.digits, k=size))
        elif kind == 1:
            yield "".join(rng.choices(string.ascii_letters + string.digits + "-_+/=", k=size))
        elif kind == 2:
            yield "".join(rng.choices(string.ascii_letters + "'\"\\<>&%$ éß日", k=size)).strip() + "end-of-key"
        elif kind == 3:
            yield "  ".join("".join(rng.choices(string.ascii_lowercase, k=9)) for _ in range(size // 8 + 2))
        else:
            lines = (
                "".join(rng.choices(string.ascii_letters, k=rng.choice((16, 40, 64)))) for _ in range(size // 20 + 2)
            )
            yield "\n".join(lines)


def texts(rng: random.Random, key: str) -> str:
    """A text in which a key stands, whole, somewhere."""
    pad = rng.choice(("-", " ", "x ", "é ", "\t")) * 400
    before, after = pad[: rng.randrange(401)], pad[: rng.choice((0, 0, 3, 400, 30_000))]
    often = rng.choice((1, 1, 1, 2, 30))
    return f"{before} {' '.join([key] * often)} {after}".strip(" ") if rng.random() < 0.5 else f"{before}-{key}{after}"


def parts_in(said: str, key: str) -> str | None:
    """A part of a key that stands in what was said."""
    letters = "".join(key.split())
    bare = "".join(said.split())
    for at in range(len(letters) - PART + 1):
        if letters[at : at + PART] in bare and letters[at : at + PART].strip("é ß日") == letters[at : at + PART]:
            return letters[at : at + PART]
    return None


@contextlib.contextmanager
def fresh_process(key: str) -> Iterator[None]:
    """A process that knows one secret."""
    before = set(redaction._known)
    redaction._known.clear()
    redaction.clear_secret_caches()
    redaction.remember_secret(key)
    try:
        yield
    finally:
        redaction._known.clear()
        redaction._known.update(before)
        redaction.clear_secret_caches()


def shown_parts(seed: int, count: int, ways: dict[str, Way]) -> Iterator[str]:
    """The cases in which a part of a key was shown."""
    rng = random.Random(seed)
    made = keys(rng)
    for at in range(count):
        key = next(made)
        with fresh_process(key):
            for _ in range(3):
                text = texts(rng, key)
                for name, way in ways.items():
                    if name in WITHOUT_SPACES and len(key.split()) > 1:  # it is not the key any more
                        continue
                    if part := parts_in(said := way(text), key):
                        yield f"seed {seed}, case {at}, {name}: {part!r} of {key[:30]!r} in {said[:400]!r}"


def main(words: Sequence[str] | None = None) -> int:
    given = read_options(__doc__, words, count=1000, seed=1)
    began, found = time.monotonic(), 0
    for ways, count in (
        (QUICK, given.count),
        (WITH_FILES, max(1, given.count // 5)),
        ({"a command": by_command}, max(1, given.count // 200)),
    ):
        for each in shown_parts(given.seed, count, ways):
            found += 1
            print(each, flush=True)
        require_work("hiding", keys=count, ways=len(ways))
        print(f"{count} keys at 3 places in {len(ways)} ways, {time.monotonic() - began:.0f} s", flush=True)
    print(f"{found} showed a part of a key")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
