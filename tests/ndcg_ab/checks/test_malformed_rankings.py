"""Rankings with one fault each: none is silent. Clean ones have no findings."""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pytest

import ndcg_ab
from ndcg_ab.errors import InputError
from ndcg_ab.results.outcome import Finding
from tests.commands import invoke

QUERIES = [f"q{number}" for number in range(1, 11)]
DOCS = [f"doc{number}" for number in range(10, 22)]
JUDGMENTS = "".join(f"{query} 0 {doc} {index % 3}\n" for query in QUERIES for index, doc in enumerate(DOCS))

Row = tuple[str, str, int | str, float | str, str]  # query, document, rank, score, tag


def rows(shift: int = 0, depth: int = 12) -> list[Row]:
    """A clean ranking; shift: which document stands first."""
    found: list[Row] = []
    for query in QUERIES:
        docs = [*DOCS[shift:], *DOCS[:shift]][:depth]
        found += [(query, doc, index, 20.0 - index, "new") for index, doc in enumerate(docs, 1)]
    return found


def text(lines: Iterable[Row]) -> str:
    return "".join(f"{query} Q0 {doc} {rank} {score} {tag}\n" for query, doc, rank, score, tag in lines)


def changed(change: Callable[[Row], Row | None], shift: int = 1) -> str:
    return text(row for each in rows(shift) if (row := change(each)) is not None)


def numbered(row: Row) -> int:
    return int(row[2])


# what is wrong -> the file, the code
FAULTS: dict[str, tuple[str, str]] = {
    "ranks from 0": (changed(lambda r: (*r[:2], numbered(r) - 1, *r[3:])), "rank_below_one"),
    "one rank for all": (changed(lambda r: (*r[:2], 1, *r[3:])), "repeated_rank"),
    "a rank left out": (changed(lambda r: None if r[2] == 5 else r), "rank_gap"),
    "ranks the wrong way round": (changed(lambda r: (*r[:2], 13 - numbered(r), *r[3:])), "rank_disagrees"),
    "distances for scores": (changed(lambda r: (*r[:3], -float(r[3]), r[4])), "rank_disagrees"),
    "one score for all": (changed(lambda r: (*r[:3], 1.0, r[4])), "constant_score"),
    "one score for a query": (changed(lambda r: (*r[:3], 1.0, r[4]) if r[0] == "q3" else r), "constant_score"),
    "scores of few digits": (changed(lambda r: (*r[:3], round(float(r[3]) / 10), r[4])), "tied_places"),
    "half of the queries": (changed(lambda r: r if r[0] < "q5" else None), "few_queries"),
    "a query left out": (changed(lambda r: r if r[0] != "q5" else None), "unanswered_query"),
    "few results": (changed(lambda r: r if numbered(r) <= 3 else None), "different_depths"),
    "few results for every third query": (
        changed(lambda r: r if numbered(r) <= 2 or int(r[0].lstrip("q")) % 3 else None),
        "different_depths",
    ),
    "a document twice": (text([*rows(1), ("q2", DOCS[3], 13, 0.5, "new")]), "duplicate_document"),
    "two rankings in one file": (text([*rows(1), *rows(2)]), "duplicate_document"),
    "the same as another": (text(reversed(rows(0))), "same_ranking"),
    "a prefix": (changed(lambda r: (r[0], f"shop:{r[1]}", *r[2:])), "id_spelling"),
    "zeros for some": (changed(lambda r: (r[0], f"doc0{r[1][3:]}", *r[2:]) if r[1] < "doc12" else r), "id_spelling"),
    "another collection": (
        changed(lambda r: (r[0], f"x{sum(map(ord, r[1]))}y{numbered(r)}", *r[2:])),
        "no_judged_result",
    ),
    "capitals for a query": (changed(lambda r: (r[0].upper() if r[0] == "q4" else r[0], *r[1:])), "id_spelling"),
    "other queries": (changed(lambda r: (f"x{r[0]}y", *r[1:])), "no_shared_query"),
    "queries nobody judged": (text([*rows(1), ("q99", "doc10", 1, 1.0, "new")]), "unjudged_query"),
    "unjudged results": (
        changed(lambda r: (r[0], f"other{r[1][::-1]}x", *r[2:]) if numbered(r) % 3 == 0 else r),
        "judged_differs",
    ),
}


ERRORS = ("a document twice", "two rankings in one file", "a prefix", "another collection", "other queries")
ALONE = (*ERRORS, "the same as another", "unjudged results")  # beside other faults they would not be seen


def compared(folder: Path, rankings: Mapping[str, str]) -> tuple[Finding, ...]:
    """The findings about rankings, each beside the clean one, `old`."""
    (folder / "qrels").write_text(JUDGMENTS)
    (folder / "old.run").write_text(text(rows(0)))
    for name, ranking in rankings.items():
        (folder / f"{name}.run").write_text(ranking)
    systems = {name: folder / f"{name}.run" for name in ("old", *rankings)}
    return ndcg_ab.compare(folder / "qrels", systems, resamples=100, threads=1).findings


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Finding]]:
    """What is wrong -> code -> finding, of all that can stand in one evaluation."""
    folder = tmp_path_factory.mktemp("faults")
    told: dict[str, dict[str, Finding]] = {case: {} for case in FAULTS}
    for finding in compared(folder, {case: FAULTS[case][0] for case in FAULTS if case not in ALONE}):
        told.setdefault(finding.system or "", {})[finding.code] = finding
    return told


@pytest.mark.parametrize("case", [case for case in FAULTS if case not in ALONE])
def test_no_fault_is_silent(case: str, found: dict[str, dict[str, Finding]]) -> None:
    assert FAULTS[case][1] in found[case]
    assert not found.get("old", {})


@pytest.mark.slow
@pytest.mark.parametrize("case", ALONE[len(ERRORS) :])
def test_no_fault_beside_another_system_is_silent(case: str, tmp_path: Path) -> None:
    ranking, code = FAULTS[case]
    assert code in {finding.code for finding in compared(tmp_path, {"new": ranking})}


@pytest.mark.first_case
@pytest.mark.parametrize("case", ERRORS)
def test_grave_faults_are_refused(case: str, tmp_path: Path) -> None:
    ranking, code = FAULTS[case]
    said = "a ranking holds a document once" if code == "duplicate_document" else f"[{code}]"
    with pytest.raises(InputError, match=re.escape(said)):
        compared(tmp_path, {"new": ranking})


def test_a_clean_ranking_has_no_findings(tmp_path: Path) -> None:
    assert compared(tmp_path, {"new": text(rows(1))}) == ()


@pytest.mark.parametrize(
    ("case", "example"),
    [
        ("a rank left out", "a rank left out.run, line 1: query 'q1'"),
        ("zeros for some", "zeros for some.run, line 1: query 'q1', document 'doc011'"),
        ("queries nobody judged", "queries nobody judged.run, line 121: query 'q99'"),
    ],
)
def test_an_example_has_its_line(case: str, example: str, found: dict[str, dict[str, Finding]]) -> None:
    examples = found[case][FAULTS[case][1]].examples
    assert examples[0].endswith(f"/{example}")
    assert len(examples) == min(found[case][FAULTS[case][1]].count, 5)


def dictionary(lines: Iterable[Row]) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for query, doc, _, score, _ in lines:
        found.setdefault(query, {})[doc] = float(score)
    return found


GRADES = {query: {doc: index % 3 for index, doc in enumerate(DOCS)} for query in QUERIES}


@pytest.mark.slow
def test_distances_without_ranks() -> None:
    best_last = {query: dict(reversed(documents.items())) for query, documents in dictionary(rows(1)).items()}
    found = ndcg_ab.compare(GRADES, {"new": best_last}, resamples=100, threads=1).findings
    assert [(finding.code, finding.count) for finding in found] == [("rising_score", 10)]
    for query in QUERIES[:2]:  # in 8 of 10 queries it is chance
        best_last[query] = dict(reversed(best_last[query].items()))
    assert not ndcg_ab.compare(GRADES, {"new": best_last}, resamples=100, threads=1).findings


@pytest.mark.slow
def test_grades_that_are_no_integers(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text(JUDGMENTS.replace("q2 0 doc11 1", "q2 0 doc11 1.5"))
    (tmp_path / "old.run").write_text(text(rows(0)))
    config = {"name": "t", "judgments": {"file": str(tmp_path / "qrels")}}
    config["systems"] = [{"name": "old", "file": str(tmp_path / "old.run")}]  # type: ignore[assignment]
    assert not ndcg_ab.evaluate(config).findings
    config["judgments"]["grades"] = "integer"  # type: ignore[index]
    with pytest.raises(InputError, match=r"'doc11' of query 'q2'\), and grades = integer \[fractional_grade\]"):
        ndcg_ab.evaluate(config)
    (finding,) = ndcg_ab.evaluate({**config, "findings": {"fractional_grade": "note"}}).findings
    assert finding.examples == (f"{tmp_path}/qrels, line 14: query 'q2', document 'doc11'",)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["a rank left out", "distances for scores", "few results", "one score for all"])
def test_rankings_are_checked_without_judgments(case: str, tmp_path: Path) -> None:
    ranking, code = FAULTS[case]
    (tmp_path / "old.run").write_text(text(rows(0)))
    (tmp_path / "new.run").write_text(ranking)
    found = invoke(["check", f"{tmp_path}/old.run", f"{tmp_path}/new.run"])
    assert found.exit_code == 0, found.output
    assert f"[{code}]" in found.stdout.replace("\n", "")
    assert "not checked, because there are no judgments" in found.stdout
    assert "nothing to report" not in found.stdout


def test_what_check_takes_a_file_for(tmp_path: Path) -> None:
    (tmp_path / "old.run").write_text(text(rows(0)))
    (tmp_path / "configuration").write_text("name: t\njudgments: qrels\nsystems: [{name: a, file: old.run}]\n")
    (tmp_path / "qrels").write_text(JUDGMENTS)
    assert "10 judged queries" in invoke(["check", f"{tmp_path}/configuration"]).stdout
    found = invoke(["check", "--system", f"a={tmp_path}/old.run", "--judgments", f"{tmp_path}/qrels"])
    assert "10 judged queries" in found.stdout
    assert "names nothing to check" in invoke(["check"]).stderr


def test_a_clean_ranking_without_judgments(tmp_path: Path) -> None:
    (tmp_path / "old.run").write_text(text(rows(0)))
    found = invoke(["check", f"{tmp_path}/old.run"])
    assert "data check: nothing to report" in found.stdout
    (tmp_path / "old.run").write_text(text([*rows(0), rows(0)[0]]))
    found = invoke(["check", f"{tmp_path}/old.run"])
    assert found.exit_code == 2
    assert "lines 1 and 121: document 'doc10' is 2 times" in found.stderr
