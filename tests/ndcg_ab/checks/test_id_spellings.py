"""Ids that match only in another spelling are reported, with a command that helps; systems with no judged result."""

import gzip
import html
import re
import subprocess
import time
import unicodedata
import urllib.parse
from collections.abc import Callable
from pathlib import Path
from unicodedata import normalize

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ndcg_ab
from ndcg_ab.checks.id_spellings import (
    SPELLINGS,
    affix_spelling,
    cut_at,
    find_difference,
    find_matching_spellings,
    query_spelling_hint,
    respell,
    respell_all,
)
from ndcg_ab.checks.ranking_checks import check_copies
from ndcg_ab.config.model.inputs.sources import FileSource
from ndcg_ab.errors import InputError
from ndcg_ab.results.outcome import Finding
from ndcg_ab.sources import RANKING, Pulled, make_source
from tests.commands import invoke
from tests.examples import examples
from tests.repeated import mostly_soaked
from tests.sentences import refusal_text

QUERIES = [f"http://x/q_00{number}é&Ab" for number in range(10)]
DOCS = [f"http://x.example/é&{number:03}_ﬁAb" for number in range(10)]
Change = Callable[[str], str]
# How an id is spelt otherwise -> what the finding says.
CASES: dict[str, tuple[Change, str]] = {
    "NFD": (lambda text: normalize("NFD", text), "their Unicode form is NFC (such as"),
    "NFKC": (lambda text: normalize("NFKC", text), "their Unicode form is NFKC (such as"),
    "percent escapes": (lambda text: urllib.parse.quote(text, safe=":/_"), "percent escapes are decoded"),
    "HTML escapes": (html.escape, "HTML escapes are decoded"),
    "quotes": ('"{}"'.format, "spaces and quotes around them are removed"),
    "case": (str.swapcase, "letters are compared without case"),
    "scheme": (lambda text: text.replace("http:", "https:"), "http:// and https:// are removed"),
    "separators": (lambda text: text.replace("_", "-"), "'-' and spaces are replaced by '_'"),
    "zeros": (lambda text: re.sub("(?<=[&_])0+(?=[0-9])", "", text), "leading zeros are removed"),
    "prefix": ("doc:{}".format, "the prefix 'doc:' is removed"),
    "suffix": ("{}.html".format, "the suffix '.html' is removed"),
    "passages": (lambda text: f"{text}#{text[-7:-4]}", "all from '#' on is removed"),
    "two at once": (lambda text: f"doc:{text.replace('_', '-')}", "the prefix 'doc:' is removed"),
}
FORMS = ("NFD", "NFKC")
# Every file and share of changed ids with the first spelling, then one of the four with every second; all in soak.
DOCUMENTS = [(case, changed, step) for case in CASES for changed in ("new.run", "j.qrels") for step in (1, 5)]
SOME_DOCUMENTS = [one for at, one in enumerate(DOCUMENTS) if at < 4 or (at % 4 == at // 4 % 4 and at // 4 % 2)]
QUERY_IDS = [(case, step) for case in CASES if case not in ("NFKC", "passages") for step in (1, 5)]
SOME_QUERY_IDS = [("NFD", 1), ("NFD", 5), ("quotes", 5), ("prefix", 1), ("two at once", 5)]


def write_files(folder: Path, changed: str, change: Change, field: str = "doc_id", step: int = 1) -> list[Path]:
    """Write judgments and two rankings; in the file `changed` every `step`-th id has another spelling."""
    paths = [folder / name for name in ("j.qrels", "old.run", "new.run")]
    for path in paths:
        lines = []
        for at, query in enumerate(QUERIES):
            for index, doc in enumerate(DOCS):
                is_changed = path.name == changed and (at if field == "query_id" else index) % step == 0
                one = change(query) if is_changed and field == "query_id" else query
                two = change(doc) if is_changed and field == "doc_id" else doc
                if path.suffix == ".run":
                    lines.append(f"{one} Q0 {two} {index + 1} {10 - index} t\n")
                elif (index + at) % 3:
                    lines.append(f"{one} 0 {two} {index % 3}\n")
        path.write_text("".join(lines))
    return paths


def findings(paths: list[Path], code: str = "id_spelling") -> list[Finding]:
    """Compare files, and return the findings of a code although they may be errors."""
    usual = {"id_spelling": "warning", "no_shared_query": "warning"}
    files = {path.name.split(".")[0]: path for path in paths[1:]}
    found = ndcg_ab.compare(paths[0], files, findings=usual, threads=1, resamples=100)
    return [finding for finding in found.findings if finding.code == code]


def is_refused(paths: list[Path]) -> bool:
    """Return whether the finding is an error."""
    try:
        ndcg_ab.compare(paths[0], {path.stem: path for path in paths[1:]}, threads=1, resamples=100)
    except InputError as error:
        return "[id_spelling]" in str(error)
    return False


def run_commands(found: list[Finding], paths: list[Path], folder: Path) -> list[Path]:
    """Run the commands of findings, and return the files, of which those that the commands read are replaced."""
    mended = list(paths)
    commands = dict.fromkeys(command for each in found for command in each.message.split(" → ")[1:])
    assert commands
    for at, command in enumerate(commands):
        done = subprocess.run(["bash", "-c", command], cwd=folder, check=True, capture_output=True, env={"LANG": "C"})
        assert done.stderr == b""
        place = next(index for index, path in enumerate(paths) if str(path) in command)
        new = folder / command.rpartition("> ")[2]
        mended[place] = new.rename(folder / f"mended{at}" / paths[place].name.removesuffix(".gz"))
    return mended


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in range(3):
        (tmp_path / f"mended{number}").mkdir()
    return tmp_path


@pytest.mark.parametrize("step", [1, 5])
@pytest.mark.parametrize("case", CASES)
def test_ids_that_match_in_another_spelling(case: str, step: int) -> None:
    change, words = CASES[case]
    judged = {"q": frozenset(DOCS)}
    own = {"q": frozenset(change(doc) if index % step == 0 else doc for index, doc in enumerate(DOCS))}
    for one, other in ((own, judged), (judged, own)):
        found = find_difference(one, other)
        assert found and words.split(" (")[0] in found[0] and "(2)" not in found[0]
        assert (len(found[2]), found[3]) == (10 // step, step == 1 or case in FORMS)


@pytest.mark.slow
@pytest.mark.parametrize("spelt", mostly_soaked(DOCUMENTS, kept=SOME_DOCUMENTS), ids=str)
def test_the_command_makes_documents_match(spelt: tuple[str, str, int], folder: Path) -> None:
    case, changed, step = spelt
    change, words = CASES[case]
    paths = write_files(folder, changed, change, step=step)
    assert is_refused(paths) == (step == 1 or case in FORMS)
    found = findings(paths)
    assert [finding.system for finding in found] == (["new"] if changed == "new.run" else ["old", "new"])
    finding = found[-1]
    judged = sum((index + at) % 3 > 0 for at in range(10) for index in range(0, 10, step))
    assert (finding.count, len(finding.examples)) == (judged, 5)
    assert f"system new: {judged} of its " in finding.message and words in finding.message
    if case in FORMS:
        assert re.search(r"such as '[ -~]+' in query '[^']+', there '[ -~]+'\)", finding.message)
    if case == "passages" and changed == "new.run":
        assert " → --document-prefix '#' (" in finding.message  # test_document_rules.py gives the option
        return
    assert findings(run_commands(found, paths, folder)) == []


@pytest.mark.slow
@pytest.mark.parametrize("spelt", mostly_soaked(QUERY_IDS, kept=SOME_QUERY_IDS), ids=str)
def test_the_command_makes_queries_match(spelt: tuple[str, int], folder: Path) -> None:
    case, step = spelt
    change, words = CASES[case]
    paths = write_files(folder, "new.run", change, "query_id", step)
    (finding,) = findings(paths)
    assert is_refused(paths) == (step == 1 or case == "NFD")
    assert f"system new: {10 // step} of its {10 // step} unmatched query ids" in finding.message
    assert words in finding.message
    mended = run_commands([finding], paths, folder)
    assert findings(mended) == findings(mended, "no_shared_query") == []


def test_judgments_are_respelled_alone_if_that_makes_the_ids_match(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An id of the ranking that the spelling would change, too, stays as it is."""
    judgments, ranking = tmp_path / "j.qrels", tmp_path / "new.run"
    judgments.write_text("q 0 007 1\nq 0 008 0\n")
    ranking.write_text("q Q0 8 1 3 t\nq Q0 7 2 2 t\nq Q0 01 3 1 t\n")
    (finding,) = findings([judgments, ranking])
    assert finding.message.count(" → ") == 1 and finding.message.endswith(f"{judgments} > NEW")
    monkeypatch.chdir(tmp_path)
    other = judgments.rename("NEW").absolute()
    (finding,) = findings([other, ranking])
    assert finding.message.endswith(f"{other} > NEW-2"), "the file that is there stays as it is"


@pytest.mark.parametrize(
    ("own", "judged"),
    [
        ({"12", "13"}, {"2", "3"}),  # a number has no prefix
        ({"120", "130"}, {"12", "13"}),
        ({"10012", "10013"}, {"10021", "10031"}),
        ({"1.05", "2.05"}, {"1.5", "2.5"}),
        ({"pear", "bear"}, {"ear"}),
        ({"doc:1", "2", "3", "4"}, {"1"}),  # one of four
        ({"A-1"}, {"a-1", "a_1"}),  # which one?
        ({"sku-a", "SKU-A"}, {"sku-a", "x"}),  # it is there
        ({"a#1", "b#1"}, {"a", "b", "c#2", "d#1"}),  # chapters and their sections
    ],
)
def test_different_ids(own: set[str], judged: set[str]) -> None:
    assert find_matching_spellings({"q": frozenset(own)}, {"q": frozenset(judged)}) == ([], {})


def test_a_single_pair_among_many_ids_is_chance() -> None:
    own = {"q": frozenset({"A", *(f"x{number}" for number in range(20))})}
    assert find_difference(own, {"q": frozenset({"a", *(f"y{number}" for number in range(20))})}) is None
    found = find_difference({"q": frozenset({"A"})}, {"q": frozenset({"a"})})
    assert found and found[3]
    assert (
        query_spelling_hint(["Q1"], ["q1"])
        == "; they match if letters are compared without case (such as 'Q1', there 'q1')"
    )


IDS = st.text("aA0.1é&;%26-_ \"'#{}\\\u0301ﬁ:/https", max_size=12)


@given(IDS, IDS.filter(bool))
@settings(max_examples=examples(200))
def test_an_expression_is_its_function(text: str, affix: str) -> None:
    names = {"html": html, "re": re, "unicodedata": unicodedata, "urllib": urllib, "t": text}
    more = [make(is_prefix, affix) for make in (affix_spelling, cut_at) for is_prefix in (True, False)]
    for spelling in (*SPELLINGS, *more):
        assert eval(spelling.expression.format("t"), names) == spelling.respell(text)


@given(st.sets(st.text("aA0.é&;%26-_ \"'#\n\u0301ﬁ", max_size=12), max_size=5))
@settings(max_examples=examples(200))
def test_ids_are_respelled_together_as_each_alone(ids: set[str]) -> None:
    assert respell_all(ids, SPELLINGS) == {text: respell(text, SPELLINGS) for text in ids}


@pytest.mark.slow
def test_no_command_that_would_not_help(folder: Path) -> None:
    paths = write_files(folder, "new.run", lambda text: text)
    lines = paths[2].read_text().splitlines()
    passages = [[*p[:2], f"{p[2]}#{at}", *p[3:]] for p in map(str.split, lines) for at in (0, 1)]
    paths[2].write_text("".join(f"{' '.join(p)}\n" for p in passages))
    (finding,) = findings(paths)
    assert "all from '#' on is removed" in finding.message
    assert finding.message.endswith("→ --document-prefix '#' (in a configuration documents: {prefix: '#'})")
    csv = folder / "csv.csv"
    rows = [f"{p[0]},doc:{p[2]},{p[4]}\n" for p in map(str.split, lines)]
    csv.write_text(f"query_id,doc_id,score\n{''.join(rows)}")
    (finding,) = findings([*paths[:2], csv])
    assert finding.message.endswith("; write them alike in all files")
    judged, ranking = {"q": {"a": 1, "b": 0}}, {"q": {"A": 2.0, "B": 1.0}}
    with pytest.raises(InputError, match=r"such as 'A' in query 'q', there 'a'\); write them alike in all files \["):
        ndcg_ab.compare(judged, {"old": {"q": {"a": 1.0}}, "new": ranking}, threads=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["new.run.gz", "new.csv"])
def test_other_files(name: str, folder: Path) -> None:
    paths = write_files(folder, "new.run", lambda text: normalize("NFD", text))
    text = paths[2].read_text()
    paths[2] = folder / name
    if name.endswith(".gz"):
        paths[2].write_bytes(gzip.compress(text.encode()))
    else:
        rows = [line.split() for line in text.splitlines()]
        paths[2].write_text("query_id,doc_id,score\n" + "".join(f"{p[0]},{p[2]},{p[4]}\n" for p in rows))
    found = findings(paths)
    assert findings(run_commands(found, paths, folder)) == []


def test_rankings_alone_and_more_judgments(folder: Path) -> None:
    change = CASES["NFD"][0]
    paths = write_files(folder, "new.run", change)
    found = invoke(["check", str(paths[1]), str(paths[2])])
    assert found.exit_code == 2
    assert "system new: 100 of its 100 unmatched document ids in 10 queries match those of system old" in found.stderr
    more = folder / "more.qrels"
    more.write_text(change(paths[0].read_text()))
    with pytest.raises(
        InputError, match=r"judgments .*more.qrels: \d+ of its .* match those of judgments .*j.qrels if"
    ):
        ndcg_ab.compare(paths[0], {"old": paths[1]}, more_judgments=[more], threads=1)


def test_a_long_id_costs_no_more_than_its_length() -> None:
    long = "x/" * 500_000
    begun = time.process_time()
    assert find_matching_spellings({"q": frozenset({long})}, {"q": frozenset({"a", "bb"})}) == ([], {})
    assert time.process_time() - begun < 2


# ---- systems of whose results none is judged are refused, a few unjudged results are a warning; copies of rankings


NUMBERED = [f"{number:03}" for number in range(1, 13)]
NAMED = [f"00{number}Ab" for number in range(1, 9)]
JUDGMENTS = {query: {doc: index % 3 for index, doc in enumerate(NAMED)} for query in NUMBERED}
RANKED = {query: {doc: -float(index) for index, doc in enumerate(NAMED)} for query in NUMBERED}


def test_ids_of_another_collection() -> None:
    other = {query: {f"x{sum(map(ord, doc))}y": score for doc, score in RANKED[query].items()} for query in NUMBERED}
    assert refusal_text(ndcg_ab.compare, JUDGMENTS, {"old": RANKED, "new": other}, threads=1) == (
        "systems['new']: system new: none of its 96 results in 12 judged queries is judged (in query '001' the first"
        " document id is 'x308y', the first judged one '001Ab'): its document ids must be those of the judgments"
        " [no_judged_result]"
    )


def test_a_few_unjudged_results_are_a_warning() -> None:
    few = {"001": {"x": 1.0, "y": 0.5}}
    found = ndcg_ab.compare(JUDGMENTS, {"old": RANKED, "new": few}, threads=1).findings
    (finding,) = [finding for finding in found if finding.code == "no_judged_result"]
    assert (finding.severity, finding.count, finding.system) == ("warning", 2, "new")
    assert finding.message.endswith("its document ids may not be those of the judgments")


def test_few_judged_is_no_other_spelling() -> None:
    """One document of each query is judged, among ten times as many that are not."""
    sparse = {query: {NAMED[0]: 1.0} for query in NUMBERED}
    deep = {query: ranking | {f"z{index}": -9.0 - index for index in range(90)} for query, ranking in RANKED.items()}
    codes = {finding.code for finding in ndcg_ab.compare(sparse, {"old": deep}, threads=1).findings}
    assert codes == {"few_judged"}


Row = tuple[str, str, float | None, int | None]
ROWS: list[Row] = [("q1", "d1", 3.0, 1), ("q1", "d2", 2.0, 2), ("q2", "d1", 1.5, 1), ("q2", "d3", 1.0, 2)]


def ranking(rows: list[Row]) -> Pulled:
    schema = pa.schema([RANKING.schema.field(name) for name in ("query_id", "doc_id", "score", "rank")])
    table = pa.table([list(column) for column in zip(*rows, strict=True)], schema=schema)
    return Pulled(table, RANKING, make_source(FileSource(file="one.run"), Path()))


COPIES: dict[str, tuple[list[list[Row]], int]] = {
    "other scores": ([ROWS, [(*row[:2], 9.0 - number, row[3]) for number, row in enumerate(ROWS)]], 0),
    "in another order": ([ROWS, ROWS[::-1]], 1),
    "without the query that is looked at": ([[("q0", *row[1:]) for row in ROWS], ROWS, ROWS[::-1]], 1),
    "other rows of another query": ([ROWS, [*ROWS[:2], ("q2", "d1", 1.5, 1), ("q2", "d4", 1.0, 2)]], 0),
    "scores of one are missing": ([[(*row[:2], None, row[3]) for row in ROWS], ROWS], 1),
    "three of one": ([ROWS, ROWS, ROWS], 3),
    "fewer rows": ([ROWS, ROWS[:3]], 0),
}


@pytest.mark.parametrize("name", COPIES)
def test_copies(name: str) -> None:
    tables, count = COPIES[name]
    rankings = {f"s{number}": ranking(rows) for number, rows in enumerate(tables)}
    assert len([*check_copies(rankings)]) == count
