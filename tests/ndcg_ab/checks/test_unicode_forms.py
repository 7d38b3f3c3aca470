"""Ids that differ from those of another file by their Unicode form alone decide nothing in silence."""

import gzip
import re
import subprocess
from pathlib import Path
from unicodedata import normalize

import pytest
from typer.testing import CliRunner

import ndcg_ab
from flows.cli.app import app
from ndcg_ab.errors import InputError

QUERIES = [f"q{number}" for number in range(6)]
WORDS = ("é", "ö/한", "Å", "ﬁ", "12", "が")  # in NFC; the fourth and the fifth differ from NFKC
GRADES = (2, 0, 1, 0, 1, 0)


def documents(form: str, share: int = 1) -> list[str]:
    """Return six document ids; of those whose place is divisible by `share` the form is another one."""
    return [normalize(form if place % share == 0 else "NFC", f"{word}-{place}") for place, word in enumerate(WORDS)]


def write(folder: Path, name: str, query_form: str = "NFC", form: str = "NFC", share: int = 1) -> str:
    """Write judgments, or a ranking, with ids in a form."""
    queries = [normalize(query_form, f"é{each}") for each in QUERIES]
    rows = [(query, place, doc) for query in queries for place, doc in enumerate(documents(form, share))]
    if ".csv" in name:
        text = "query_id,doc_id,score\n" + "".join(f"{query},{doc},{9 - place}\n" for query, place, doc in rows)
    elif ".qrels" in name:
        text = "".join(f"{query} 0 {doc} {GRADES[place]}\n" for query, place, doc in rows)
    else:
        text = "".join(f"{query} Q0 {doc} {place + 1} {9 - place} t\n" for query, place, doc in rows)
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return str(path)


CASES = {  # which file is spelt otherwise, and how
    "a candidate": ("new.run", {"form": "NFD"}),
    "the baseline": ("old.run", {"form": "NFD"}),
    "judgments": ("j.qrels", {"form": "NFD"}),
    "a packed file": ("new.run.gz", {"form": "NFD"}),
    "a table": ("new.csv", {"form": "NFD"}),
    "a third of the documents": ("new.run", {"form": "NFD", "share": 3}),
    "compatible characters": ("new.run", {"form": "NFKC"}),
    "both": ("new.run", {"form": "NFKD"}),
    "queries": ("new.run", {"query_form": "NFD"}),
    "queries of the judgments": ("j.qrels", {"query_form": "NFD"}),
}


def files(case: str, folder: Path) -> list[str]:
    changed, how = CASES[case]
    names = [
        changed if name.split(".")[0] == changed.split(".")[0] else name for name in ("j.qrels", "old.run", "new.run")
    ]
    return [write(folder, name, **how if name == changed else {}) for name in names]  # type: ignore[arg-type]


def run(*arguments: str) -> tuple[int, str]:
    found = CliRunner().invoke(app, list(arguments))
    return found.exit_code, found.stderr


@pytest.mark.parametrize("case", CASES)
def test_another_form_is_refused_and_the_command_mends_it(case: str, tmp_path: Path) -> None:
    given = files(case, tmp_path)
    table = ["--format", "csv"] if given[2].endswith(".csv") else []
    if table:
        given[1] = write(tmp_path, "old.csv")
    for command in ("compare", "check") if not table else ("compare",):
        code, said = run(command, *given, *table)
        assert code == 2 and "in another Unicode form than in" in said and "[unicode_form]" in said, said
    for command in dict.fromkeys(re.findall(r" → ((?:gunzip.*?|python3.*?) > NEW(?:\.csv)?)", said)):
        done = subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True, capture_output=True, env={"LANG": "C"})
        assert done.stderr == b""
        at = next(place for place, file in enumerate(given) if file in command)
        given[at] = str(
            (tmp_path / f"NEW{'.csv' if '.csv' in given[at] else ''}").rename(
                tmp_path / f"m{at}{Path(given[at].removesuffix('.gz')).suffix}"
            )
        )
    code, said = run("compare", *given, *table, "--quiet")
    if case != "compatible characters" and case != "both":
        assert (code, said) == (0, "")
    else:
        assert "in NFKC" in said or code == 0


def test_it_can_be_said_that_they_are_other_ids(tmp_path: Path) -> None:
    given = files("a third of the documents", tmp_path)
    assert run("compare", *given, "--finding", "unicode_form=note", "--quiet") == (0, "")


def test_python_rankings_alone_and_more_judgments(tmp_path: Path) -> None:
    one, other = (normalize(form, "é") for form in ("NFC", "NFD"))
    rankings = {"a": {"q": {one: 1.0}}, "b": {"q": {other: 1.0}}}
    with pytest.raises(InputError, match=r"system b: 1 of its document ids are .* than in judgments"):
        ndcg_ab.compare({"q": {one: 1}}, rankings)
    old, new = write(tmp_path, "old.run"), write(tmp_path, "new.run", form="NFD")
    code, said = run("check", old, new)
    assert code == 2 and "system new: " in said and "than in system old" in said
    judged, more = write(tmp_path, "j.qrels"), write(tmp_path, "more.qrels", form="NFD")
    code, said = run("compare", judged, old, old.replace("old", "new"), "--more-judgments", more)
    assert code == 2 and f"judgments {more}: " in said and f"than in judgments {judged}" in said


def test_files_that_agree_are_not_reported(tmp_path: Path) -> None:
    given = [write(tmp_path, name, "NFD", "NFD") for name in ("j.qrels", "old.run", "new.run")]
    assert run("compare", *given, "--quiet") == (0, "")
    both = {"q": {normalize("NFC", "é"): 2, normalize("NFD", "é"): 1}}
    ranking = {"q": {normalize("NFC", "é"): 2.0}}
    codes = {each.code for each in ndcg_ab.compare(both, {"a": ranking, "b": ranking}).findings}
    assert codes == {"same_ranking"}, "two documents, both judged"
