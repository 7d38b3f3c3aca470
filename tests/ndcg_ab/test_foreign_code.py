"""Code of others: an installed package is used, and whatever code raises is one sentence and exit code 2."""

import asyncio
import builtins
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
import pytest

from ndcg_ab import extensions
from ndcg_ab.api.comparing import evaluate
from ndcg_ab.checks.data_checks import run_extension_checks
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.inputs.connections import in_memory_file, in_memory_function
from ndcg_ab.config.model.inputs.sources import ExtensionSource, FileSource, JudgeSource, PythonSource, ScoresSource
from ndcg_ab.deadlines import Budget
from ndcg_ab.errors import InputError, TrackingError
from ndcg_ab.flows.cli.commands.running import bundles_to_publish
from ndcg_ab.report import bundle_files
from ndcg_ab.sources import RANKING
from ndcg_ab.sources.external_scores import Scores
from ndcg_ab.sources.functions import Extension, Function
from ndcg_ab.sources.judgments.function_grades import Document, JudgeFunctionCaller, Query
from ndcg_ab.sources.queries import read_documents
from ndcg_ab.sources.registry import file_source
from ndcg_ab.sources.tables.in_memory import InMemorySource
from ndcg_ab.trackers import Published, Tracker, make_tracker, refuse_unknown_tracker, tracker_label
from tests.commands import invoke
from tests.paths import ROOT
from tests.sentences import refusal_text
from tests.slow.broken_servers import configuration
from tests.small_evaluation import perform_run, plain_page, small

QUERIES = {"q1": "soup", "q2": "stew"}
CONTEXT: Any = None


class Own(BaseException):
    """An error of somebody else's, which is no Exception."""


class Mute(BaseException):
    """An error that cannot say what it is."""

    def __str__(self) -> str:
        raise SystemExit(0)


ERRORS: dict[str, Callable[[], BaseException]] = {
    "SystemExit: 0": lambda: SystemExit(0),
    "SystemExit: 3": lambda: SystemExit(3),
    "SystemExit": lambda: SystemExit(),
    "CancelledError": asyncio.CancelledError,
    "GeneratorExit": GeneratorExit,
    "MemoryError": MemoryError,
    "RecursionError: too deep": lambda: RecursionError("too deep"),
    "StopIteration": StopIteration,
    "Own: mine": lambda: Own("mine"),
    "BaseExceptionGroup: two (1 sub-exception)": lambda: BaseExceptionGroup("two", [GeneratorExit()]),
    "Mute": Mute,
}


def raising(make: Callable[[], BaseException]) -> Callable[..., NoReturn]:
    """Return a function that raises what is made, whatever its arguments are."""

    def fail(*_: object) -> NoReturn:
        raise make()

    return fail


class Raising(Mapping[str, Any]):
    """A mapping that raises when its entries are read."""

    def __init__(self, fail: Callable[[], NoReturn]) -> None:
        self.fail = fail

    def __getitem__(self, key: str) -> Any:
        self.fail()

    def __iter__(self) -> Iterator[str]:
        self.fail()

    def __len__(self) -> int:
        return 1


class RaisingTable:
    """A table that raises when it is read."""

    def __init__(self, fail: Callable[[], NoReturn]) -> None:
        self.fail = fail

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        self.fail()


class EntryPoint:
    """An entry point of a package that is not installed."""

    name, value, group, dist = "foreign", "foreign:thing", "a group", None

    def __init__(self, thing: Callable[[], Any]) -> None:
        self.load = thing


class Place:
    """Where a kind of foreign code is tried: a folder, and what raises."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, fail: Callable[..., NoReturn]) -> None:
        self.folder, self.fail, self.monkeypatch = folder, fail, monkeypatch
        monkeypatch.setattr(builtins, "fail_here", fail, raising=False)

    def function(self, code: str, **keys: Any) -> Function:
        """A source whose module holds the code."""
        (self.folder / "foreign_module.py").write_text(code)
        sys.modules.pop("foreign_module", None)
        return Function(PythonSource(python="foreign_module:search", **keys), self.folder)

    def adds(self, thing: Any) -> None:
        """An installed package whose only entry point is the thing."""
        self.monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [EntryPoint(lambda: thing)])

    def tracker(self, method: str) -> Any:
        """An evaluation whose tracker raises in one of its methods."""
        fail = self.fail
        made = {
            "log": lambda self, bundle: Published("1", "", "", "", new=True),
            "address": lambda self, evaluation: "here",
        }
        self.adds(type("Lines", (Tracker,), made | {method: lambda *_: fail()}))
        return small(self.folder, tracker="foreign")


def call_function(code: str, **keys: Any) -> Callable[[Place], object]:
    """Return what pulls from a source whose module holds the code."""
    return lambda place: place.function(code, **keys).pull(RANKING, QUERIES)


def with_a_lazy_mapping(place: Place) -> object:
    place.monkeypatch.setattr(builtins, "lazy_mapping", Raising(place.fail), raising=False)
    return place.function("def search(queries): return lazy_mapping").pull(RANKING, QUERIES)


def judge(place: Place, workers: int) -> object:
    function = in_memory_function("here:judge", lambda query, document: place.fail())
    described = JudgeSource(python=function, workers=workers)
    pairs = [(Query("q1", "soup", {}), Document("d1"))]
    return JudgeFunctionCaller(described, place.folder).grades_of(pairs, lambda text: None)


def entry_point(place: Place) -> object:
    place.monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [EntryPoint(place.fail)])
    return extensions.load_named("a group", "foreign", "checks: ")


def extension(place: Place, returned: Callable[[], Any]) -> object:
    place.adds(lambda *_: returned())
    return Extension(ExtensionSource(extension="foreign"), place.folder).pull(RANKING, QUERIES)


def check(place: Place, returned: Callable[[], Any]) -> object:
    place.adds(lambda *_: returned())
    return [*run_extension_checks(CONTEXT, small(place.folder, checks=["foreign"]))]


def pull_from_memory(data: Any) -> object:
    return InMemorySource(in_memory_file("candidate", data), {}).pull(RANKING, {})


def documents(place: Place) -> object:
    source = FileSource(file=in_memory_file("documents", Raising(place.fail)))
    return read_documents(file_source(source, place.folder), pa.chunked_array([["d1"]]))


def scores(place: Place) -> object:
    source = ScoresSource(file=in_memory_file("scores", Raising(place.fail)), system="new")
    return Scores(source, place.folder).pull(RANKING, {})


LAZY_RESULTS = "def results():\n    yield 'd1', 1.0\n    fail_here()\ndef search(queries): return {'q1': results()}"
KINDS: dict[str, Callable[[Place], object]] = {
    "called": call_function("def search(queries): fail_here()"),
    "called per query": call_function("def search(text): fail_here()", per_query=True),
    "imported": call_function("fail_here()"),
    "looked for": call_function("def __getattr__(name): fail_here()"),
    "yielding": call_function("def search(queries):\n    yield 'q1', [('d1', 1.0)]\n    fail_here()"),
    "with lazy results": call_function(LAZY_RESULTS),
    "with a lazy mapping": with_a_lazy_mapping,
    "judge": lambda place: judge(place, workers=1),
    "judge in threads": lambda place: judge(place, workers=2),
    "entry point": entry_point,
    "extension": lambda place: extension(place, place.fail),
    "extension with a lazy mapping": lambda place: extension(place, lambda: Raising(place.fail)),
    "check": lambda place: check(place, place.fail),
    "lazy check": lambda place: check(place, lambda: (place.fail() for _ in "1")),
    "tracker": lambda place: refuse_unknown_tracker(place.tracker("__init__")),
    "address of a tracker": lambda place: bundles_to_publish(configuration(place.tracker("address"), place.folder)),
    "dictionaries": lambda place: pull_from_memory(Raising(place.fail)),
    "table": lambda place: pull_from_memory(RaisingTable(place.fail)),
    "documents": documents,
    "scores": scores,
}


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_it_raises_is_a_sentence(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for words, make in ERRORS.items():
        is_in_a_generator = words == "StopIteration" and kind in ("yielding", "with lazy results", "lazy check")
        said = refusal_text(KINDS[kind], Place(tmp_path, monkeypatch, raising(make)))
        assert ("RuntimeError" if is_in_a_generator else words) in said or kind == "table", said


@pytest.mark.parametrize("kind", KINDS)
def test_a_stop_remains_a_stop(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KeyboardInterrupt):
        KINDS[kind](Place(tmp_path, monkeypatch, raising(KeyboardInterrupt)))


def test_what_prefect_ends_a_task_with_passes() -> None:
    cancelled = type("CancelledError", (asyncio.CancelledError,), {"__module__": "prefect._internal"})
    with pytest.raises(cancelled), extensions.translate_foreign_errors("it failed"):
        raise cancelled


@pytest.mark.parametrize("words", ERRORS)
def test_a_tracker_that_raises_leaves_the_logging_pending(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluation = Place(tmp_path, monkeypatch, raising(ERRORS[words])).tracker("log")
    with pytest.raises(TrackingError) as found:
        make_tracker(evaluation).log_in_time(CONTEXT, Budget(30.0))
    assert str(found.value) == f"foreign failed: {words}"


@pytest.mark.first_case
@pytest.mark.parametrize("words", ["SystemExit: 0", "GeneratorExit", "CancelledError", "Own: mine"])
def test_the_command_ends_with_2(words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fail = raising(ERRORS[words])
    Place(tmp_path, monkeypatch, fail).adds(fail)
    config = configuration(small(tmp_path, checks=["foreign"]), tmp_path)
    found = invoke(["check", str(config), "--quiet"])
    assert (found.exit_code, found.stderr) == (2, f"ndcg-ab: checks: foreign: fails: {words}\n")


@pytest.mark.slow
@pytest.mark.parametrize("does", ["sys.stdout.close()", "sys.stderr.close()", "sys.stdout = sys.stderr = None"])
def test_what_it_does_to_the_streams_ends_with_2(does: str, tmp_path: Path) -> None:
    config = configuration(small(tmp_path, checks=["foreign"]), tmp_path)
    program = (
        "import sys\nfrom importlib import metadata\nfrom ndcg_ab.flows.cli.main import main\n"
        f"def check(*_):\n    {does}\n    raise ValueError('\\x1b[2J')\n"
        "class Entry:\n    name = value = group = 'foreign'\n    dist, load = None, staticmethod(lambda: check)\n"
        "metadata.entry_points = lambda **_: [Entry]\n"
        f"sys.argv = ['ndcg-ab', 'check', {str(config)!r}, '--quiet']\nmain()\n"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (2, "ndcg-ab: checks: foreign: fails: ValueError: \\x1b[2J\n")


@pytest.mark.parametrize("words", ERRORS)
def test_what_slips_through_is_no_success_and_no_failed_gate(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NDCG_AB_DEBUG", "1")
    monkeypatch.setattr("ndcg_ab.config.loading.file.read_config", raising(ERRORS[words]))
    found = invoke(["run", "none.yaml"])
    assert found.exit_code == (2 if words == "MemoryError" else 70)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The package among those that Python finds; nothing is fetched for it."""
    folder = tmp_path_factory.mktemp("site")
    source = tmp_path_factory.mktemp("source") / "package"
    subprocess.run(["cp", "-r", str(ROOT / "tests" / "example_extension"), str(source)], check=True)
    flags = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check"]
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *flags, "--target", str(folder), str(source)],
        check=True,
        capture_output=True,
    )
    sys.path.insert(0, str(folder))
    yield
    sys.path.remove(str(folder))
    sys.modules.pop("example_extension", None)


@pytest.mark.slow
@pytest.mark.usefixtures("installed")
def test_its_tracker_and_its_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle_files, "write_report", plain_page)
    evaluation = small(
        tmp_path, tracker={"lines": {"mark": "x"}}, checks=["long_ids"], findings={"long_ids": "warning"}
    )
    night = perform_run(evaluation)
    assert (tracker_label(evaluation), night.pending) == ("lines", None)
    assert (evaluation.output_directory / "lines.txt").read_text() == f"small/{night.bundle.name}\n"
    found = [row for row in evaluate(evaluation).findings if row.code == "long_ids"]
    assert [(row.severity, row.message[:29]) for row in found] == [("warning", "100 ids are longer than 2 let")]


@pytest.mark.slow
@pytest.mark.usefixtures("installed")
def test_its_source(tmp_path: Path) -> None:
    evaluation = small(tmp_path)
    (evaluation.directory / "new.notes").write_text("q1: d3 d1\nq2: d2\n")
    (evaluation.directory / "judged.notes").write_text("q1: d1\nq2: d2\n")
    written = {
        "judgments": {"extension": "notes", "arguments": {"file": "judged.notes"}},
        "systems": [
            {"name": "old", "extension": "notes", "arguments": {"file": "judged.notes"}},
            {"name": "new", "extension": "notes", "arguments": {"file": "new.notes"}},
        ],
        "metrics": ["rr"],
    }
    means = {row.system_id: row.mean for row in evaluate(small(tmp_path, **written)).systems}
    assert means == {"old": 1.0, "new": 0.75}


NOTES = {"extension": "notes"}


@pytest.mark.slow
@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ({"tracker": "broken"}, "ndcg_ab.trackers: broken: example_extension:nothing of ndcg-ab-example-extension"),
        ({"tracker": {"lines": {"x": 1}}}, "tracker.lines.x: is no option of the tracker (mark)"),
        ({"checks": ["failing"]}, "checks: failing: fails: RuntimeError: no luck"),
        ({"checks": ["short_ids"]}, "checks: 'short_ids': is not installed (failing, long_ids are): install"),
        ({"judgments": {"extension": "note"}}, "extension = 'note': is not installed (mute, notes are): install the"),
        ({"judgments": {"extension": "mute"}}, "extension = 'mute' returned int: must return a table or dictionaries"),
        ({"judgments": NOTES | {"arguments": {"file": "none"}}}, "extension = 'notes' failed: FileNotFoundError"),
        (
            {"judgments": NOTES | {"arguments": {"path": "x"}}},
            "extension = 'notes' failed: TypeError: read_notes()",
        ),
    ],
)
def test_what_is_wrong_is_one_sentence(keys: dict[str, object], sentence: str, tmp_path: Path) -> None:
    evaluation = small(tmp_path, **keys)
    with pytest.raises(InputError) as found:
        refuse_unknown_tracker(evaluation)
        evaluate(evaluation)
    assert str(found.value).startswith(sentence)


def test_nothing_of_others_is_looked_for_that_no_configuration_names(monkeypatch: pytest.MonkeyPatch) -> None:

    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: pytest.fail("packages are searched"))
    refuse_unknown_tracker(Evaluation.model_validate({"name": "t", "scores": "s.csv"}))
