"""The pytest plugin, in a test suite of its own: baselines are made, held, and refused with a sentence.

The plugin is found by its entry point, as everywhere; an installation from before it needs ``make check`` once.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ndcg_ab import InputError, compare
from ndcg_ab.testing import assert_not_worse
from ndcg_ab.testing.asserting import RankingBaseline
from tests.paths import DATA, ROOT

pytest_plugins = ["pytester"]

JUDGMENTS = DATA / "judgments.qrels"
OLD, NEW = DATA / "old.run", DATA / "new.run"
TEST = """
from pathlib import Path

def test_search(ranking_baseline):
    ranking_baseline("shop").assert_not_worse({judgments!r}, Path("ranking").read_text(), metrics="ndcg@5")
"""
Suite = Callable[..., pytest.RunResult]


@pytest.fixture(scope="module")
def _everything_is_imported() -> None:
    """pytester forgets what a run has imported, and most libraries in C cannot be imported twice."""
    with pytest.raises(AssertionError):
        assert_not_worse(JUDGMENTS, NEW, OLD, metrics="ndcg@5")


@pytest.fixture
def suite(_everything_is_imported: None, pytester: pytest.Pytester) -> Suite:
    """Runs a test against the ranking of a file."""
    pytester.makepyfile(test_search=TEST.format(judgments=str(JUDGMENTS)))

    def run(ranking: Path, *options: str) -> pytest.RunResult:
        (pytester.path / "ranking").write_text(str(ranking))
        return pytester.runpytest_inprocess("-p", "no:cacheprovider", *options)

    return run


@pytest.mark.slow
def test_a_baseline_is_asked_for_made_held_and_replaced(suite: Suite, pytester: pytest.Pytester) -> None:
    path = pytester.path / "tests" / "baselines" / "shop.top5.tsv"
    missing = suite(NEW)
    assert missing.ret == 1
    missing.stdout.fnmatch_lines(
        [
            "E*there is no baseline tests/baselines/shop.top5.tsv: make it from this ranking with:"
            " python -m pytest --update-rankings test_search.py::test_search"
        ]
    )
    made = suite(NEW, "--update-rankings")
    made.assert_outcomes(passed=1)
    made.stdout.fnmatch_lines(["ndcg-ab: baseline written: tests/baselines/shop.top5.tsv"])
    assert path.read_text().startswith("query_id\tdoc_id\trank\nbread\tbread-song\t1\n")
    assert sorted(each.name for each in path.parent.iterdir()) == [path.name, f"{path.name}.sha256"]

    same = suite(NEW)
    same.assert_outcomes(passed=1)
    assert "ndcg-ab:" not in same.stdout.str(), "nothing is printed where nothing is written"

    worse = suite(OLD)
    assert worse.ret == 1
    worse.stdout.fnmatch_lines(
        [
            ">*ranking_baseline(*",
            "E*no regression: candidate against shop, ndcg@5: regressed (-0.1615)",
            "E*judge more results*candidate*",
            "E*the 10 queries that lost most, ndcg@5",
        ]
    )
    assert "asserting.py" not in worse.stdout.str(), "the trace ends at the test"

    before = path.read_text()
    suite(OLD, "--update-rankings").assert_outcomes(passed=1)
    first = OLD.read_text().split()
    assert f"\n{first[0]}\t{first[2]}\t1\n" in path.read_text() != before


@pytest.mark.slow
def test_a_worker_writes_a_baseline_whole(suite: Suite, pytester: pytest.Pytester) -> None:
    second = TEST.format(judgments=str(JUDGMENTS)).replace("test_search", "test_again")
    pytester.makepyfile(test_again=second)
    made = suite(NEW, "--update-rankings", "-n", "1")
    made.assert_outcomes(passed=2)
    made.stdout.fnmatch_lines(["ndcg-ab: baseline written: tests/baselines/shop.top5.tsv"])
    suite(NEW).assert_outcomes(passed=2)


@pytest.mark.slow
def test_what_passes_undecided_stands_in_the_summary(suite: Suite, pytester: pytest.Pytester) -> None:
    """Without the fixture, and in a worker of pytest-xdist, too; the test that is identical says nothing."""
    swapped = {f"q{n}": {"good": 1.0, "bad": 2.0} if n % 2 else {"good": 2.0, "bad": 1.0} for n in range(20)}
    text = f"""
    from ndcg_ab.testing import assert_not_worse

    SWAPPED = {swapped}
    REVERSED = {{query: {{doc: -score for doc, score in found.items()}} for query, found in SWAPPED.items()}}
    JUDGMENTS = {{query: {{"good": 1, "bad": 0}} for query in SWAPPED}}

    def test_reversed():
        assert_not_worse(JUDGMENTS, SWAPPED, REVERSED, metrics="ndcg@2")

    def test_same():
        assert_not_worse(JUDGMENTS, SWAPPED, SWAPPED, metrics="ndcg@2")
    """
    path = pytester.makepyfile(test_reversed=text)
    found = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-n", "1", path)
    found.assert_outcomes(passed=2)
    (line,) = [line for line in found.outlines if line.startswith("ndcg-ab: ")]
    assert line.startswith(
        "ndcg-ab: passed, and undecided: test_reversed.py::test_reversed: ndcg@2 undecided (+0.0000): "
    )
    assert line.endswith(" or more")


def test_a_start_of_pytest_loads_nothing_heavy() -> None:
    code = "import sys, ndcg_ab.testing.plugin; print({'numpy', 'duckdb', 'pyarrow', 'pydantic'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert found.stdout == "set()\n"


def test_the_fixture_names_the_baseline_after_its_test(ranking_baseline: Any, tmp_path: Path) -> None:
    assert ranking_baseline(directory=tmp_path).path_at_depth(10) == tmp_path / (
        "test_the_fixture_names_the_baseline_after_its_test.top10.tsv"
    )


@pytest.mark.parametrize("name", [None, "../shop", "", "a b", "candidate", ".shop"])
def test_names_that_no_file_should_have_are_refused(ranking_baseline: Any, name: str | None) -> None:
    said = "has parameters: name the baseline" if name is None else "ranking_baseline: name = "
    with pytest.raises(InputError, match=said):
        ranking_baseline(name)


# ---- the file


def baseline(folder: Path, *, update: bool = False) -> RankingBaseline:
    return RankingBaseline("shop", folder, folder, "test.py::test", is_updated=update)


def kept(folder: Path, ranking: Any, metrics: Sequence[str], **options: Any) -> str:
    """The text of the baseline that is made from a ranking."""
    judgments = {"q1": {"a": 1, "b": 0, "c": 2}}
    baseline(folder, update=True).assert_not_worse(judgments, ranking, metrics=metrics, **options)
    (path,) = folder.glob("*.tsv")
    return path.read_text().removeprefix("query_id\tdoc_id\trank\n").replace("\t", " ").replace("\n", "; ")


TIED = {"q2": {"d": 1.0}, "q1": {"a": 2.0, "c": 2.0, "b": 3.0}}
# metrics, options -> what is kept
FILES: dict[str, tuple[list[str], str]] = {
    "as deep as the metric looks, unjudged queries too": (["ndcg@2"], "q1 b 1; q1 c 2; q2 d 1; "),
    "as deep as the deepest": (["ndcg@2", "recall@3"], "q1 b 1; q1 c 2; q1 a 3; q2 d 1; "),
    "whole": (["ndcg@1", "rr"], "q1 b 1; q1 c 2; q1 a 3; q2 d 1; "),
    "equal scores in the order of the metric": (["ndcg(ties=doc_id_asc)@2"], "q1 b 1; q1 a 2; q2 d 1; "),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_a_baseline_holds(name: str, tmp_path: Path) -> None:
    metrics, text = FILES[name]
    assert kept(tmp_path, TIED, metrics) == text


def test_a_baseline_that_is_the_same_is_not_written_again(tmp_path: Path) -> None:
    for ranking, written in ((TIED, ["shop.top2.tsv"]), (dict(reversed(TIED.items())), [])):
        again = baseline(tmp_path, update=True)
        again.assert_not_worse({"q1": {"a": 1}}, ranking, metrics="ndcg@2")
        assert again.written == written


def test_a_document_twice_is_kept_once_where_the_metric_lets_it_be(tmp_path: Path) -> None:
    path = tmp_path / "twice.run"
    path.write_text("q1 Q0 a 1 3 x\nq1 Q0 a 2 2 x\nq1 Q0 b 3 1 x\n")
    (tmp_path / "kept").mkdir()
    assert kept(tmp_path / "kept", path, ["ndcg(duplicates=first)@2"]) == "q1 a 1; q1 b 2; "


@pytest.mark.parametrize("metrics", [["ndcg(ties=average)@2"], ["ndcg@2", "recall(ties=doc_id_asc)@2"]])
def test_an_order_of_equal_scores_that_cannot_be_kept_is_refused(metrics: list[str], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a baseline keeps one order and no scores"):
        kept(tmp_path, TIED, metrics)


@pytest.mark.slow
@pytest.mark.parametrize("metrics", [["rr", "recall@3"], ["ndcg(ideal=local,ties=doc_id_asc)@3"]])
def test_the_kept_ranking_has_the_values_of_the_ranking(metrics: list[str], tmp_path: Path) -> None:
    """With many equal scores, too, every query has the value that it had."""
    rough: dict[str, dict[str, float]] = {}
    for line in OLD.read_text().splitlines():
        query_id, _, doc_id, _, score, _ = line.split()
        rough.setdefault(query_id, {})[doc_id] = round(float(score))
    baseline(tmp_path, update=True).assert_not_worse(JUDGMENTS, rough, metrics=metrics)
    (path,) = tmp_path.glob("*.tsv")
    same = compare(JUDGMENTS, {"kept": path, "rough": rough}, metrics=metrics)
    assert {row.conclusion for row in same.comparisons} == {"identical"}


def test_columns_are_those_of_the_candidate_alone(tmp_path: Path) -> None:
    path = tmp_path / "ranking.csv"
    path.write_text("qid,doc,score\nq1,a,2\nq1,c,1\n")
    columns = {"query_id": "qid", "doc_id": "doc"}
    (tmp_path / "kept").mkdir()
    kept(tmp_path / "kept", path, ["ndcg@2"], columns=columns)
    baseline(tmp_path / "kept").assert_not_worse({"q1": {"a": 1}}, path, metrics=["ndcg@2"], columns=columns)


def cut(text: str) -> str:
    return "".join(text.splitlines(keepends=True)[:31])


# damage -> what it makes of the text, what is said
DAMAGE: dict[str, tuple[Callable[[str], str], str]] = {
    "cut after 30 rows": (
        cut,
        r"was changed since it was written \(has 30 rows, its digest is that of: '# 95 rows'\): write it",
    ),
    "another query": (lambda text: text.replace("bread", "broad"), "was changed .*has 95 rows"),
    "a conflict of a merge": (lambda text: text + "<<<<<<< HEAD\n", "was changed .*has 96 rows"),
    "empty": (lambda text: "", "the file is empty"),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a baseline of 95 rows."""
    folder = tmp_path_factory.mktemp("whole")
    baseline(folder, update=True).assert_not_worse(JUDGMENTS, NEW, metrics="ndcg@5")
    assert (folder / "shop.top5.tsv.sha256").read_text().startswith("# 95 rows\n")
    baseline(folder).assert_not_worse(JUDGMENTS, NEW, metrics="ndcg@5")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_baseline_that_is_not_as_it_was_written_is_refused(damage: str, whole: Path, tmp_path: Path) -> None:
    change, said = DAMAGE[damage]
    shutil.copytree(whole, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "shop.top5.tsv"
    path.write_text(change(path.read_text()))
    assert path.read_text() != (whole / path.name).read_text()
    with pytest.raises(InputError, match=said) as error:
        baseline(tmp_path).assert_not_worse(JUDGMENTS, NEW, metrics="ndcg@5")
    assert str(error.value).startswith(str(path)) and "\n" not in str(error.value)


def test_ends_of_lines_of_another_system_are_no_damage(whole: Path, tmp_path: Path) -> None:
    for file in whole.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    baseline(tmp_path).assert_not_worse(JUDGMENTS, NEW, metrics="ndcg@5")


@pytest.mark.slow
@pytest.mark.parametrize("digest", [None, "# 96 rows\n0000  shop.top5.tsv\n"])
def test_a_baseline_without_its_digest_is_refused_until_it_is_written_again(
    digest: str | None, whole: Path, tmp_path: Path
) -> None:
    shutil.copytree(whole, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "shop.top5.tsv.sha256"
    path.unlink() if digest is None else path.write_text(digest)
    said = "nothing proves that it is whole" if digest is None else "was changed since it was written"
    with pytest.raises(InputError, match=f"{said}.*: write it again with: python -m pytest --update-rankings test.py"):
        baseline(tmp_path).assert_not_worse(JUDGMENTS, NEW, metrics="ndcg@5")
    baseline(tmp_path, update=True).assert_not_worse(JUDGMENTS, NEW, metrics="ndcg@5")
    baseline(tmp_path).assert_not_worse(JUDGMENTS, NEW, metrics="ndcg@5")


@pytest.mark.slow
def test_a_query_that_the_candidate_answers_and_the_baseline_lacks_is_an_error(tmp_path: Path) -> None:
    assert kept(tmp_path, TIED, ["ndcg@2"])
    more = {**TIED, "q3": {"a": 1.0}, "q4": {"a": 1.0}}
    with pytest.raises(InputError, match=r"lacks query 'q3', which the candidate answers \(2 such\): write it again"):
        baseline(tmp_path).assert_not_worse({"q1": {"a": 1}}, more, metrics="ndcg@2")


def test_a_candidate_with_a_control_character_makes_no_baseline(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="ids must not hold control characters"):
        baseline(tmp_path, update=True).assert_not_worse({"q1": {"a\x1b": 1}}, {"q1": {"a\x1b": 1.0}}, metrics="ndcg@2")
    assert list(tmp_path.iterdir()) == []
