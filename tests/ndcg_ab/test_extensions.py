"""The example package of tests/example_extension, really installed: its tracker, check and source are used."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ndcg_ab.api.comparing import evaluate
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.errors import InputError
from ndcg_ab.report import bundle_files
from ndcg_ab.trackers import refuse_unknown_tracker, tracker_label
from tests.paths import ROOT
from tests.small_evaluation import perform_run, plain_page, small


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
