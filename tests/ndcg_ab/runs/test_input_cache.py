"""Nights in which some inputs are those of an earlier one: what is read, what it is worth, what goes wrong with it."""

import json
import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.history import bundle as bundles
from ndcg_ab.history import input_cache as known_inputs
from ndcg_ab.history.working_folder import time_in_name, working_folder
from ndcg_ab.pipeline import pulls as pull_stages
from ndcg_ab.pipeline.context import Context
from ndcg_ab.pipeline.stages import run_stages
from ndcg_ab.runs import folder as folder_store
from ndcg_ab.runs.folder import RunFolder
from ndcg_ab.sources import Pulled
from ndcg_ab.sources.judgments import gathering as judgments
from tests.inputs import write_table
from tests.small_evaluation import changed_run, rows_of, small, unlogged

pytestmark = pytest.mark.usefixtures("plain_pages")

FIRST = datetime(2026, 11, 21, 2, tzinfo=UTC)
FILES = ("judgments.qrels", "old.run", "new.run")


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are read, as they are."""
    found: list[str] = []
    pull = pull_stages.pull_source

    def noting(source: Any, *arguments: Any, **options: Any) -> Pulled:
        found.append(source.display_name)
        return pull(source, *arguments, **options)

    monkeypatch.setattr(pull_stages, "pull_source", noting)
    monkeypatch.setattr(judgments, "pull_source", noting)
    return found


def night(evaluation: Evaluation, number: int = 0, said: list[str] | None = None, **options: Any) -> Context:
    say = (said if said is not None else []).append
    return unlogged(evaluation, say=say, at=FIRST + timedelta(days=number), **options)


def pulls(evaluation: Evaluation, number: int = 0, *, force: bool = False) -> list[dict[str, Any]]:
    """What a night reads, without the rest of it."""
    with working_folder(evaluation, FIRST + timedelta(days=number)) as folder:
        store = RunFolder(evaluation, folder)
        run_stages(Context(evaluation, store, force=force), pull_stages.PULLS)
        store.cache_inputs(evaluation)
    return store.describe_inputs()


def found_in(performed: Context) -> tuple[Any, ...]:
    """What a night came to, to the bit, but for when that was."""
    bundle = bundles.read_bundle(performed.bundle)
    rows = [{**row, "read": None} for row in bundle.inputs]
    scores = (performed.bundle / bundles.SCORES).read_bytes()
    return bundle.outcome.to_json(), rows, bundle.content_key, scores


def entries(evaluation: Evaluation) -> list[Path]:
    return sorted(known_inputs.cache_folder(evaluation).glob("*"))


def shorter(folder: Path) -> None:
    """A ranking without its last result, which can be reduced as it could be before."""
    path = folder / "inputs" / "new.run"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))


def other_date(folder: Path) -> None:
    for name in FILES:
        path = folder / "inputs" / name
        path.write_bytes(path.read_bytes())
        os.utime(path, (1, 1))


def other_judgments(folder: Path) -> None:
    path = folder / "inputs" / "judgments.qrels"
    path.write_text(path.read_text().replace("bread-guide 1", "bread-guide 2"))


def same_date(folder: Path) -> None:
    """Another ranking of the same size and date."""
    path = folder / "inputs" / "new.run"
    before, text = path.stat(), path.read_text()
    first, second = (line.split()[4] for line in text.splitlines()[:2])
    assert len(first) == len(second) and first != second
    path.write_text(text.replace(first, second, 1))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES: dict[str, tuple[Callable[[Path], Any], set[str]]] = {
    "one of the systems": (lambda folder: changed_run(folder, 3), {"new.run"}),
    "judgments": (other_judgments, {"judgments.qrels"}),
    "a date alone": (other_date, set()),
    "content, but neither date nor size": (same_date, {"new.run"}),
}


@pytest.mark.parametrize("what", CHANGES)
def test_only_what_changed_is_read(what: str, read: list[str], tmp_path: Path) -> None:
    change, expected = CHANGES[what]
    first = pulls(small(tmp_path))
    assert set(read) == set(FILES)
    read.clear()
    change(tmp_path)
    second = pulls(small(tmp_path), 1)
    assert set(read) == expected
    rows = zip(FILES, first, second, strict=True)
    for file, before, after in rows:
        assert after["read"] == (None if file in expected else FIRST.isoformat())
        assert (after["digest"] == before["digest"]) == (file not in expected)


@pytest.mark.slow
def test_the_result_is_the_same_to_the_bit_and_what_is_not_read_is_said(read: list[str], tmp_path: Path) -> None:
    said: list[str] = []
    first = night(small(tmp_path), said=said)
    assert not [line for line in said if "unchanged" in line]
    read.clear()
    other_date(tmp_path)
    same = night(small(tmp_path), 1)
    assert same.reused and same.bundle == first.bundle and not read
    shorter(tmp_path)
    second = found_in(night(small(tmp_path), 2, said))
    assert read == ["new.run"]
    assert [line for line in said if "unchanged" in line] == [
        "pull judgments judgments.qrels: unchanged since 2026-11-21, 100 judgments not read again",
        "pull old: unchanged since 2026-11-21, 100 results not read again",
    ]
    rows = rows_of(small(tmp_path), "select name, read from input where ordinal = 2")
    assert dict(rows) == {"judgments.qrels": FIRST.isoformat(), "old": FIRST.isoformat(), "new": None}
    read.clear()
    other_judgments(tmp_path)
    third = found_in(night(small(tmp_path), 3))
    assert read == ["judgments.qrels"] and third != second
    read.clear()
    assert found_in(night(small(tmp_path), 4, force=True)) == third
    assert set(read) == set(FILES), "anew"


def test_force_reads_every_file_again(read: list[str], tmp_path: Path) -> None:
    """Judgments, more of them, proxy ones, rankings: nothing that an earlier run knows is believed."""
    (small(tmp_path).directory / "more.qrels").write_text("bread 0 bread-story 2\n")
    careful = (tmp_path / "inputs" / "judgments.qrels").read_text()
    (tmp_path / "inputs" / "cheap.qrels").write_text(f"{careful}x 0 a 1\ny 0 a 1\n")
    evaluation = small(tmp_path, more_judgments=["more.qrels"], cheap_judgments="cheap.qrels")
    every = [*FILES, "more.qrels", "cheap.qrels"]
    for number, expected in ((0, every), (1, [])):
        read.clear()
        pulls(evaluation, number)
        assert sorted(read) == sorted(expected)
    read.clear()
    pulls(evaluation, 2, force=True)
    assert sorted(read) == sorted(every)


def reduced_in(evaluation: Evaluation, number: int, anew: bool = False) -> dict[str, bool]:
    """Which rankings a night reduces; what it knows of them is remembered."""
    with working_folder(evaluation, FIRST + timedelta(days=number)) as folder:
        store = RunFolder(evaluation, folder)
        run_stages(Context(evaluation, store), pull_stages.PULLS)
        rankings = store.rankings(None, force=anew)
        store.cache_inputs(evaluation)
    return {name: pulled.reduced is not None for name, pulled in rankings.items()}


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The rankings that are reduced anew."""
    found: list[str] = []
    reduce = folder_store.reduce_pulled

    def noting(pulled: Pulled, *arguments: Any) -> Any:
        found.append(Path(pulled.origin).name)
        return reduce(pulled, *arguments)

    monkeypatch.setattr(folder_store, "reduce_pulled", noting)
    return found


def test_only_what_changed_is_reduced_anew(looked_at: list[str], tmp_path: Path) -> None:
    assert reduced_in(small(tmp_path), 0) == {"old": True, "new": True}
    nights: list[tuple[Callable[[], Any], dict[str, Any], list[str]]] = [
        (lambda: None, {}, []),
        (lambda: shorter(tmp_path), {}, ["new.run"]),
        (lambda: other_judgments(tmp_path), {}, ["old.run", "new.run"]),
        (lambda: None, {"metrics": ["ndcg@3"]}, ["old.run", "new.run"]),
    ]
    for number, (change, options, expected) in enumerate(nights, start=1):
        looked_at.clear()
        change()
        assert reduced_in(small(tmp_path, **options), number) == {"old": True, "new": True}
        assert looked_at == expected
    looked_at.clear()
    reduced_in(small(tmp_path), 5, anew=True)
    assert looked_at == ["old.run", "new.run"]


def test_the_same_rows_in_another_order_are_looked_at_again(looked_at: list[str], tmp_path: Path) -> None:
    """Their digest is the same, and what is to be said of them is not."""
    lines = [f"q{query},d{index},{9 - index}\n" for query in range(3) for index in range(4)]
    systems = [{"name": "old", "file": "old.run"}, {"name": "new", "file": "new.csv"}]
    small(tmp_path)
    found = []
    for number, rows in enumerate((lines, lines[::-1])):
        (tmp_path / "inputs" / "new.csv").write_text("query_id,doc_id,score\n" + "".join(rows))
        found.append(reduced_in(small(tmp_path, systems=systems), number)["new"])
    assert found == [True, False] and looked_at == ["old.run", "new.csv", "new.csv"]


def test_how_a_file_is_read_is_a_part_of_what_is_known(read: list[str], tmp_path: Path) -> None:
    text = "query_id,doc_id,score,other\n" + "".join(f"q{index},d,1,2\n" for index in range(3))
    small(tmp_path)
    (tmp_path / "inputs" / "new.csv").write_text(text)
    found = set()
    for number, columns in enumerate(({}, {"score": "other"}, {"score": "score"})):
        systems = [{"name": "old", "file": "old.run"}, {"name": "new", "file": "new.csv", "columns": columns}]
        found.add(pulls(small(tmp_path, systems=systems), number)[-1]["digest"])
    assert len(found) == 2 and read.count("new.csv") == 3


def test_other_numbers_of_words_and_other_texts_of_queries_read_the_judgments_again(tmp_path: Path) -> None:
    small(tmp_path)
    lines = [line.split() for line in (tmp_path / "inputs" / "judgments.qrels").read_text().splitlines()]
    words = [
        {"query_id": f"about {q}", "doc_id": doc, "grade": "no" if grade == "0" else "yes"}
        for q, _, doc, grade in lines
    ]
    write_table(tmp_path / "inputs" / "j.csv", words)
    digests = set()
    for number, (grade, prefix) in enumerate([(1, ""), (3, ""), (3, "x")]):
        queries = [{"query_id": f"{prefix}{query}", "text": f"about {query}"} for query in {line[0] for line in lines}]
        write_table(tmp_path / "inputs" / "queries.csv", queries)
        judgments = {"file": "j.csv", "grades": {"yes": grade, "no": 0}}
        found = pulls(small(tmp_path, judgments=judgments, queries="queries.csv"), number)
        digests.add(next(row["digest"] for row in found if row["kind"] == "judgments"))
    assert len(digests) == 3


def test_what_was_noticed_is_told_of_the_file_that_it_is_in(read: list[str], tmp_path: Path) -> None:
    path = tmp_path / "inputs" / "new.run"
    small(tmp_path)
    tag = path.read_text().split()[5]
    path.write_text(path.read_text().replace(f" {tag}\n", " other\n", 1))
    pulls(small(tmp_path))
    for file in ("new.run", "old.run"):
        shutil.copyfile(tmp_path / "inputs" / file, tmp_path / "inputs" / f"moved-{file}")
    systems = [{"name": "old", "file": "moved-old.run"}, {"name": "new", "file": "moved-new.run"}]
    pulls(small(tmp_path, systems=systems), 1)
    assert read == [*FILES, "moved-new.run"], "its remarks name its lines, those of the other none"


def truncate(entry: Path) -> None:
    table = entry / known_inputs.TABLE
    content = table.read_bytes()
    table.unlink()
    table.write_bytes(content[:-9])


def swap(entry: Path) -> None:
    told = json.loads((entry / known_inputs.ENTRY).read_text())
    told["known"]["digest"] = "0" * 32
    (entry / known_inputs.ENTRY).write_text(json.dumps(told))


# how -> what is done to an entry, what is said
DAMAGE: dict[str, tuple[Callable[[Path], Any], str]] = {
    "a table cut short": (truncate, "(its table was changed): it is removed, and made again"),
    "a table that is gone": (lambda entry: (entry / known_inputs.TABLE).unlink(), "(No such file or directory)"),
    "another digest": (swap, "(it was changed)"),
    "no JSON": (lambda entry: (entry / known_inputs.ENTRY).write_text("{"), "(it holds something else)"),
    "JSON of another kind": (lambda entry: (entry / known_inputs.ENTRY).write_text("[]"), "(it holds something else)"),
    "nothing in it": (lambda entry: [path.unlink() for path in entry.iterdir()], "(No such file or directory)"),
}


@pytest.mark.parametrize("how", DAMAGE)
def test_what_is_damaged_is_read_anew_which_is_said(
    how: str, read: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluation = small(tmp_path)
    first = pulls(evaluation)
    read.clear()
    damage, told = DAMAGE[how]
    for entry in entries(evaluation):
        damage(entry)
    assert pulls(evaluation, 1) == first and set(read) == set(FILES)
    said = capsys.readouterr().err.splitlines()
    store = known_inputs.cache_folder(evaluation)
    assert all(line.startswith(f"ndcg-ab: {store}/") and f"is damaged {told}" in line for line in said)
    assert len(said) == len(FILES)
    read.clear()
    again = pulls(evaluation, 2)
    assert not read and [row["digest"] for row in again] == [row["digest"] for row in first], "whole again"
    assert not capsys.readouterr().err
    assert len(entries(evaluation)) == 3


def test_a_store_that_cannot_be_written_stops_nothing(
    read: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluation = small(tmp_path)
    store = known_inputs.cache_folder(evaluation)
    store.parent.mkdir(parents=True)
    store.write_text("a file")
    assert pulls(evaluation) == pulls(evaluation, 1) and read.count("old.run") == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2 and said[0].startswith(f"ndcg-ab: {store}: cannot be written (")
    assert said[0].endswith("what was read is read again in the next run")


def test_two_runs_at_once_leave_one_entry_of_each(read: list[str], tmp_path: Path) -> None:
    evaluation = small(tmp_path)
    with working_folder(evaluation, FIRST) as folder:
        store = RunFolder(evaluation, folder)
        pull_stages.pull_judgments.run(Context(evaluation, store), "judgments.qrels")
        (slow,) = store.describe_inputs()
        assert pulls(evaluation, 1)[0] == slow
        store.cache_inputs(evaluation)
    (known,) = (each for each in map(known_inputs.read_entry, entries(evaluation)) if each["digest"] == slow["digest"])
    assert known["read"] == (FIRST + timedelta(days=1)).isoformat(), "of the one that was ready first"
    told = [json.loads((entry / known_inputs.ENTRY).read_text())["known"] for entry in entries(evaluation)]
    kept = {"digest", "rows", "read", "places", "is_remarked", "tables"}
    assert {key for each in told for key in each} == kept, "an address could have a password"
    assert len(entries(evaluation)) == 3


def test_a_file_that_changes_while_it_is_read_is_not_remembered(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    evaluation, pull = small(tmp_path), pull_stages.pull_source

    def meddling(source: Any, *arguments: Any, **options: Any) -> Pulled:
        found = pull(source, *arguments, **options)
        if source.display_name == "new.run":
            changed_run(tmp_path, 5)
        return found

    monkeypatch.setattr(pull_stages, "pull_source", meddling)
    pulls(evaluation)
    assert len(entries(evaluation)) == 2


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    evaluation = small(tmp_path)
    for turn in range(3):
        changed_run(tmp_path, turn)
        pulls(evaluation, turn)
    assert len(entries(evaluation)) == 5
    for index, entry in enumerate(entries(evaluation), start=1):
        os.utime(entry / known_inputs.ENTRY, (index, index))
    sizes = [sum(path.stat().st_size for path in entry.iterdir()) for entry in entries(evaluation)]
    used = {known_inputs.read_entry(entry)["tables"]["table"] for entry in entries(evaluation)}
    pulls(small(tmp_path, retention={"inputs": f"{sum(sizes) - 1}B"}), 3)
    left = entries(evaluation)
    used -= {known_inputs.read_entry(entry)["tables"]["table"] for entry in left}
    assert len(left) == 4 and len(used) == 1
    pulls(small(tmp_path, retention={"inputs": "1B"}), 4)
    assert entries(evaluation) == []


def test_the_moment_of_a_working_folder() -> None:
    names = (".20261121T020000Z.partial", ".20261121T020000Z-2.partial")
    assert {time_in_name(Path(name).name) for name in names} == {FIRST}


# ---- a reduced ranking is taken again only if all that it was made with is the same

# how judges are combined, which judgment counts, a metric
CHANGED: list[dict[str, Any]] = [{"combine": "median"}, {"judgments_precedence": "first"}, {"metrics": ["ndcg@5"]}]


def test_another_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_store, "digest_of_file", lambda path: f"digest of {path.name}")
    usual, found = small(tmp_path, more_judgments=[{"file": "judgments.qrels"}]), list[Any]()
    for number, changes in enumerate([{}, {}, *CHANGED]):
        (folder := tmp_path / str(number)).mkdir()
        found.append(RunFolder(usual.model_copy(update=changes), folder).reduction_key_parts())
    assert found[0] == found[1] and not any(each == found[0] for each in found[2:])


def test_other_rules_for_documents_make_another_ranking(tmp_path: Path, read: list[str]) -> None:
    pulls(small(tmp_path))
    read.clear()
    systems = [{"name": "old", "file": "old.run"}, {"name": "new", "file": "new.run", "duplicates": "first"}]
    pulls(small(tmp_path, systems=systems), 1)
    assert read == ["new.run"]
